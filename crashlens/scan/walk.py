"""Paths to members: which files does a folder hold, under which names, and which are left out?

Archives are entered. Links are not followed out of the folder, devices and pipes are not opened, hidden and linked
folders are not entered.
Everything left out is said.
"""

import os
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path

from crashlens.errors import NoSuchInputError
from crashlens.scan.archive import LeftOut, archive_kind, archive_members
from crashlens.scan.member import Member

MOST_FILES = 20_000


def walk(paths: Sequence[str | os.PathLike[str]]) -> Iterator[Member | LeftOut]:
    """Every file below `paths`, sorted by path, each once.

    A path is shown relative to the working directory where it lies below it, else from the name of the given folder
    on, so that no report carries somebody's home directory. Bytes of a name that are not UTF-8 are shown as a
    backslash and hex digits.

    Raises:
        NoSuchInputError: A given path is not there.
    """
    seen: set[tuple[int, int]] = set()
    missing = [str(path) for path in paths if not os.path.lexists(path)]
    if missing:
        raise NoSuchInputError(
            f"{missing[0]!r} is not there; nothing was read.",
            facts=[
                ("working directory", Path.cwd().name),
                *([("missing", ", ".join(missing[1:4]))] if missing[1:] else []),
            ],
            way_out="Check the path, or give the folder that holds the logs.",
        )
    count = 0
    for given in paths:
        root = Path(given)
        for file in _files(root):
            if isinstance(file, LeftOut):
                yield LeftOut(shown_path(Path(file.path), root), file.why)
                continue
            shown = shown_path(file, root)
            count += 1
            if count > MOST_FILES:
                yield LeftOut(shown, f"more than {MOST_FILES:,} files; the rest was not read")
                return
            entry = _check(file, root, shown, seen)
            if isinstance(entry, Member) and (kind := archive_kind(entry)) is not None:
                yield from archive_members(entry, kind)
            elif entry is not None:
                yield entry


def shown_path(file: Path, root: Path) -> str:
    """The path of `file` as it is stored and printed."""
    absolute, here = _absolute(file), Path.cwd()
    if absolute.is_relative_to(here) and not _tells_home(absolute, here):
        return _printable(absolute.relative_to(here))
    base = _absolute(root)
    return _printable(Path(base.name) / absolute.relative_to(base))


def _tells_home(absolute: Path, here: Path) -> bool:
    # Seen from `/` or `/home`, a relative path still names the user.
    if here == Path(here.anchor):
        return True
    home = _absolute(Path(os.path.expanduser("~")))  # noqa: PTH111 - Path.home() raises where there is none
    return home != here and home.is_relative_to(here) and absolute.is_relative_to(home)


def _printable(path: Path) -> str:
    return os.fsencode(path.as_posix()).decode("utf-8", "backslashreplace")


def _absolute(path: Path) -> Path:
    return Path(os.path.normpath(path.absolute()))  # links are kept: the name is shown, not where it leads


def _files(root: Path) -> Iterator[Path | LeftOut]:
    if not root.is_dir():
        yield root
        return

    def refused(error: OSError) -> None:
        problems.append(LeftOut(str(error.filename), f"the folder cannot be opened ({error.strerror})"))

    problems: list[LeftOut] = []
    for folder, folders, names in os.walk(root, onerror=refused):
        problems += [LeftOut(str(Path(folder) / name), why) for name in folders if (why := _not_entered(folder, name))]
        folders[:] = sorted(name for name in folders if not _not_entered(folder, name))
        for name in sorted(names):
            yield Path(folder) / name
        yield from problems
        problems.clear()
    yield from problems  # of the folder that came last


def _not_entered(folder: str, name: str) -> str | None:
    if name.startswith(".") or name == "__pycache__":
        return "a hidden folder"
    return "a link to a folder" if (Path(folder) / name).is_symlink() else None


def _check(file: Path, root: Path, shown: str, seen: set[tuple[int, int]]) -> Member | LeftOut | None:
    try:
        if file.is_symlink() and file != root and not _inside(file, root):
            return LeftOut(shown, "a link that leaves the folder")
        about = file.stat()
    except OSError as error:
        return LeftOut(shown, f"cannot be opened ({error.strerror})")
    if not stat.S_ISREG(about.st_mode):
        return LeftOut(shown, "not a regular file")
    if (about.st_dev, about.st_ino) in seen:
        return None
    seen.add((about.st_dev, about.st_ino))
    return Member(shown, file, size=about.st_size)


def _inside(file: Path, root: Path) -> bool:
    return Path(os.path.realpath(file)).is_relative_to(os.path.realpath(root))  # Path.resolve() raises on a loop
