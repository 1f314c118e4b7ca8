"""The sub-decode of Xid 144 to 150: registers against masks, by hand from NVIDIA's table."""

import csv
import re
from pathlib import Path

import pytest

from crashlens.catalog.nvlink5 import BITS, Nvlink5Row, decode_nvlink5, fits, nvlink5_rows, parse_nvlink5, reason_of
from crashlens.catalog.rows import RowFile
from crashlens.errors import DataFileError


@pytest.mark.parametrize(
    ("line", "branch", "told"),
    [
        # 0x004505c6: bits 25 to 20 are 000100, the ten lowest 0111000110
        ((149, "NETIR_LINK_EVT", 0x004505C6, 0), 570, (4, "Link Fatal", "RESET_GPU", "INVESTIGATE_LINK_SI")),
        # 0x021445c6: reason 100001 = 33, the peer is the source
        ((149, "NETIR_LINK_EVT", 0x021445C6, 0), None, (33, "Link Fatal", "RESET_GPU", "INVESTIGATE_PEER_DEVICE")),
        ((145, "RLW_SRC_TRACK", 0x040988E2, 8), None, (0, "Non-fatal", "XID_154_EVAL", "IGNORE")),
        ((144, "SAW_MVB", 0x21, 4), None, (0, "Non-fatal", "IGNORE", "IGNORE")),
        ((144, "SAW_MVB", 0x21, 2), None, (0, "Fatal", "RESET_GPU", "CONTACT_SUPPORT")),
        # R575 and newer: the unit is in the seven lowest bits
        ((144, "SAW_MVB", 0x01, 2), 580, (0, "Fatal", "RESET_GPU", "CONTACT_SUPPORT")),
        # RLW_RXPIPE with the promotion bit (tenth bit before R575)
        ((145, "RLW_RXPIPE", 0xC2, 1), 570, (0, "Non-fatal", "IGNORE", "CONTACT_SUPPORT")),
        ((150, "MSE_WATCHDOG", 0, 0), None, (0, "Fatal", "RESET_GPU", "CONTACT_SUPPORT")),
    ],
)
def test_a_record_is_decoded_by_its_registers(
    line: tuple[int, str, int, int], branch: int | None, told: tuple[int, str, str, str]
) -> None:
    found = decode_nvlink5(*line, driver_branch=branch)
    assert found is not None
    assert (found.reason, found.severity, found.immediate_action, found.investigatory_action) == told


@pytest.mark.parametrize(
    "line",
    [
        (145, "RLW_REMAP", 0x00002B02, 0),  # the unit bits are of no row
        (144, "SAW_MVB", 0x21, 0x40),  # a status of no row
        (144, "SAW_EGR", 0x04, 1),  # a unit of no row
        (143, "SAW_MVB", 0x21, 4),  # a number of no row
        (144, "SAW_MVB", 0x21, None),  # the line is cut before the status
    ],
)
def test_what_fits_no_row_is_not_decoded(line: tuple[int, str, int, int | None]) -> None:
    assert decode_nvlink5(*line, driver_branch=None) is None


def test_a_mask_is_compared_from_the_most_significant_bit() -> None:
    assert fits("1" + "-" * 31, 0x80000000)
    assert not fits("1" + "-" * 31, 0x40000000)
    assert fits("-" * 31 + "0", 2)
    assert reason_of(0x03F00000) == 0x3F
    assert reason_of(0xFC0FFFFF) == 0


def lowest(mask: str) -> int:
    """The smallest register value with the bits of `mask`."""
    return int(mask.replace("-", "0"), 2)


@pytest.mark.parametrize("row", nvlink5_rows(), ids=lambda row: f"{row.xid}-{row.units[0]}-{row.error_statuses}")
@pytest.mark.parametrize("layout", [0, 1], ids=["before_r575", "from_r575"])
def test_no_row_is_dead(row: Nvlink5Row, layout: int) -> None:
    status = row.error_statuses[-1] if row.error_statuses else 0
    value = lowest(row.masks[layout])
    found = decode_nvlink5(row.xid, row.units[0], value, status, driver_branch=(570, 580)[layout])
    assert found is not None
    assert (found.severity, found.immediate_action) == (row.severity, row.immediate_action)
    for promoted in row.promoted_masks[layout : layout + 1]:
        raised = decode_nvlink5(row.xid, row.units[0], lowest(promoted), status, driver_branch=(570, 580)[layout])
        assert raised is not None
        assert raised.immediate_action == row.promoted


def test_a_wrong_mask_is_refused() -> None:
    row = """[[nvlink5]]
xid = 144
units = ["A"]
before_r575 = "01"
from_r575 = "--------------------------------"
error_statuses = [1]
severity = "Fatal"
immediate_action = "X"
investigatory_action = "Y"
by = "HW"
effect = "e"
"""
    with pytest.raises(DataFileError, match=f"a mask has other than {BITS} characters"):
        parse_nvlink5(RowFile("x.toml", row, "nvlink5"))


@pytest.mark.shared_data
def test_the_rows_are_those_of_the_reviewed_table(shared: Path) -> None:
    with (shared / "knowledge" / "xid_nvlink5.tsv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    assert [
        (str(row.xid), "/".join(row.units), row.masks, row.immediate_action, row.investigatory_action, row.promoted)
        for row in nvlink5_rows()
    ] == [
        (
            row["xid"],
            row["unit"],
            (row["intrinfo_mask_v1_lt_R575"], row["intrinfo_mask_v2_ge_R575"]),
            row["immediate_action"],
            row["investigatory_action"],
            row["action2"],
        )
        for row in rows
    ]
    stated = [re.findall(r"0x[0-9A-Fa-f]+", row["error_status"]) for row in rows]
    assert [[int(text, 16) for text in texts] for texts in stated] == [list(r.error_statuses) for r in nvlink5_rows()]
