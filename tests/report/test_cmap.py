import struct
from pathlib import Path

import pytest

from crashlens.report.cmap import read_characters


def font(cmap: bytes) -> bytes:
    """A font file with nothing but a cmap table."""
    return (
        b"\x00\x01\x00\x00" + struct.pack(">HHHH", 1, 0, 0, 0) + struct.pack(">4sIII", b"cmap", 0, 28, len(cmap)) + cmap
    )


def table(subtable: bytes) -> bytes:
    return struct.pack(">HH", 0, 1) + struct.pack(">HHI", 3, 1, 12) + subtable


FORMAT_12 = struct.pack(">HHIII", 12, 0, 16 + 24, 0, 2) + struct.pack(">IIIIII", 0x41, 0x43, 5, 0x1F600, 0x1F600, 0)
# Segments: A-B by delta; a-b by the array with "a" mapped to the missing glyph; the closing 0xFFFF.
FORMAT_4 = struct.pack(">7H", 4, 44, 0, 6, 0, 0, 0) + struct.pack(">3H", 0x42, 0x62, 0xFFFF) + b"\x00\x00"
FORMAT_4 += (
    struct.pack(">3H", 0x41, 0x61, 0xFFFF)
    + struct.pack(">3H", 10, 0, 1)
    + struct.pack(">3H", 0, 4, 0)
    + struct.pack(">2H", 0, 7)
)


@pytest.mark.parametrize(("subtable", "held"), [(FORMAT_12, {0x41, 0x42, 0x43}), (FORMAT_4, {0x41, 0x42, 0x62})])
def test_characters_with_a_glyph_are_found(tmp_path: Path, subtable: bytes, held: set[int]) -> None:
    file = tmp_path / "x.ttf"
    file.write_bytes(font(table(subtable)))
    assert read_characters(file, face=0) == held


@pytest.mark.parametrize("content", [b"", b"not a font at all, only text", font(table(b"\x00\x06" + b"\x00" * 20))])
def test_what_is_no_font_is_refused(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "x.ttf"
    file.write_bytes(content)
    with pytest.raises(ValueError, match=r"cmap|font"):
        read_characters(file, face=0)
