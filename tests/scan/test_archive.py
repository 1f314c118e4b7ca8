"""Archives: what is inside is read under its own name; what is hostile is refused and said, and costs only itself."""

import gzip
import io
import stat
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import crashlens as cl
from crashlens.scan import archive
from crashlens.scan.archive import LeftOut
from crashlens.scan.member import Member
from crashlens.scan.walk import walk

XID = b"[  100.000001] NVRM: Xid (PCI:0000:3b:00): 79, pid=4711, name=python, GPU has fallen off the bus.\n"


def regular(name: str, data: bytes) -> tuple[tarfile.TarInfo, io.BytesIO | None]:
    info = tarfile.TarInfo(name)
    info.size = len(data)
    return info, io.BytesIO(data)


def special(name: str, kind: bytes, target: str = "") -> tuple[tarfile.TarInfo, None]:
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, target
    return info, None


def tar(path: Path, *members: tuple[tarfile.TarInfo, io.BytesIO | None], mode: str = "w") -> Path:
    opened: Any = tarfile
    with opened.open(path, mode) as out:
        for info, data in members:
            out.addfile(info, data)
    return path


def seen(path: Path) -> dict[str, bytes | str]:
    """Path without the archive's own name -> the bytes of a member, or why it was left out."""
    found: dict[str, bytes | str] = {}
    for entry in walk([path]):
        name = entry.path.removeprefix(path.name).removeprefix("!")
        found[name] = entry.why if isinstance(entry, LeftOut) else b"".join(block.data for block in entry.blocks())
    return found


@pytest.mark.parametrize("mode", ["w", "w:gz", "w:bz2", "w:xz"])
def test_every_member_of_a_tar_is_read_however_it_is_packed(tmp_path: Path, mode: str) -> None:
    path = tar(tmp_path / "bundle.any", regular("./node1/dmesg", XID), regular("pods/a/b.log", b"two\n"), mode=mode)
    assert seen(path) == {"node1/dmesg": XID, "pods/a/b.log": b"two\n"}


def test_a_member_keeps_its_line_numbers_and_its_name_in_the_case(tmp_path: Path) -> None:
    packed = gzip.compress(b"first\n" + XID)
    path = tar(tmp_path / "must-gather.tar.gz", regular("node1/kern.log.1.gz", packed), mode="w:gz")
    case = cl.read(path)
    assert case.sources["path"].to_list() == ["must-gather.tar.gz!node1/kern.log.1.gz"]
    assert case.events.select("rule_id", "line", "xid").rows() == [("kernel.xid", 2, 79)]


def test_a_zip_is_read_and_the_case_can_be_closed(tmp_path: Path) -> None:
    path = tmp_path / "logs.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as out:
        out.writestr("b/train.log", b"step\n")
        out.writestr("a.log", XID)
        out.mkdir("empty")
    assert seen(path) == {"a.log": XID, "b/train.log": b"step\n"}


@pytest.mark.parametrize(
    ("made", "why"),
    [
        (lambda: regular("../escape.log", b"x\n"), "its name leads out of the archive"),
        (lambda: regular("/etc/passwd", b"x\n"), "its name leads out of the archive"),
        (lambda: regular("a/../../b", b"x\n"), "its name leads out of the archive"),
        (lambda: regular("C:\\windows\\x.log", b"x\n"), "its name leads out of the archive"),
        (lambda: special("soft", tarfile.SYMTYPE, "/etc/passwd"), "a link inside an archive"),
        (lambda: special("hard", tarfile.LNKTYPE, "good.log"), "a link inside an archive"),
        (lambda: special("pipe", tarfile.FIFOTYPE), "not a regular file"),
        (lambda: special("null", tarfile.CHRTYPE), "not a regular file"),
        (lambda: regular("good.log", b"again\n"), "a second member of this name"),
    ],
)
def test_a_hostile_member_is_refused_and_the_others_are_read(
    tmp_path: Path, made: Callable[[], tuple[tarfile.TarInfo, io.BytesIO | None]], why: str
) -> None:
    path = tar(tmp_path / "x.tar", regular("good.log", b"1\n"), made(), regular("last.log", b"2\n"))
    entries = list(walk([path]))
    assert [entry.why for entry in entries if isinstance(entry, LeftOut)] == [why]
    assert [entry.path for entry in entries if isinstance(entry, Member)] == ["x.tar!good.log", "x.tar!last.log"]
    assert sorted(item.name for item in tmp_path.iterdir()) == ["x.tar"]


@pytest.mark.parametrize("inner", ["zip", "tar", "tar.gz"])
def test_an_archive_inside_an_archive_is_refused(tmp_path: Path, inner: str) -> None:
    nested = tmp_path / f"nested.{inner}"
    if inner == "zip":
        with zipfile.ZipFile(nested, "w") as out:
            out.writestr("a", "x")
    else:
        tar(nested, regular("a", b"x"), mode="w:gz" if inner == "tar.gz" else "w")
    path = tar(tmp_path / "x.tar", regular(f"in.{inner}", nested.read_bytes()), regular("last.log", b"2\n"))
    assert seen(path) == {f"in.{inner}": "an archive inside an archive", "last.log": b"2\n"}


def test_links_and_encrypted_members_of_a_zip_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.zip"
    link = zipfile.ZipInfo("link")
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    with zipfile.ZipFile(path, "w") as out:
        out.writestr(link, "/etc/passwd")
        out.writestr("../up.log", "x\n")
        out.writestr("ok.log", "x\n")
        out.writestr("secret.log", "x\n")
    data = bytearray(path.read_bytes())
    at = data.rfind(b"PK\x01\x02")  # the central directory entry of the last member: bit 0 of its flags
    data[at + 8] |= 1
    path.write_bytes(data)
    assert seen(path) == {
        "link": "a link inside an archive",
        "../up.log": "its name leads out of the archive",
        "ok.log": b"x\n",
        "secret.log": "it is encrypted",
    }


def test_a_zip_bomb_is_refused_by_its_ratio_and_its_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "bomb.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as out:
        out.writestr("zeros.log", bytes(80_000_000))
        out.writestr("ok.log", b"x\n")
    found = seen(path)
    assert found["ok.log"] == b"x\n"
    assert "which no log does" in str(found["zeros.log"])
    monkeypatch.setattr(archive, "MOST_MEMBER_BYTES", 1)
    assert str(seen(path)["ok.log"]).startswith("it would unpack to more than")


def test_a_zip_whose_stated_size_lies_is_stopped_while_it_is_unpacked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "lies.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as out:
        out.writestr("zeros.log", bytes(4_000_000))
    data = bytearray(path.read_bytes())
    at = data.rfind(b"PK\x01\x02")
    data[at + 24 : at + 28] = (100).to_bytes(4, "little")
    path.write_bytes(data)
    monkeypatch.setattr(archive, "MOST_MEMBER_BYTES", 1_000_000)
    total = sum(len(item) if isinstance(item, bytes) else 0 for item in seen(path).values())
    assert total <= 1_000_000


def test_a_tar_bomb_stops_at_the_ratio_of_its_member(tmp_path: Path) -> None:
    path = tar(tmp_path / "bomb.tar.gz", regular("a.log", b"x\n"), regular("z.log", bytes(80_000_000)), mode="w:gz")
    found = seen(path)
    assert found["a.log"] == b"x\n"
    assert len(found["z.log"]) < 70_000_000


def test_a_tar_bomb_stops_at_the_ratio_of_its_stream(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tar(tmp_path / "bomb.tar.gz", regular("a.log", b"x\n"), regular("z.log", bytes(80_000_000)), mode="w:gz")
    monkeypatch.setattr("crashlens.scan.member.MOST_RATIO", 200)
    found = seen(path)
    assert found["a.log"] == b"x\n"
    assert "which no log does" in str(found[""])


def test_too_many_members_and_too_many_bytes_end_the_reading_and_are_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tar(tmp_path / "x.tar", *(regular(f"{n}.log", b"x" * 1000 + b"\n") for n in range(6)))
    monkeypatch.setattr(archive, "MOST_MEMBERS", 3)
    assert [name for name in seen(path) if name] == ["0.log", "1.log", "2.log"]
    assert seen(path)[""] == "more than 3 members; the rest was not read"
    monkeypatch.setattr(archive, "MOST_MEMBERS", 100)
    monkeypatch.setattr(archive, "MOST_ARCHIVE_BYTES", 2500)
    assert [name for name in seen(path) if name] == ["0.log", "1.log", "2.log"]


@pytest.mark.parametrize("keep", [1700, 2200])
def test_a_truncated_tar_keeps_what_stands_before_the_cut(tmp_path: Path, keep: int) -> None:
    whole = tar(tmp_path / "whole.tar", regular("a.log", b"a\n"), regular("b.log", b"b" * 3000 + b"\n")).read_bytes()
    path = tmp_path / "cut.tar"
    path.write_bytes(whole[:keep])
    found = seen(path)
    assert found["a.log"] == b"a\n"
    assert "damaged" in str(found[""])


def test_a_broken_header_in_the_middle_is_said(tmp_path: Path) -> None:
    path = tar(tmp_path / "x.tar", regular("a.log", b"a\n"), regular("b.log", b"b\n"), regular("c.log", b"c\n"))
    data = bytearray(path.read_bytes())
    data[1024 + 148 : 1024 + 156] = b"garbage!"
    path.write_bytes(data)
    found = seen(path)
    assert found["a.log"] == b"a\n"
    assert "a header that cannot be read" in str(found[""])


def test_no_temporary_file_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    room = tmp_path / "tmp"
    room.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(room))
    path = tar(tmp_path / "x.tar", regular("a.log", XID), regular("b.log", XID))
    assert cl.read(path).events.height == 2
    assert list(room.iterdir()) == []


def test_a_file_that_only_starts_like_a_zip_cannot_be_read_and_the_case_says_so(tmp_path: Path) -> None:
    (tmp_path / "a.zip").write_bytes(b"PK\x03\x04 rest")
    (row,) = cl.read(tmp_path / "a.zip").sources.to_dicts()
    assert (row["state"], row["bytes"]) == ("not_read", None)
    assert row["notices"][0].startswith("It was left out: the archive is damaged")
