import os
import pickle
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crashlens.sources import plain_pickle
from crashlens.sources.plain_pickle import RefusedPickleError, read_plain_pickle

OLD = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text()
NEW = OLD | st.binary(max_size=20)  # protocols before 4 write bytes and sets as calls of a class


def nested(scalars: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.recursive(
        scalars,
        lambda inner: st.lists(inner) | st.lists(inner).map(tuple) | st.dictionaries(scalars, inner),
        max_leaves=20,
    )


@pytest.mark.parametrize("protocol", range(6))
@given(value=nested(OLD))
def test_plain_data_comes_back_as_it_was(protocol: int, value: Any) -> None:
    assert read_plain_pickle(pickle.dumps(value, protocol)) == value


@pytest.mark.parametrize("protocol", [4, 5])
@given(value=nested(NEW) | st.sets(NEW) | st.frozensets(NEW))
def test_bytes_and_sets_come_back_as_they_were(protocol: int, value: Any) -> None:
    assert read_plain_pickle(pickle.dumps(value, protocol)) == value


class Hostile:
    def __init__(self, target: Path) -> None:
        self.target = target

    def __reduce__(self) -> tuple[Any, tuple[str]]:
        return os.system, (f"touch {self.target}",)


@pytest.mark.parametrize("protocol", range(6))
def test_nothing_is_run(tmp_path: Path, protocol: int) -> None:
    target = tmp_path / "ran"
    data = pickle.dumps({"version": "2.10", "entries": [Hostile(target)]}, protocol)
    with pytest.raises(RefusedPickleError, match="no plain data"):
        read_plain_pickle(data)
    assert not target.exists()


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"cos\nsystem\n(S'true'\ntR.", "it asks for GLOBAL"),
        (b"\x80\x04\x8c\x02os\x8c\x06system\x93.", "it asks for STACK_GLOBAL"),
        (b"(S'true'\nios\nsystem\n.", "it asks for INST"),
        (b"\x80\x02\x82\x01.", "it asks for EXT1"),
        (b"Pid\n.", "it asks for PERSID"),
        (b"\x80\x02K\x01Q.", "it asks for BINPERSID"),
        (b"\x80\x02}}b.", "it asks for BUILD"),
        (b"\x80\x02)\x81.", "it asks for NEWOBJ"),
        (b"\x80\x05\x97.", "it asks for NEXT_BUFFER"),
        (b"\x80\x02]2.", "it asks for DUP"),
        (b"\x80\x02}(]K\x01u.", "a key in it is no scalar"),
        (b"\x80\x04\x8f(]\x90.", "a key in it is no scalar"),
        (b"\x80\x02", "it does not end|it is damaged"),
        (b"", "it does not end|it is damaged"),
        (b"\x80\x02.", "it is damaged"),
        (b"\x80\x02h\x05.", "it is damaged"),
        (b"\x80\x02u.", "it is damaged"),
        (b"\x80\x04\x8d\xff\xff\xff\xff\xff\xff\xff\x7fx.", "it is damaged"),
        (b"\x80\x02X\xff\xff\xff\x7fx.", "it is damaged"),
        (b"\x80\x02\x8b\xff\xff\xff\x7fx.", "it is damaged"),
        (b"I" + b"9" * 5000 + b"\n.", "it is damaged"),
        (b"\x80\x02K\x01K\x02a.", "it is damaged"),
    ],
)
def test_what_is_hostile_or_damaged_is_refused(data: bytes, why: str) -> None:
    with pytest.raises(RefusedPickleError, match=why):
        read_plain_pickle(data)


def test_a_high_memo_number_takes_no_memory() -> None:
    assert read_plain_pickle(b"\x80\x02]r\xff\xff\xff\x7f.") == []


def test_steps_and_memo_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plain_pickle, "MOST_OPCODES", 1000)
    with pytest.raises(RefusedPickleError, match="not end within 1,000 steps"):
        read_plain_pickle(b"\x80\x02(" + b"]" * 2000 + b"l.")
    monkeypatch.setattr(plain_pickle, "MOST_MEMO", 10)
    with pytest.raises(RefusedPickleError, match="memo holds more than 10"):
        read_plain_pickle(b"\x80\x04]" + b"\x94" * 20 + b".")


def test_deep_nesting_and_data_that_holds_itself_are_built_and_dropped() -> None:
    deep = read_plain_pickle(b"\x80\x02" + b"]" * 200_000 + b"a" * 199_999 + b".")
    assert isinstance(deep, list)
    ring = read_plain_pickle(b"\x80\x02]q\x00h\x00a.")
    assert isinstance(ring, list)
    assert ring[0] is ring


@given(st.binary(max_size=200))
def test_no_bytes_do_more_than_be_refused(data: bytes) -> None:
    for start in (b"", b"\x80\x02", b"\x80\x04"):
        try:
            read_plain_pickle(start + data)
        except RefusedPickleError:
            continue


def test_a_full_ring_is_read_in_seconds() -> None:
    frame = {"name": "forward", "filename": "/app/model.py", "line": 12}
    dump = {
        "version": "2.10",
        "entries": [{"record_id": n, "frames": [dict(frame) for _ in range(20)]} for n in range(2000)],
    }
    started = time.perf_counter()
    assert read_plain_pickle(pickle.dumps(dump, 2)) == dump
    assert time.perf_counter() - started < 15
