"""Output files: refused before the slow work where they would overwrite, complete or absent after it."""

import os
import secrets
from collections.abc import Sequence
from pathlib import Path

from crashlens.errors import OutputExistsError, ReportError
from crashlens.sources.own_output import is_own_output

_LOOKED_AT = 8 * 1024


def check_outputs(paths: Sequence[Path], *, overwrite: bool) -> None:
    """Whether all `paths` can be written.

    Raises:
        OutputExistsError: One of them is there already and `overwrite` was not asked for.
        ReportError: Two of them are the same file, a folder is missing or not writable, or one is a folder itself.
    """
    if len({os.path.realpath(path) for path in paths}) < len(paths):
        raise ReportError(
            "Two outputs have the same name; nothing was written.",
            facts=[("outputs", ", ".join(map(str, paths)))],
            way_out="Give each output its own file name.",
        )
    for path in paths:
        folder = path.parent
        if path.is_dir():
            raise ReportError(
                f'"{path}" is a folder; nothing was run.',
                way_out=f"Name a file in it, for example {path / 'audit.pdf'}",
            )
        if not folder.is_dir() or not os.access(folder, os.W_OK):
            state = "not writable" if folder.is_dir() else "not there"
            raise ReportError(
                f'"{path}" cannot be written; nothing was run.',
                facts=[("folder", f"{folder}: {state}")],
                way_out="Name a file in a folder that exists and that you may write to.",
            )
        if path.exists() and not overwrite:
            raise OutputExistsError(
                f'"{path}" is already there; nothing was run.',
                way_out="Name another file, or add --force to replace it.",
            )


def check_evidence_is_kept(outputs: Sequence[Path], evidence: Sequence[str]) -> None:
    """Whether no output would replace a file that is evidence, even where replacing was asked for.

    What crashlens wrote itself, and another PDF, is no evidence and may be replaced inside the folder that is read.

    Raises:
        ReportError: An output is one of the given files, or a file below a given folder that an audit does not write.
    """
    given = [Path(os.path.realpath(path)) for path in evidence]
    for output in outputs:
        real = Path(os.path.realpath(output))
        if not real.is_file() or not any(real == path or real.is_relative_to(path) for path in given):
            continue
        with real.open("rb") as file:
            head = file.read(_LOOKED_AT)
        if head.startswith(b"%PDF-") or is_own_output(head):
            continue
        raise ReportError(
            f'"{output}" is part of the evidence; nothing was run.',
            facts=[("evidence", ", ".join(evidence[:3]))],
            way_out="Name another file: --force replaces earlier audits, not evidence.",
        )


def write_outputs(contents: dict[Path, bytes]) -> None:
    """Write all files, each first under a name beside it; they appear only when all of them are complete.

    Raises:
        ReportError: The disk refused; no partial file is left behind.
    """
    written: dict[Path, Path] = {}
    try:
        for path, content in contents.items():
            aside = path.with_name(f".{path.name}.{secrets.token_hex(4)}.tmp")
            written[path] = aside
            with aside.open("xb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
        for path, aside in written.items():
            aside.replace(path)
    except OSError as error:
        raise ReportError(
            "The report could not be written.",
            facts=[("error", f"{error.strerror or error}: {error.filename or ''}")],
            way_out="Free some space or name another folder, then run it again.",
        ) from error
    finally:
        for aside in written.values():
            aside.unlink(missing_ok=True)
