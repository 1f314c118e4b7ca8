"""Alert names: whose they are, what they rest on, and what none of them proves."""

import pytest

from crashlens.catalog.alerts import alerts, alerts_of_xid, parse_alerts
from crashlens.catalog.rows import RowFile
from crashlens.catalog.xids import xid
from crashlens.errors import DataFileError


def test_the_two_names_of_the_requirements_are_there_and_say_what_they_do_not_prove() -> None:
    named = {alert.name: alert for alert in alerts() if alert.origin == "S"}
    assert sorted(named) == ["DCGMThermalViolation", "GPUContainedECCError"]
    assert "that this run owned the pid" in named["GPUContainedECCError"].does_not_prove
    assert named["DCGMThermalViolation"].does_not_prove[0].startswith("any slowdown: ")
    assert "Azure NHC2017" in named["DCGMThermalViolation"].other_names


def test_every_alert_is_complete_and_named_once() -> None:
    assert len({alert.name for alert in alerts()}) == len(alerts()) == 66
    for alert in alerts():
        assert all((alert.signal, alert.meaning, alert.effect, alert.hint, alert.does_not_prove)), alert.name
        assert alert.name.isidentifier(), alert.name
    assert {alert.category for alert in alerts()} == {
        "gpu_memory",
        "gpu",
        "thermal_and_power",
        "links_and_fabric",
        "job_node_storage",
    }


def test_an_xid_finds_its_alert_and_an_unlisted_one_finds_none() -> None:
    assert [alert.name for alert in alerts_of_xid(94)] == ["GPUContainedECCError"]
    assert [alert.name for alert in alerts_of_xid(147)] == ["NVLinkError"]
    assert alerts_of_xid(999) == ()
    assert [number for alert in alerts() for number in alert.xids if xid(number) is None] == []


def test_an_alert_that_proves_everything_is_refused() -> None:
    row = (
        '[[alert]]\nname = "A"\norigin = "N"\ncategory = "gpu"\nother_names = []\nxids = []\nsignal = "s"\n'
        'meaning = "m"\neffect = "e"\nhint = "h"\ndoes_not_prove = []\n'
    )
    with pytest.raises(DataFileError, match="says nothing under does_not_prove") as caught:
        parse_alerts(RowFile("a.toml", row, "alert"))
    assert caught.value.faults == ("a.toml:1: A says nothing under does_not_prove",)
