"""The language rule: which small change of a log takes the causal sentence away, and which changes nothing.

The base is one complete story: four ranks named by NCCL, an Xid 94 of rank 2, and two and a half seconds later the
beginning of the waits of ranks 0, 1 and 3.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import crashlens as cl
from crashlens.findings import Finding

XID_AT = datetime(2026, 10, 1, 9, 0, 0, 250_000, tzinfo=UTC)
WAIT_BEGAN = XID_AT + timedelta(seconds=2.5)
RAN_MS = 600_041
BUSES = ("0000:19:00", "0000:3b:00", "0000:4c:00", "0000:5d:00")
ECC = "gpu_hardware.uncorrectable_ecc"
HANG = "communication.collective_hang"


@dataclass(frozen=True)
class Story:
    """What the two logs say; each test changes one thing."""

    xid_at: datetime = XID_AT
    xid_pid: int | None = 48210
    xid_bus: str = BUSES[2]
    xid_host: str = "gpu-node-07"
    named_ranks: tuple[int, ...] = (0, 1, 2, 3)
    step_after_s: float | None = None

    def kernel(self) -> list[str]:
        who = "" if self.xid_pid is None else f", pid={self.xid_pid}, name=python3"
        return [
            f"{stamp(self.xid_at - timedelta(hours=1))} {self.xid_host} kernel: docker0: port 1 entered forwarding state",
            f"{stamp(self.xid_at)} {self.xid_host} kernel: NVRM: Xid (PCI:{self.xid_bus}): 94{who}, Contained: CE User Channel (0x9). RST: No",
        ]

    def job(self) -> list[str]:
        start = XID_AT - timedelta(hours=1)
        lines = [
            f"{stamp(start)} gpu-node-07:{48208 + rank}:{48300 + rank} [{rank}] NCCL INFO comm 0x974dbc80841{rank} rank {rank} "
            f"nranks 4 cudaDev {rank} nvmlDev {rank} busId {BUSES[rank][5:7]}000 commId 0x8f7199d6f6e5148b - Init COMPLETE"
            for rank in self.named_ranks
        ]
        lines += [f"{stamp(XID_AT - timedelta(seconds=s))} step {900 - s} loss 2.1 tokens/s 84000" for s in (9, 6, 3)]
        if self.step_after_s is not None:
            lines.append(
                f"{stamp(self.xid_at + timedelta(seconds=self.step_after_s))} step 901 loss 2.1 tokens/s 84000"
            )
        return [*lines, *(wait(rank) for rank in (0, 1, 3))]


def stamp(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%S.%f") + "+00:00"


def wait(rank: int) -> str:
    written = WAIT_BEGAN + timedelta(milliseconds=RAN_MS + 7 * rank)
    return (
        f"{stamp(written)} [rank{rank}]: [Rank {rank}] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=4211, "
        f"OpType=ALLREDUCE, NumelIn=1, NumelOut=1, Timeout(ms)=600000) ran for {RAN_MS} milliseconds before timing out."
    )


def read(folder: Path, kernel: Iterable[str], job: Iterable[str], **options: Any) -> list[Finding]:
    (folder / "kern.log").write_text("\n".join(kernel) + "\n", encoding="utf-8")
    (folder / "train.log").write_text("\n".join(job) + "\n", encoding="utf-8")
    return list(cl.read(folder, **options).findings())


def told(folder: Path, story: Story) -> list[Finding]:
    return read(folder, story.kernel(), story.job())


def without_lines(findings: list[Finding], kernel: list[str], job: list[str]) -> list[Any]:
    """Findings as JSON, each `file:line` replaced by the text of that line."""
    texts = {"kern.log": kernel, "train.log": job}

    def plain(value: Any) -> Any:
        if isinstance(value, dict):
            made = {key: plain(item) for key, item in value.items() if key not in {"line", "fingerprint"}}
            return made | ({"line": texts[Path(value["source"]).name][value["line"] - 1]} if "line" in value else {})
        if isinstance(value, list):
            return [plain(item) for item in value]
        return re.sub(r"\S*(?:kern|train)\.log:\d+", "<place>", value) if isinstance(value, str) else value

    return [plain(finding.to_json()) for finding in findings]


def causal(findings: list[Finding]) -> list[str]:
    return [finding.causal for finding in findings if finding.causal]


def counter_notes(findings: list[Finding]) -> str:
    return " ".join(item.note for finding in findings for item in finding.evidence if item.role == "counter")


def test_order_identity_and_mechanism_make_one_causal_sentence(tmp_path: Path) -> None:
    findings = told(tmp_path, Story())
    assert [finding.cause for finding in findings] == [ECC]
    (sentence,) = causal(findings)
    for part in (
        "rank(s) 0, 1, 3 were caused by Xid 94",
        "process 48210 (python3)",
        "by 2.5 s",
        "process 48210 is rank 2 of that run",
        "cannot join the collective",
    ):
        assert part in sentence
    assert [(item.role, Path(item.place.source).name) for item in findings[0].evidence] == [
        ("first", "kern.log"),
        *[("downstream", "train.log")] * 2,
    ]
    assert findings[0].evidence[-1].note.startswith("1 more records")
    assert findings[0].ranks == (0, 1, 2, 3)


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.randoms(use_true_random=False), st.sampled_from([Story(), Story(xid_at=WAIT_BEGAN + timedelta(minutes=40))]))
def test_the_order_of_dated_lines_changes_nothing(tmp_path: Path, random: Any, story: Story) -> None:
    kernel, job = story.kernel(), story.job()
    expected = without_lines(read(tmp_path, kernel, job), kernel, job)
    random.shuffle(kernel)
    random.shuffle(job)
    assert without_lines(read(tmp_path, kernel, job), kernel, job) == expected


def test_one_merged_file_in_any_order_says_the_same(tmp_path: Path) -> None:
    lines = [*Story().kernel(), *Story().job()]
    made = []
    for number, text in enumerate((lines, lines[::-1])):
        file = tmp_path / f"{number}" / "merged.log"
        file.parent.mkdir()
        file.write_text("\n".join(text) + "\n", encoding="utf-8")
        made.append([(f.cause, f.verdict, f.summary, bool(f.causal)) for f in cl.read(file).findings()])
    assert made[0] == made[1]
    assert made[0][0][3]


@pytest.mark.parametrize("later_s", [0.001, 1.0, 300.0])
def test_an_xid_after_the_beginning_of_the_wait_is_no_reason(tmp_path: Path, later_s: float) -> None:
    findings = told(tmp_path, Story(xid_at=WAIT_BEGAN + timedelta(seconds=later_s)))
    assert causal(findings) == []
    assert findings[0].cause == HANG
    assert "precedes" not in counter_notes(findings)
    assert ("wait had begun" in counter_notes(findings) or "wait began" in counter_notes(findings)) == (later_s > 1)


def test_a_foreign_xid_during_the_wait_is_not_said_to_come_after_it(tmp_path: Path) -> None:
    story = Story(xid_at=WAIT_BEGAN + timedelta(minutes=5), xid_pid=61220, xid_bus="0000:0f:00")
    notes = counter_notes(told(tmp_path, story))
    assert "none of the 4 processes" in notes
    assert "after the timeouts" not in notes


def test_the_swap_of_two_times_changes_the_sentence(tmp_path: Path) -> None:
    swapped = Story(xid_at=WAIT_BEGAN + timedelta(milliseconds=RAN_MS))
    assert causal(told(tmp_path, Story())) != []
    assert causal(told(tmp_path, swapped)) == []


def test_the_same_time_claims_no_order(tmp_path: Path) -> None:
    findings = told(tmp_path, Story(xid_at=WAIT_BEGAN))
    assert causal(findings) == []
    assert "cannot be ordered" in counter_notes(findings)
    assert not re.search("after the earliest|precedes|before the earliest", counter_notes(findings))


def test_closer_than_the_clocks_of_two_machines_claims_no_order(tmp_path: Path) -> None:
    # The job log names no host of its own lines, so its clock may be another machine's: 1 s of skew is assumed.
    findings = told(tmp_path, Story(xid_at=WAIT_BEGAN - timedelta(seconds=0.9)))
    assert causal(findings) == []
    assert "cannot be ordered" in counter_notes(findings)


def test_without_stamps_no_order_is_claimed(tmp_path: Path) -> None:
    def bare(lines: list[str]) -> list[str]:
        return [line.split(" ", 1)[1].removeprefix("gpu-node-07 kernel: ") for line in lines]

    findings = read(tmp_path, bare(Story().kernel()), bare(Story().job()))
    assert causal(findings) == []
    assert HANG in {finding.cause for finding in findings}
    said = counter_notes(findings) + " ".join(finding.summary for finding in findings)
    assert not re.search("after the earliest|precedes|before the earliest|UTC", said)


def test_another_process_of_a_complete_run_is_ruled_out_and_said(tmp_path: Path) -> None:
    findings = told(tmp_path, Story(xid_pid=61220, xid_bus="0000:0f:00"))
    assert causal(findings) == []
    assert findings[0].cause == HANG
    assert "names process 61220 (python3), which is none of the 4 processes of this run" in counter_notes(findings)


def test_a_process_of_a_run_that_is_not_fully_named_stays_open(tmp_path: Path) -> None:
    findings = told(tmp_path, Story(xid_pid=61220, xid_bus="0000:0f:00", named_ranks=(0, 1)))
    assert causal(findings) == []
    assert "none of the" not in counter_notes(findings)
    assert "nothing shows that it concerns this run" in counter_notes(findings)


def test_another_number_on_a_gpu_of_the_run_is_not_ruled_out(tmp_path: Path) -> None:
    findings = told(tmp_path, Story(xid_pid=3911022))
    assert causal(findings) == []
    assert "a container that numbers its processes anew" in counter_notes(findings)


@pytest.mark.parametrize("pid", [48210, 61220])
def test_a_host_outside_the_run_makes_no_causal_sentence(tmp_path: Path, pid: int) -> None:
    findings = told(tmp_path, Story(xid_host="gpu-node-31", xid_pid=pid))
    assert causal(findings) == []
    assert "gpu-node-31, and nothing shows that this host belongs to the run" in counter_notes(findings)


def test_a_training_step_well_after_the_xid_speaks_against_it(tmp_path: Path) -> None:
    long_before = Story(xid_at=XID_AT - timedelta(minutes=5))
    assert causal(told(tmp_path, long_before)) == []  # the steps of the base are minutes after this Xid
    assert "made a training step after it" in counter_notes(told(tmp_path, long_before))


def test_a_step_printed_late_does_not_speak_against_it(tmp_path: Path) -> None:
    assert len(causal(told(tmp_path, Story(step_after_s=1.5)))) == 1
    assert causal(told(tmp_path, Story(step_after_s=61.5))) == []


def test_an_unknown_identity_only_co_occurs(tmp_path: Path) -> None:
    findings = told(tmp_path, Story(xid_pid=None, xid_bus="0000:0f:00", named_ranks=()))
    assert causal(findings) == []
    assert {finding.cause for finding in findings} == {HANG, ECC}
    assert "nothing shows that it concerns this run" in counter_notes(findings)


def test_a_gpu_of_the_run_is_identity_enough(tmp_path: Path) -> None:
    (sentence,) = causal(told(tmp_path, Story(xid_pid=None)))
    assert "that GPU belongs to rank 2 of that run" in sentence
    assert "which hit" not in sentence


def test_too_long_before_the_wait_is_no_reason(tmp_path: Path) -> None:
    steps_gone = [line for line in Story().job() if " step " not in line]
    early = replace(Story(), xid_at=WAIT_BEGAN - timedelta(seconds=1801))
    findings = read(tmp_path, early.kernel(), steps_gone)
    assert causal(findings) == []
    assert "too long for the known mechanism" in counter_notes(findings)


def test_a_local_kernel_time_is_not_ordered_against_utc_until_its_zone_is_given(tmp_path: Path) -> None:
    local = XID_AT + timedelta(hours=2)  # Berlin in October: summer time
    kernel = [
        f"[{local:%a %b} {local.day:2} {local:%H:%M:%S} 2026] NVRM: Xid (PCI:0000:4c:00): 94, pid=48210, name=python3, Ch 00000008"
    ]
    open_zone = read(tmp_path, kernel, Story().job())
    assert causal(open_zone) == []
    assert "cannot be ordered" in counter_notes(open_zone)
    assert "nothing shows" not in counter_notes(open_zone)  # the process is known: only the order is open
    (sentence,) = causal(read(tmp_path, kernel, Story().job(), tz={"kern.log": "Europe/Berlin"}))
    assert "process 48210 is rank 2" in sentence
    assert causal(read(tmp_path, kernel, Story().job(), tz={"kern.log": "America/New_York"})) == []


def test_exactly_one_finding_carries_the_sentence_when_two_xids_fit(tmp_path: Path) -> None:
    kernel = [*Story().kernel(), *Story(xid_at=XID_AT + timedelta(seconds=0.5)).kernel()[1:]]
    assert len(causal(read(tmp_path, kernel, Story().job()))) == 1
