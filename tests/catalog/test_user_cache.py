import os
import tomllib
from datetime import date
from pathlib import Path

import pytest

from crashlens.catalog import toml_text
from crashlens.catalog.toml_text import toml_document
from crashlens.catalog.user_cache import CACHE, MOST_FILES, cached_bytes, keep_bytes

pytestmark = pytest.mark.skipif(not hasattr(os, "geteuid"), reason="nothing is kept where files have no owner")
TEXT = 'day = 2026-12-01\nwhen = 2026-12-01T10:00:00Z\nrows = [{a = 1.5, b = "한"}]\n' + "# filler\n" * 200


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv(CACHE, raising=False)
    return tmp_path / "cache" / "crashlens"


def test_what_is_kept_is_private_and_comes_back(folder: Path) -> None:
    assert cached_bytes("a") is None
    keep_bytes("a", b"body")
    assert cached_bytes("a") == b"body"
    assert [entry.name for entry in folder.iterdir()] == ["a"]
    assert (folder.stat().st_mode & 0o777, (folder / "a").stat().st_mode & 0o777) == (0o700, 0o600)


def test_a_damaged_or_shared_file_is_not_there(folder: Path) -> None:
    keep_bytes("a", b"body")
    kept = (folder / "a").read_bytes()
    (folder / "a").write_bytes(kept[:-1])
    assert cached_bytes("a") is None
    (folder / "a").write_bytes(kept)
    (folder / "a").chmod(0o660)
    assert cached_bytes("a") is None


def test_a_folder_that_others_may_enter_is_not_used(folder: Path) -> None:
    folder.mkdir(parents=True)
    folder.chmod(0o755)
    keep_bytes("a", b"body")
    assert list(folder.iterdir()) == []


def test_a_link_is_not_followed(folder: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir(mode=0o700)
    folder.parent.mkdir(parents=True)
    folder.symlink_to(elsewhere)
    keep_bytes("a", b"body")
    assert (list(elsewhere.iterdir()), cached_bytes("a")) == ([], None)


@pytest.mark.parametrize("where", ["off", "relative", "a file"])
def test_everything_works_without_a_cache(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    if where == "off":
        monkeypatch.setenv(CACHE, "off")
    elif where == "relative":
        monkeypatch.setenv("XDG_CACHE_HOME", "cache")
    else:
        (tmp_path / "cache").write_text("in the way")
    assert toml_document(TEXT) == tomllib.loads(TEXT)
    assert not folder.exists()


def test_the_oldest_files_go_first(folder: Path) -> None:
    for number in range(MOST_FILES + 3):
        keep_bytes(f"{number:04}", b"")
        os.utime(folder / f"{number:04}", (number, number))
    keep_bytes("last", b"")
    assert len(list(folder.iterdir())) == MOST_FILES
    assert (cached_bytes("0000"), cached_bytes("last")) == (None, b"")


def test_a_document_from_the_cache_is_the_one_that_was_read(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = toml_document(TEXT)
    assert len(list(folder.iterdir())) == 1
    loads = tomllib.loads
    monkeypatch.setattr(
        toml_text.tomllib, "loads", lambda text: pytest.fail("it was read again") if "filler" in text else loads(text)
    )
    assert toml_document(TEXT) == first
    assert first["day"] == date(2026, 12, 1)
