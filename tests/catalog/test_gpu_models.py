import pytest

from crashlens.catalog.gpu_models import find_gpu_model, gpu_models


@pytest.mark.parametrize(
    ("device", "model"),
    [
        ("NVIDIA H100 80GB HBM3", "H100 SXM5"),
        ("NVIDIA H100 PCIe", "H100 PCIe"),
        ("NVIDIA H100 NVL", "H100 NVL"),
        ("NVIDIA GB200", "GB200"),
        ("NVIDIA B200", "B200"),
        ("NVIDIA H200", "H200 SXM"),
        ("NVIDIA A100-SXM4-80GB", "A100 SXM4"),
        ("NVIDIA A100-PCIE-40GB", "A100 40GB PCIe"),
        ("NVIDIA A100 80GB PCIe", "A100 80GB PCIe"),
        ("Tesla V100-SXM2-16GB", "V100 SXM2"),
        ("Tesla T4", "T4"),
        ("NVIDIA L4", "L4"),
        ("NVIDIA GeForce RTX 4090", "GeForce RTX 4090"),
    ],
)
def test_a_device_name_finds_its_model(device: str, model: str) -> None:
    found = find_gpu_model(device)
    assert found is not None
    assert found.name == model


@pytest.mark.parametrize(
    "device",
    [
        "NVIDIA A10G",
        "NVIDIA L40",
        "NVIDIA H200 NVL",
        "NVIDIA GeForce RTX 4090 Laptop GPU",
        "NVIDIA GeForce RTX 4090 D",
        "NVIDIA GB10",
        "",
    ],
)
def test_a_name_that_only_looks_alike_finds_nothing(device: str) -> None:
    assert find_gpu_model(device) is None


def test_no_fact_without_a_source_and_no_low_confidence() -> None:
    for model in gpu_models():
        assert model.source, model.name
        assert model.confidence in ("high", "medium"), model.name


def test_h100_sxm5_as_its_sources_give_it() -> None:
    found = find_gpu_model("NVIDIA H100 80GB HBM3")
    assert found is not None
    assert (found.board_power_w, found.memory_gb, found.bf16_dense_tflops, found.slowdown_margin_c) == (
        700.0,
        80.0,
        989.4,
        -2.0,
    )
