import bz2
import gzip
import hashlib
import lzma
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from crashlens.scan import packed
from crashlens.scan.member import LINE_END, LONGEST_LINE, Member

zstd = pytest.importorskip("compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd")

PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "bzip2": lambda data: bz2.compress(data, 1),
    "xz": lambda data: lzma.compress(data, preset=0),
    "zstd": lambda data: zstd.compress(
        data, options={zstd.CompressionParameter.checksum_flag: 1}
    ),  # as the command does
}


def member(tmp_path: Path, data: bytes) -> Member:
    file = tmp_path / "a.log"
    file.write_bytes(data)
    return Member("a.log", file, size=len(data))


def text_of(one: Member) -> bytes:
    return b"".join(block.data for block in one.blocks())


def test_only_lf_ends_a_line(tmp_path: Path) -> None:
    one = member(tmp_path, "a\rb\x0bc\x0cd\x1ce\u2028f\x85g\r\nsecond\n".encode())
    assert text_of(one).count(b"\n") == 2
    assert one.lines == 2


@pytest.mark.parametrize(("data", "lines"), [(b"", 0), (b"\n", 1), (b"a", 1), (b"a\n", 1), (b"a\nb", 2), (b"\n\n", 2)])
def test_lines_are_counted_as_an_editor_does(tmp_path: Path, data: bytes, lines: int) -> None:
    one = member(tmp_path, data)
    assert text_of(one) == data
    assert (one.lines, one.complete, one.notices) == (lines, True, [])


def test_blocks_say_the_number_of_their_first_line(tmp_path: Path) -> None:
    one = member(tmp_path, b"".join(b"%07d\n" % number for number in range(1, 100_001)))
    blocks = list(one.blocks())
    assert len(blocks) > 2
    for block in blocks:
        assert int(block.data[:7]) == block.first_line
        assert block.data.endswith(b"\n")


@pytest.mark.parametrize("name", PACKERS)
def test_packed_files_are_undone_and_the_digest_is_of_the_bytes_on_disk(tmp_path: Path, name: str) -> None:
    data = PACKERS[name](b"one\ntwo\n")
    one = member(tmp_path, data)
    assert text_of(one) == b"one\ntwo\n"
    assert (one.packing, one.lines, one.complete, one.notices) == (name, 2, True, [])
    assert one.sha256 == hashlib.sha256(data).hexdigest()
    assert one.head() == b"one\ntwo\n"


@pytest.mark.parametrize("name", PACKERS)
@pytest.mark.parametrize("between", [b"", b"\x00" * 700])
def test_concatenated_members_are_one_stream(tmp_path: Path, name: str, between: bytes) -> None:
    between = between if name not in {"gzip", "zstd"} else b""  # these know padding at the end only
    one = member(tmp_path, PACKERS[name](b"one\ntw") + between + PACKERS[name](b"o\n"))
    assert text_of(one) == b"one\ntwo\n"
    assert one.notices == []


def test_a_member_whose_header_lies_over_a_block_border_is_read(tmp_path: Path) -> None:
    # stored, not compressed: 65,535-byte blocks of 5 extra bytes each, so that the length can be chosen
    def stored(length: int) -> bytes:
        return gzip.compress(b"x" * (length - 1) + b"\n", compresslevel=0)

    for short in (0, 1, 2):  # the border at 256 KiB falls before, inside and behind the two magic bytes
        wanted = 256 * 1024 - short
        length = wanted - (len(stored(wanted)) - wanted)
        first = stored(length)
        assert len(first) == wanted
        one = member(tmp_path, first + gzip.compress(b"second\n"))
        assert text_of(one)[-7:] == b"second\n"
        assert (one.lines, one.notices) == (2, [])


@pytest.mark.parametrize("name", PACKERS)
def test_padding_behind_the_last_member_is_no_damage(tmp_path: Path, name: str) -> None:
    one = member(tmp_path, PACKERS[name](b"one\n") + b"\x00" * 600_000)
    assert text_of(one) == b"one\n"
    assert (one.complete, one.notices) == (True, [])


@pytest.mark.parametrize("name", ["gzip", "zstd"])
def test_other_bytes_behind_a_stream_are_said(tmp_path: Path, name: str) -> None:
    data = PACKERS[name](b"one\n") + b"CUDA error: appended without packing\n"
    one = member(tmp_path, data)
    assert text_of(one) == b"one\n"
    assert not one.complete
    assert one.notices == [f"Behind the {name} stream stand bytes that are not packed; they were not searched."]
    assert one.sha256 == hashlib.sha256(data).hexdigest()


@pytest.mark.parametrize("name", PACKERS)
def test_a_truncated_stream_yields_its_lines_and_says_so(tmp_path: Path, name: str) -> None:
    lines = b"".join(hashlib.sha256(b"%d" % number).hexdigest().encode() + b"\n" for number in range(15_000))
    data = PACKERS[name](lines)[: -len(lines) // 8]
    one = member(tmp_path, data)
    got = text_of(one)
    assert lines.startswith(got)
    assert got
    assert (one.complete, one.notices) == (False, [f"The {name} stream ends early; the lines up to there were read."])
    assert one.sha256 == hashlib.sha256(data).hexdigest()


@pytest.mark.parametrize("name", ["gzip", "bzip2", "zstd"])
def test_a_damaged_stream_yields_what_stood_before_the_damage(tmp_path: Path, name: str) -> None:
    lines = b"".join(hashlib.sha256(b"%d" % number).hexdigest().encode() + b"\n" for number in range(15_000))
    data = bytearray(PACKERS[name](lines))
    middle = len(data) // 2
    data[middle : middle + 64] = b"\xff" * 64
    one = member(tmp_path, bytes(data))
    assert lines.startswith(text_of(one)[:10_000])
    assert not one.complete
    assert len(one.notices) == 1
    assert one.notices[0].startswith(f"The {name} stream is damaged (")
    assert one.sha256 == hashlib.sha256(data).hexdigest()


@pytest.mark.parametrize("make", [bz2.BZ2Compressor, zstd.ZstdCompressor])
def test_a_bomb_is_stopped_and_said(
    tmp_path: Path, make: Callable[[], "bz2.BZ2Compressor | zstd.ZstdCompressor"]
) -> None:
    # of one repeated byte these pack some 20,000 to 1, which no log does
    pack = make()
    data = b"".join(pack.compress(b"\x00" * 1024**2) for _ in range(80)) + pack.flush()
    one = member(tmp_path, data)
    decoded = sum(len(block.data) for block in one.blocks())
    assert decoded <= 66 * 1024**2
    assert not one.complete
    assert any(f"came out of {len(data):,} packed bytes, which no log does" in text for text in one.notices)


@pytest.mark.parametrize(("mark", "codec"), [(b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be")])
def test_utf_16_with_a_mark_is_decoded_over_block_borders(tmp_path: Path, mark: bytes, codec: str) -> None:
    text = "".join(f"줄 {number} 🙂\r\n" for number in range(40_000))
    one = member(tmp_path, mark + text.encode(codec))
    assert text_of(one).decode() == text
    assert one.lines == 40_000


def test_half_a_utf_16_character_at_the_end_is_no_error(tmp_path: Path) -> None:
    assert text_of(member(tmp_path, b"\xff\xfe" + "a\n".encode("utf-16-le") + b"b")) == b"a\n"


def test_a_utf_8_mark_is_no_part_of_the_first_line(tmp_path: Path) -> None:
    assert text_of(member(tmp_path, b"\xef\xbb\xbffirst\n")) == b"first\n"


def test_of_an_overlong_line_the_start_and_the_end_are_kept_and_it_is_said(tmp_path: Path) -> None:
    middle = 5 * 1024**2
    long = b"START" + b"." * middle + b"END"
    one = member(tmp_path, b"before\n" + long + b"\nafter\n")
    lines = text_of(one).split(b"\n")
    assert (lines[0], lines[2], lines[3]) == (b"before", b"after", b"")
    assert lines[1].startswith(b"START")
    assert lines[1].endswith(b"END")
    assert len(lines[1]) <= LONGEST_LINE + LINE_END
    dropped = len(long) - len(lines[1])
    assert (one.lines, one.complete) == (3, False)
    assert one.notices == [f"Line 2 is longer than 1024 KiB; {dropped:,} bytes in its middle were not searched."]


def test_an_overlong_last_line_without_line_end_is_kept_too(tmp_path: Path) -> None:
    one = member(tmp_path, b"x" * (3 * 1024**2) + b"END")
    assert text_of(one).endswith(b"END")
    assert (one.lines, len(one.notices)) == (1, 1)


def test_the_head_passes_over_a_hole_at_the_start(tmp_path: Path) -> None:
    one = member(tmp_path, b"\x00" * 300_000 + b"text\n")
    assert one.head() == b"text\n"
    assert one.leading_nul == 300_000


def test_the_head_says_why_nothing_can_be_decoded(tmp_path: Path) -> None:
    one = member(tmp_path, gzip.compress(b"one\n")[:10])
    assert one.head() == b""
    assert one.head_notices == ["The gzip stream ends early; the lines up to there were read."]


@pytest.mark.parametrize(
    ("start", "kind"),
    [
        (b"\x28\xb5\x2f\xfd", None),
        (b"PK\x03\x04", "a zip archive"),
        (b"%PDF-1.7", "a PDF"),
        (b"\x7fELF", "a program"),
        (b"PAR1", "a Parquet file"),
        (b"\x89PNG", "an image"),
        (b"text", None),
        (b"", None),
    ],
)
def test_what_is_not_read_as_text_is_named(tmp_path: Path, start: bytes, kind: str | None) -> None:
    assert member(tmp_path, start + (b"rest" if start else b"")).unreadable_kind() == kind


def test_no_call_returns_more_than_a_block_whatever_was_packed() -> None:
    pack = zstd.ZstdCompressor()
    data = b"".join(pack.compress(b"\x00" * 1024**2) for _ in range(300)) + pack.flush()
    opened = packed.open_stream(data)
    assert opened is not None
    assert max(map(len, opened[1].feed(data))) <= packed.BLOCK


def test_a_frame_that_asks_for_too_much_memory_is_refused_and_said(tmp_path: Path) -> None:
    pack = zstd.ZstdCompressor(options={zstd.CompressionParameter.window_log: packed.ZSTD_WINDOW_LOG + 1})
    data = PACKERS["zstd"](b"one\n") + pack.compress(b"two\n") + pack.flush()
    one = member(tmp_path, data)
    assert text_of(one) == b"one\n"
    assert (one.complete, one.notices) == (
        False,
        ["The zstd stream needs more than 128 MiB of memory to be read; the lines before that were read."],
    )
    assert one.sha256 == hashlib.sha256(data).hexdigest()


def test_skippable_frames_are_passed_over(tmp_path: Path) -> None:
    skipped = b"\x50\x2a\x4d\x18\x05\x00\x00\x00hello"
    one = member(tmp_path, skipped + PACKERS["zstd"](b"one\n") + skipped + PACKERS["zstd"](b"two\n") + skipped)
    assert text_of(one) == b"one\ntwo\n"
    assert (one.packing, one.complete, one.notices) == ("zstd", True, [])


def test_a_frame_whose_magic_lies_over_a_block_border_is_read(tmp_path: Path) -> None:
    for short in range(6):
        room = packed.BLOCK - short - len(PACKERS["zstd"](b""))
        filler = b"\x51\x2a\x4d\x18" + (room - 8).to_bytes(4, "little") + b"\x00" * (room - 8)
        one = member(tmp_path, filler + PACKERS["zstd"](b"") + PACKERS["zstd"](b"second\n"))
        assert (text_of(one), one.notices) == (b"second\n", [])


@pytest.mark.parametrize("library", ["isal.isal_zlib", None])
def test_gzip_reads_the_same_with_and_without_isal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, library: str | None
) -> None:
    if library is None:
        monkeypatch.setattr(packed, "_library", lambda _name: None)
    lines = b"".join(hashlib.sha256(b"%d" % number).hexdigest().encode() + b"\n" for number in range(15_000))
    data = gzip.compress(lines[:500_000]) + gzip.compress(lines[500_000:]) + b"\x00" * 600
    one = member(tmp_path, data)
    assert text_of(one) == lines
    assert (one.complete, one.notices) == (True, [])


def test_without_a_library_zstd_is_named_and_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packed, "_library", lambda _name: None)
    assert member(tmp_path, PACKERS["zstd"](b"one\n")).unreadable_kind() == "zstd compressed"
