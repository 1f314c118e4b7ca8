import pytest

from crashlens.sources.path_ranks import ranks_of_path


@pytest.mark.parametrize(
    ("path", "rank", "local_rank"),
    [
        ("rank_3.log", 3, None),
        ("logs/train-rank3.err", 3, None),
        ("nccl_trace_rank_12", 12, None),
        ("global_rank7.out.gz", 7, None),
        ("rank_2/train.log", 2, None),
        ("local_rank_2.log", None, 2),
        ("logs/none_x1/attempt_0/3/stderr.log", None, 3),
        ("rank_1/rank_2.log", 2, None),  # the file name goes before its folder
        ("node_rank_1.log", None, None),
        ("tp_rank_1.log", None, None),
        ("rank_0_rank_1.log", None, None),
        ("franks_3.log", None, None),
        ("ranking_3.log", None, None),
        ("job-8811203.out", None, None),
    ],
)
def test_a_path_tells_a_rank_only_where_it_names_one(path: str, rank: int | None, local_rank: int | None) -> None:
    assert ranks_of_path(path) == (rank, local_rank)
