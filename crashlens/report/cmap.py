"""Which characters a font file has a glyph for: the `cmap` table of TrueType, OpenType and collection files.

Only the formats that fonts use for Unicode today are read: 4 (Basic Multilingual Plane) and 12 (all of Unicode).
Source: OpenType specification 1.9.1, "cmap - Character to Glyph Index Mapping Table".
"""

import struct
from pathlib import Path
from typing import BinaryIO


def read_characters(font_file: Path, *, face: int) -> frozenset[int]:
    """The Unicode code points that face `face` of `font_file` maps to a glyph other than "missing".

    Args:
        font_file: A .ttf, .otf or .ttc file.
        face: Number of the font inside a collection, from 0; a plain font file has face 0 only.

    Raises:
        ValueError: The file is no font, has no such face, or no Unicode cmap of format 4 or 12.
    """
    try:
        with font_file.open("rb") as file:
            return _characters(file, face)
    except (struct.error, IndexError) as error:
        raise ValueError(f"{font_file.name} cannot be read as a font: {error}") from error


def _characters(file: BinaryIO, face: int) -> frozenset[int]:
    offset = 0
    if file.read(4) == b"ttcf":
        _, count = struct.unpack(">II", file.read(8))
        offset = struct.unpack(f">{count}I", file.read(4 * count))[face]
    cmap_at = _table_offset(file, offset, b"cmap")
    file.seek(cmap_at)
    _, count = struct.unpack(">HH", file.read(4))
    records = [struct.unpack(">HHI", file.read(8)) for _ in range(count)]
    kinds: dict[int, int] = {}
    for table_at in {cmap_at + at for platform, _, at in records if platform in (0, 3)}:
        file.seek(table_at)
        (kind,) = struct.unpack(">H", file.read(2))
        kinds[kind] = table_at + 2
    readers = {12: _groups, 4: _segments}  # format 12 holds all that format 4 holds
    for kind, read in readers.items():
        if kind in kinds:
            file.seek(kinds[kind])
            return frozenset(read(file))
    raise ValueError("there is no Unicode cmap of format 4 or 12")


def _table_offset(file: BinaryIO, font_at: int, tag: bytes) -> int:
    file.seek(font_at + 4)
    (count,) = struct.unpack(">H", file.read(2))
    file.seek(font_at + 12)
    for _ in range(count):
        name, _, at, _ = struct.unpack(">4sIII", file.read(16))
        if name == tag:
            return at
    raise ValueError("there is no cmap table")


def _groups(file: BinaryIO) -> set[int]:
    """Format 12: ranges of code points, each with the glyph of its first one."""
    _, _, _, count = struct.unpack(">HIII", file.read(14))
    found: set[int] = set()
    for first, last, glyph in struct.iter_unpack(">III", file.read(12 * count)):
        found.update(range(first + (glyph == 0), min(last, 0x10FFFF) + 1))
    return found


def _segments(file: BinaryIO) -> set[int]:
    """Format 4: segments whose glyphs are the code plus a delta, or stand in an array behind the segment."""
    length, _, doubled, _, _, _ = struct.unpack(">6H", file.read(12))
    data = file.read(length - 14)
    ends = struct.unpack_from(f">{doubled // 2}H", data, 0)
    starts = struct.unpack_from(f">{doubled // 2}H", data, doubled + 2)
    deltas = struct.unpack_from(f">{doubled // 2}H", data, 2 * doubled + 2)
    ranges_at = 3 * doubled + 2
    found: set[int] = set()
    for n, (start, end, delta) in enumerate(zip(starts, ends, deltas, strict=True)):
        at = ranges_at + 2 * n
        (into_array,) = struct.unpack_from(">H", data, at)
        for code in range(start, end + 1):
            if into_array:
                (glyph,) = struct.unpack_from(">H", data, at + into_array + 2 * (code - start))
                glyph = (glyph + delta) & 0xFFFF if glyph else 0
            else:
                glyph = (code + delta) & 0xFFFF
            if glyph and code != 0xFFFF:
                found.add(code)
    return found
