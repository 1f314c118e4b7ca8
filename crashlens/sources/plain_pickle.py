"""Pickles of plain containers and scalars, read without ever running what is in them.

A pickle is a program for a small machine; the opcodes that name a class, call something or ask a registry are refused
by name, and so is any opcode not listed here. What is built is bounded: opcodes, memo, bytes. Keys and members of sets
are scalars, since hashing a deeply nested tuple has no bound. The result may nest deeply or hold itself: look into it
level by level, never by recursion.
"""

import io
import pickletools
from collections.abc import Callable
from itertools import islice
from typing import Any, cast

MOST_OPCODES = 3_000_000  # a dump of 2,000 collectives with 20 frames each has about one million
MOST_MEMO = 1_000_000
_SCALARS = (str, bytes, int, float, bool, type(None))
_PUSHED = {  # opcodes whose argument is the value
    "INT", "BININT", "BININT1", "BININT2", "LONG", "LONG1", "LONG4", "FLOAT", "BINFLOAT", "STRING", "BINSTRING",
    "SHORT_BINSTRING", "UNICODE", "BINUNICODE", "SHORT_BINUNICODE", "BINUNICODE8", "BINBYTES", "SHORT_BINBYTES",
    "BINBYTES8",
}  # fmt: skip
_CONSTANTS: dict[str, Callable[[], Any]] = {
    "NONE": lambda: None, "NEWTRUE": lambda: True, "NEWFALSE": lambda: False, "EMPTY_LIST": list, "EMPTY_DICT": dict,
    "EMPTY_SET": set, "EMPTY_TUPLE": tuple,
}  # fmt: skip
_TUPLES = {"TUPLE1": 1, "TUPLE2": 2, "TUPLE3": 3}


class RefusedPickleError(ValueError):
    """A pickle that is not read; the message says why, and that nothing of it was run."""


def read_plain_pickle(data: bytes) -> object:
    """The value of a pickle that holds only dict, list, tuple, set, str, bytes, int, float, bool and None.

    Args:
        data: The whole pickle; what follows its STOP is not looked at.

    Raises:
        RefusedPickleError: It names a class or a call, is damaged, or is larger than the bounds of this module.
    """
    machine = _Machine()
    try:
        for opcode, argument, _at in islice(pickletools.genops(io.BytesIO(data)), MOST_OPCODES):
            if opcode.name == "STOP":
                return machine.result()
            machine.step(opcode.name, argument)
    except RefusedPickleError:
        raise
    except (ValueError, TypeError, KeyError, IndexError, OverflowError, MemoryError, AttributeError) as error:
        raise RefusedPickleError(f"it is damaged ({type(error).__name__})") from None
    raise RefusedPickleError(f"it does not end within {MOST_OPCODES:,} steps")


class _Machine:
    """Stack and memo; every opcode that is not named here is refused."""

    def __init__(self) -> None:
        self._stack: list[Any] = []
        self._marks: list[int] = []
        self._memo: dict[int, Any] = {}

    def result(self) -> object:
        """What is left on the stack."""
        return self._stack.pop()

    def step(self, name: str, argument: Any) -> None:
        """Carry out one opcode."""
        stack = self._stack
        if name in _PUSHED:
            stack.append(argument)
        elif name in {"BINGET", "LONG_BINGET", "GET"}:
            stack.append(self._memo[int(argument)])
        elif name in {"BINPUT", "LONG_BINPUT", "PUT", "MEMOIZE"}:
            self._remember(len(self._memo) if name == "MEMOIZE" else int(argument))
        elif name in _CONSTANTS:
            stack.append(_CONSTANTS[name]())
        elif name == "MARK":
            self._marks.append(len(stack))
        elif name in _TUPLES:
            stack[-_TUPLES[name] :] = [tuple(stack[-_TUPLES[name] :])]
        elif name in {"TUPLE", "LIST", "DICT", "FROZENSET"}:
            stack.append(_built(name, self._above_mark()))
        elif name in {"APPEND", "SETITEM"}:
            self._add([stack.pop()] if name == "APPEND" else [stack.pop(-2), stack.pop()])
        elif name in {"APPENDS", "SETITEMS", "ADDITEMS"}:
            self._add(self._above_mark())
        elif name not in {"PROTO", "FRAME"}:
            raise RefusedPickleError(f"it asks for {name}, which is no plain data")

    def _remember(self, key: int) -> None:
        if len(self._memo) >= MOST_MEMO:
            raise RefusedPickleError(f"its memo holds more than {MOST_MEMO:,} values")
        self._memo[key] = self._stack[-1]

    def _above_mark(self) -> list[Any]:
        at = self._marks.pop()
        items = self._stack[at:]
        del self._stack[at:]
        return items

    def _add(self, items: list[Any]) -> None:
        target: Any = self._stack[-1]
        if isinstance(target, list):
            cast("list[Any]", target).extend(items)
        elif isinstance(target, dict):
            cast("dict[Any, Any]", target).update(_pairs(items))
        else:
            target.update(_hashable(items))  # a set; anything else has no `update`


def _built(name: str, items: list[Any]) -> Any:
    if name == "TUPLE":
        return tuple(items)
    if name == "DICT":
        return _pairs(items)
    return frozenset(_hashable(items)) if name == "FROZENSET" else items


def _pairs(items: list[Any]) -> dict[Any, Any]:
    return dict(zip(_hashable(items[::2]), items[1::2], strict=True))


def _hashable(items: list[Any]) -> list[Any]:
    if not all(isinstance(item, _SCALARS) for item in items):
        raise RefusedPickleError("a key in it is no scalar")
    return items
