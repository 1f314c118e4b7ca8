import pytest

from crashlens import schemas
from crashlens.views import devices
from crashlens.views.devices import natural


def gpus(*rows):
    return schemas.GPUS.frame([{"source_id": 0, **row} for row in rows])


def gpu_lines(table, findings):
    """With samples of every GPU in the table."""
    return devices.gpu_lines(table, findings, polled=set(table["gpu_key"]))


EIGHT = gpus(
    *(
        {
            "gpu_key": f"s0:{i}",
            "device_id": f"GPU-{i}",
            "gpu_uuid": f"GPU-{i}",
            "pci_bus_id": f"0000:{i}b:00",
            "nvml_index": i,
        }
        for i in range(8)
    )
)


def named(frame):
    return {row["label"]: row["named"] for row in frame.to_dicts() if row["named"] is not None}


@pytest.mark.parametrize("name", ["GPU-5", "gpu-5", "0000:5b:00", "s0:5", "GPU 5"])
def test_a_finding_may_name_a_gpu_in_any_way(made, name: str) -> None:
    assert named(gpu_lines(EIGHT, [made.finding(devices=(name,))])) == {"GPU 5": 0}


def test_the_first_finding_comes_first(made) -> None:
    found = [made.finding(devices=("GPU-5",)), made.finding(devices=("GPU-2", "GPU-5"))]
    assert named(gpu_lines(EIGHT, found)) == {"GPU 5": 0, "GPU 2": 1}


def test_a_finding_that_names_every_gpu_singles_out_none(made) -> None:
    everyone = made.finding(devices=tuple(f"GPU-{i}" for i in range(8)))
    assert named(gpu_lines(EIGHT, [everyone])) == {}
    assert named(gpu_lines(EIGHT, [made.finding(devices=("GPU-5",)), everyone])) == {"GPU 5": 0}


def test_a_benign_finding_singles_out_none(made) -> None:
    assert named(gpu_lines(EIGHT, [made.finding(devices=("GPU-5",), verdict="benign")])) == {}


def test_one_gpu_in_two_sources_is_named_in_both(made) -> None:
    twice = gpus(
        {"gpu_key": "s0:5", "device_id": "GPU-5", "gpu_uuid": "GPU-5", "nvml_index": 5},
        {"gpu_key": "s1:9b", "device_id": "GPU-5", "pci_bus_id": "0000:9b:00", "source_id": 1},
        {"gpu_key": "s0:6", "device_id": "GPU-6", "gpu_uuid": "GPU-6", "nvml_index": 6},
    )
    got = gpu_lines(twice, [made.finding(devices=("0000:9b:00",))])
    assert dict(got.select("gpu_key", "named").iter_rows()) == {"s0:5": 0, "s1:9b": 0, "s0:6": None}


def test_labels_say_the_host_where_there_are_several() -> None:
    got = gpu_lines(
        gpus(
            {"gpu_key": "a", "host": "n1", "nvml_index": 0},
            {"gpu_key": "b", "host": "n2", "gpu_uuid": "GPU-12345678-9"},
        ),
        [],
    )
    assert got["label"].to_list() == ["n1 GPU 0", "n2 GPU 12345678"]


def test_ten_comes_after_nine() -> None:
    assert sorted(["GPU 10", "GPU 9", "n2 GPU 1", "n1 GPU 2"], key=natural) == [
        "GPU 9",
        "GPU 10",
        "n1 GPU 2",
        "n2 GPU 1",
    ]


def test_no_gpu_is_no_line() -> None:
    assert gpu_lines(gpus(), []).height == 0


def test_a_gpu_that_only_a_log_names_is_not_a_line(made) -> None:
    table = gpus(
        {"gpu_key": "s0:5", "gpu_uuid": "GPU-5", "nvml_index": 5}, {"gpu_key": "s1:9b", "pci_bus_id": "0000:9b:00"}
    )
    got = devices.gpu_lines(table, [made.finding(devices=("0000:9b:00",))], polled={"s0:5"})
    assert got.rows() == [("s0:5", "GPU 5", None)]
