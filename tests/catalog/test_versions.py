"""The appendix can name every catalog file by its digest."""

import hashlib
from importlib.resources import files

from crashlens.catalog.alerts import alerts
from crashlens.catalog.causes import causes
from crashlens.catalog.thresholds import thresholds
from crashlens.catalog.versions import catalog_versions
from crashlens.catalog.xids import xids


def test_every_toml_file_of_the_catalog_is_listed_once_with_its_digest() -> None:
    catalog = files("crashlens.catalog")
    expected = sorted(entry.name for entry in catalog.iterdir() if entry.name.endswith(".toml"))
    assert [one.name for one in catalog_versions()] == expected
    for one in catalog_versions():
        assert one.sha256 == hashlib.sha256(catalog.joinpath(one.name).read_bytes()).hexdigest()


def test_the_rows_are_the_facts_that_the_loaders_give() -> None:
    rows = {one.name: one.rows for one in catalog_versions()}
    assert rows["xids.toml"] == len(xids())
    assert rows["causes.toml"] == len(causes())
    assert rows["thresholds.toml"] == len(thresholds())
    assert rows["alerts.toml"] == len(alerts())
