"""Where may something be kept that is only slow to make again? A private folder of the user, or nowhere.

`$XDG_CACHE_HOME/crashlens`, else `~/.cache/crashlens`. It is used only where it belongs to this user and nobody else
may enter it; everything works without it, slower. Nothing in it is code, and nothing in it is evidence.
"""

import hashlib
import os
import stat
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

CACHE = "CRASHLENS_CACHE"  # environment variable; `off` keeps nothing
MOST_FILES = 200  # the oldest go first
LARGEST = 64 * 1024**2
_OTHERS = stat.S_IRWXG | stat.S_IRWXO
_NO_LINK = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)


def cached_bytes(name: str) -> bytes | None:
    """What was kept under this name, or None. A file that was damaged, or that is not this user's, is not there."""
    try:
        with _folder() as folder:
            file = os.open(name, os.O_RDONLY | _NO_LINK, dir_fd=folder)
            with os.fdopen(file, "rb") as kept:
                if not _is_private(os.fstat(kept.fileno())):
                    return None
                digest, body = kept.read(32), kept.read(LARGEST)
    except OSError:
        return None
    return body if hashlib.sha256(body).digest() == digest else None


def keep_bytes(name: str, body: bytes) -> None:
    """Keep `body` under this name where that is possible; other programs see the old file or the new one, whole."""
    passing = f".{name}.{os.getpid()}.{os.urandom(4).hex()}"
    with suppress(OSError), _folder() as folder:
        file = os.open(passing, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _NO_LINK, mode=0o600, dir_fd=folder)
        try:
            with os.fdopen(file, "wb") as kept:
                kept.write(hashlib.sha256(body).digest() + body)
            os.replace(passing, name, src_dir_fd=folder, dst_dir_fd=folder)
        except OSError:
            os.unlink(passing, dir_fd=folder)
        _drop_oldest(folder)


@contextmanager
def _folder() -> Generator[int]:
    """The opened folder. OSError: there is none that may be used."""
    path = _path()
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with suppress(FileExistsError):
        path.mkdir(mode=0o700)
    folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY | _NO_LINK)
    try:
        if not _is_private(os.fstat(folder)):
            raise PermissionError(path)
        yield folder
    finally:
        os.close(folder)


def _path() -> Path:
    if os.environ.get(CACHE) == "off" or not hasattr(os, "geteuid") or os.open not in os.supports_dir_fd:
        raise FileNotFoundError
    base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")  # noqa: PTH111 - Path.home() may raise
    if not os.path.isabs(base):  # noqa: PTH117
        raise FileNotFoundError
    return Path(base) / "crashlens"


def _is_private(about: os.stat_result) -> bool:
    kind = stat.S_ISREG(about.st_mode) or stat.S_ISDIR(about.st_mode)
    return kind and about.st_uid == os.geteuid() and not about.st_mode & _OTHERS


def _drop_oldest(folder: int) -> None:
    with os.scandir(folder) as found:
        files = sorted((entry.stat(follow_symlinks=False).st_mtime, entry.name) for entry in found)
    for _, name in files[:-MOST_FILES]:
        with suppress(OSError):
            os.unlink(name, dir_fd=folder)
