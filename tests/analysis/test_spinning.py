import polars as pl
import pytest

from crashlens.analysis.spinning import Spinning, find_spinning
from crashlens.errors import MissingColumnError

LIMITS = {"busy_ratio": 0.95, "idle_ratio": 0.05, "most_power_ratio": 1.5, "least_memory_ratio": 0.5}


def samples(**gpus: tuple[float, float, float]) -> pl.DataFrame:
    """Three samples per GPU of the same utilization, power and memory."""
    rows = [
        {"gpu_key": key, "gpu_utilization_ratio": usage, "power_draw_w": power, "memory_used_mib": memory}
        for key, (usage, power, memory) in gpus.items()
        for _ in range(3)
    ]
    return pl.DataFrame(rows)


def test_busy_gpus_at_the_power_of_an_idle_one_with_their_memory_are_waiting() -> None:
    found = find_spinning(
        samples(a=(1.0, 95.0, 6e4), b=(1.0, 99.0, 6e4), c=(0.99, 97.0, 6e4), d=(0.0, 90.0, 6e4)), **LIMITS
    )
    assert found == Spinning(("a", "b", "c"), ("d",), 97.0, 90.0, 3)


@pytest.mark.parametrize(
    ("fourth", "others"),
    [
        ((0.0, 90.0, 6e4), (1.0, 400.0, 6e4)),  # computing
        ((0.0, 90.0, 500.0), (1.0, 95.0, 6e4)),  # a free GPU
        ((0.5, 90.0, 6e4), (1.0, 95.0, 6e4)),  # neither busy nor idle
        ((1.0, 90.0, 6e4), (1.0, 95.0, 6e4)),  # nobody is idle
        ((0.0, 90.0, 6e4), (0.0, 95.0, 6e4)),  # nobody is busy
    ],
)
def test_what_looks_like_it_and_is_not(fourth: tuple[float, float, float], others: tuple[float, float, float]) -> None:
    assert find_spinning(samples(a=others, b=others, c=others, d=fourth), **LIMITS) is None


def test_two_busy_gpus_or_two_samples_show_no_pattern() -> None:
    two = samples(a=(1.0, 95.0, 6e4), b=(1.0, 95.0, 6e4), d=(0.0, 90.0, 6e4))
    assert find_spinning(two, **LIMITS) is None
    four = samples(a=(1.0, 95.0, 6e4), b=(1.0, 95.0, 6e4), c=(1.0, 95.0, 6e4), d=(0.0, 90.0, 6e4))
    assert find_spinning(four.group_by("gpu_key", maintain_order=True).head(2), **LIMITS) is None


def test_a_signal_without_values_decides_nothing_and_a_missing_one_is_an_error() -> None:
    four = samples(a=(1.0, 95.0, 6e4), b=(1.0, 95.0, 6e4), c=(1.0, 95.0, 6e4), d=(0.0, 90.0, 6e4))
    assert find_spinning(four.with_columns(memory_used_mib=pl.lit(None, pl.Float64)), **LIMITS) is None
    with pytest.raises(MissingColumnError):
        find_spinning(four.drop("power_draw_w"), **LIMITS)
