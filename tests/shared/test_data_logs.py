"""Real log files against records that were found in them by reading: every one named is there, and nothing is made up.

The expectations are written by hand from `../shared/data/logs/MANIFEST.tsv` and the files. A `[[file]]` says:

* `events`: records that must be there. `rule` is an id, a list of ids of which one will do, or `family.*`; `line` counts as
  `grep -n` does; with `span` a record that covers the line will do. `pci`, `no_gpu`, `utc` and `clock` look at the GPU and
  the time, the other keys at the column of that name, `fields` at the captured fields. A masked host (`<host>`) is no identity.
* `exact`: rules of which every record is named; `none_of`: rules without a record; `none_at`: lines without one of that rule.
* `counts`: how many records of a rule; `steps`: how many training steps, with the line of the first and the last.
* `negative`: no record is an error and no failure is claimed; `no_claim`: the second only; `no_claim_of`: of these causes.
"""

import tomllib
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import pytest

import crashlens as cl
from crashlens.rules.load import shipped_rules

HERE = Path(__file__).parent
NO_FAILURE = ("none.*", "clocks.idle", "telemetry.*", "unknown.*")
KEYS = {
    "path", "events", "exact", "none_of", "none_at", "counts", "steps", "negative", "no_claim", "no_claim_of",
}  # fmt: skip
LOOKED_AT_APART = {"rule", "line", "span", "pci", "utc", "clock", "no_gpu", "fields"}

pytestmark = pytest.mark.shared_data


def expectations() -> list[dict[str, Any]]:
    return [
        file for path in sorted(HERE.glob("logs_*.toml")) for file in tomllib.loads(path.read_text("utf-8"))["file"]
    ]


EXPECTED = expectations()
# Folders of the next issue and the family whose rules read them: until there is one, their files are expected to fail.
LATER = {"slurm": "slurm.", "k8s": "k8s.", "vllm": "vllm.", "ort_trt": "ort.", "container": "container."}
MISSING = {prefix for prefix in LATER.values() if not any(rule.id.startswith(prefix) for rule in shipped_rules().rules)}


def parameters() -> list[Any]:
    later = pytest.mark.xfail(strict=False, reason="the rules of this family are not there yet")
    return [
        pytest.param(
            file,
            id=file["path"].rsplit(".", 1)[0],
            marks=[later] if LATER.get(file["path"].split("/")[0]) in MISSING else [],
        )
        for file in EXPECTED
    ]


def ids(rule: str | list[str]) -> list[str]:
    return [rule] if isinstance(rule, str) else rule


def fits(rule_id: str, wanted: str | list[str]) -> bool:
    return any(fnmatchcase(rule_id, one) for one in ids(wanted))


def rows_of(case: cl.Case) -> list[dict[str, Any]]:
    """Events with their fields as a dict and the PCI address of their GPU."""
    address = dict(case.gpus.select("gpu_key", "pci_bus_id").iter_rows())
    return [
        row
        | {"fields": {item["key"]: item["value"] for item in row["fields"] or ()}, "pci": address.get(row["gpu_key"])}
        for row in case.events.to_dicts()
    ]


def differences(wanted: dict[str, Any], row: dict[str, Any]) -> list[str]:
    """What `row` says otherwise than `wanted`."""
    seen: dict[str, tuple[object, object]] = {
        key: (value, row[key]) for key, value in wanted.items() if key not in LOOKED_AT_APART
    }
    seen |= {key: (value, row["fields"].get(key)) for key, value in wanted.get("fields", {}).items()}
    if "pci" in wanted:
        seen["pci"] = (wanted["pci"], row["pci"])
    if "utc" in wanted:
        seen["utc"] = (wanted["utc"], row["time_utc"] and row["time_utc"].strftime("%Y-%m-%dT%H:%M:%S.%f"))
    if "clock" in wanted:
        seen["clock"] = (wanted["clock"], str(row["clock_id"]).rpartition(":")[2])
    if wanted.get("no_gpu"):
        seen["gpu_key"] = (None, row["gpu_key"])
    return [f"{key} {got!r}, not {want!r}" for key, (want, got) in seen.items() if got != want]


def covers(wanted: dict[str, Any], row: dict[str, Any]) -> bool:
    if not fits(row["rule_id"], wanted["rule"]):
        return False
    if wanted.get("span"):
        return row["line"] <= wanted["line"] <= row["line_end"] or row["fields"].get("record_start") == str(
            wanted["line"]
        )
    return bool(row["line"] == wanted["line"])


def missing(expected: dict[str, Any], rows: list[dict[str, Any]]) -> Iterator[str]:
    free = list(rows)
    for wanted in expected["events"]:
        pool = rows if wanted.get("span") else free
        there = [row for row in pool if covers(wanted, row)]
        if not there:
            near = sorted({row["rule_id"] for row in rows if row["line"] <= wanted["line"] <= row["line_end"]})
            yield f"line {wanted['line']}: no {wanted['rule']}" + (f", but {', '.join(near)}" if near else "")
            continue
        best = min(there, key=lambda row: len(differences(wanted, row)))
        if not wanted.get("span"):
            free.remove(best)
        if wrong := differences(wanted, best):
            yield f"line {wanted['line']}: {best['rule_id']} has {'; '.join(wrong)}"


def too_many(expected: dict[str, Any], rows: list[dict[str, Any]]) -> Iterator[str]:
    for row in rows:
        name = f"line {row['line']}: {row['rule_id']}"
        if fits(row["rule_id"], expected.get("none_of", [])):
            yield f"{name} must not be found"
        if row["line"] in expected.get("none_at", {}).get(row["rule_id"], ()):
            yield f"{name} must not be found there"
        if expected.get("negative") and row["severity"] in {"error", "fatal"}:
            yield f"{name} is called {row['severity']} in a file without a failure"
    for rule, count in expected.get("counts", {}).items():
        found = sum(row["rule_id"] == rule for row in rows)
        if found != count:
            yield f"{found} records of {rule}, not {count}"
    for rule in expected.get("exact", ()):
        if rule in expected.get("counts", {}):
            continue
        wanted = [one for one in expected["events"] if fits(rule, one["rule"])]
        found = [row for row in rows if row["rule_id"] == rule]
        extra = [str(row["line"]) for row in found if not any(covers(one, row) for one in wanted)]
        if extra:
            yield f"{rule} on line {', '.join(extra)} is not in the file"
        elif len(found) > len(wanted):
            yield f"{len(found)} records of {rule}, not {len(wanted)}"


def claims(expected: dict[str, Any], case: cl.Case) -> Iterator[str]:
    silent = expected.get("negative") or expected.get("no_claim")
    refused = expected.get("no_claim_of", [])
    for finding in case.findings() if silent or refused else ():
        if finding.verdict not in {"supported", "consistent"}:
            continue
        if fits(finding.cause, refused) or (silent and not fits(finding.cause, list(NO_FAILURE))):
            yield f"{finding.cause} is called {finding.verdict}"


def steps(expected: dict[str, Any], case: cl.Case) -> Iterator[str]:
    if "steps" in expected:
        lines = case.steps["line"].to_list()
        got = {"count": len(lines), "first": min(lines, default=None), "last": max(lines, default=None)}
        if got != expected["steps"]:
            yield f"steps {got}, not {expected['steps']}"


@pytest.mark.parametrize("expected", parameters())
def test_every_record_of_the_file_is_found_and_no_other(shared: Path, expected: dict[str, Any]) -> None:
    case = cl.read(shared / "data" / "logs" / expected["path"])
    rows = rows_of(case)
    faults = [*missing(expected, rows), *too_many(expected, rows), *steps(expected, case), *claims(expected, case)]
    if faults:
        pytest.fail(f"{expected['path']}:\n  " + "\n  ".join(faults), pytrace=False)


def test_every_file_of_the_manifest_has_an_expectation(shared: Path) -> None:
    rows = (shared / "data" / "logs" / "MANIFEST.tsv").read_text("utf-8").splitlines()[1:]
    assert sorted(row.split("\t")[0] for row in rows) == sorted(file["path"] for file in EXPECTED)
    assert [file["path"] for file in EXPECTED if not set(file) <= KEYS] == []


@pytest.mark.xfail(bool(MISSING), strict=False, reason="the rules of some families are not there yet")
def test_the_expectations_name_rules_that_exist() -> None:
    known = [rule.id for rule in shipped_rules().rules]
    named = {rule for file in EXPECTED for wanted in file["events"] for rule in ids(wanted["rule"])}
    named |= {
        rule for file in EXPECTED for key in ("exact", "none_of", "counts", "none_at") for rule in file.get(key, ())
    }
    if unknown := sorted(rule for rule in named if not any(fnmatchcase(one, rule) for one in known)):
        pytest.fail("no such rules: " + ", ".join(unknown), pytrace=False)
