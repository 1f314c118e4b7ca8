"""TOML text to its document. The reader of the standard library is slow, so what it read is kept as JSON by digest."""

import hashlib
import json
import tomllib
from datetime import date, datetime, time
from typing import Any, cast

from crashlens.catalog.user_cache import cached_bytes, keep_bytes

WORTH_KEEPING = 1000  # characters; a shorter text is read again in the time that the cache takes
_MOMENT = "$toml"  # marks a date or time, which JSON does not have


def toml_document(text: str) -> dict[str, Any]:
    """The document that `text` is.

    Raises:
        tomllib.TOMLDecodeError: It is no TOML.
    """
    if len(text) < WORTH_KEEPING:
        return tomllib.loads(text)
    name = f"toml-{hashlib.sha256(text.encode()).hexdigest()}.json"
    kept = cached_bytes(name)
    if kept is not None:
        return cast("dict[str, Any]", json.loads(kept, object_hook=_object if _MOMENT.encode() in kept else None))
    document = tomllib.loads(text)
    if _MOMENT not in text:
        keep_bytes(name, json.dumps(document, default=_moment, ensure_ascii=False).encode())
    return document


def _moment(value: object) -> dict[str, str]:
    if isinstance(value, date | datetime | time):
        return {_MOMENT: value.isoformat()}
    raise TypeError(type(value))


def _object(value: dict[str, Any]) -> Any:
    return tomllib.loads(f"moment = {value[_MOMENT]}")["moment"] if value.keys() == {_MOMENT} else value
