"""Runs the code cells of a notebook, in this interpreter, and says which one failed."""

import asyncio
import os
import sys
import tempfile
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from pathlib import Path
from typing import IO, Any, cast

from jupyter_client.kernelspec import KernelSpec, KernelSpecManager
from jupyter_client.manager import AsyncKernelManager
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError
from nbformat import NotebookNode
from traitlets import default

from crashlens.errors import ReportError
from crashlens.report.quick_import import KERNEL_PROGRAM

_MOST_ERROR_CHARACTERS = 400
_WAKE_S = 0.2


class _ThisInterpreter(KernelSpecManager):
    """Knows one kernel: ipykernel under the interpreter that runs now, whatever kernels are installed."""

    def get_kernel_spec(self, kernel_name: str) -> KernelSpec:
        argv = [sys.executable, "-c", KERNEL_PROGRAM, "-f", "{connection_file}"]
        return KernelSpec(argv=argv, display_name=kernel_name, language="python")


class _KernelHere(AsyncKernelManager):
    """Starts the kernel of `_ThisInterpreter`."""

    @default("kernel_spec_manager")
    def _kernel_spec_manager_default(self) -> KernelSpecManager:
        return _ThisInterpreter()


def execute_notebook(notebook: NotebookNode, *, folder: Path, progress: Callable[[str], None]) -> None:
    """Run all code cells and put their outputs into `notebook`.

    Args:
        notebook: Changed in place; after a failure it holds the outputs up to the cell that failed.
        folder: Working folder of the kernel.
        progress: Called with `[3/9] Title` before each code cell that has a title: its own, or the heading in the
            Markdown cell before it.

    Raises:
        ReportError: A cell failed, or the kernel could not start or died.
        KeyboardInterrupt: Ctrl-C; the kernel was stopped.
    """
    titles = cell_titles(notebook)
    numbers = {at: n for n, at in enumerate((at for at, title in titles.items() if title), start=1)}

    def announce(*, cell_index: int, **_: Any) -> None:
        if cell_index in numbers:
            progress(f"[{numbers[cell_index]}/{len(numbers)}] {titles[cell_index]}")

    with tempfile.TemporaryFile() as kernel_errors:
        client = NotebookClient(
            notebook,
            kernel_manager_class=_KernelHere,
            kernel_name="python3",
            timeout=None,
            record_timing=False,
            resources={"metadata": {"path": str(folder)}},
            on_cell_start=announce,
        )
        try:
            # The kernel writes notices about itself to its error stream; they are kept for the case that it dies.
            _execute(client, kernel_errors)
        except CellExecutionError:
            raise _failed(notebook, titles) from None
        except (DeadKernelError, CellTimeoutError, RuntimeError, OSError) as error:
            raise _no_kernel(error, kernel_errors) from error


def _execute(client: NotebookClient, kernel_errors: IO[bytes]) -> None:
    """Execute in a thread of its own, and stop the kernel when Ctrl-C interrupts the wait for it.

    A notebook that calls us has an event loop in its thread already. In the main thread nbclient would take SIGINT for
    itself, and its way to answer it ends in a failed assertion.
    """
    running: Future[tuple[asyncio.AbstractEventLoop, asyncio.Task[Any]]] = Future()

    async def execute() -> None:
        task = asyncio.current_task()
        if task is not None:
            running.set_result((asyncio.get_running_loop(), task))
        await client.async_execute(stderr=kernel_errors)

    with ThreadPoolExecutor(max_workers=1) as thread:
        done = thread.submit(lambda: asyncio.run(execute()))
        try:
            # The signal may reach another thread: this one must wake up now and then to see it.
            while wait([done], timeout=_WAKE_S).not_done:
                pass
            done.result()
        except KeyboardInterrupt:
            client.shutdown_kernel = "immediate"
            loop, task = running.result()
            if not done.done():
                loop.call_soon_threadsafe(task.cancel)
            raise


def cell_titles(notebook: NotebookNode) -> dict[int, str]:
    """Title of each code cell by its place in the notebook; the empty string for a cell without one."""
    titles: dict[int, str] = {}
    heading = ""
    for at, cell in enumerate(cast("list[dict[str, Any]]", notebook["cells"])):
        if cell["cell_type"] == "markdown":
            headings = [line.lstrip("#").strip() for line in cell["source"].split("\n") if line.startswith("#")]
            heading = headings[-1] if headings else heading
        elif cell["cell_type"] == "code":
            tags = cell["metadata"].get("tags", [])
            is_setting = "parameters" in tags or "injected-parameters" in tags
            titles[at] = "" if is_setting else cell["metadata"].get("title") or heading
            heading = ""
    return titles


def _failed(notebook: NotebookNode, titles: dict[int, str]) -> ReportError:
    for at, cell in enumerate(cast("list[dict[str, Any]]", notebook["cells"])):
        for output in cell.get("outputs", []):
            if output["output_type"] == "error":
                lines = [line for line in str(output["evalue"]).split("\n") if line.strip()]
                facts = [
                    ("step", titles.get(at) or f"cell {at + 1}"),
                    ("error", ": ".join([output["ename"], *lines[:1]])[:_MOST_ERROR_CHARACTERS]),
                ]
                if len(lines) > 1:
                    facts.append(("last line", lines[-1].strip()[:_MOST_ERROR_CHARACTERS]))
                return ReportError("A step of the audit failed; no report was written.", facts=facts)
    return ReportError("A step of the audit failed without saying why; no report was written.")


def _no_kernel(error: Exception, kernel_errors: IO[bytes]) -> ReportError:
    kernel_errors.seek(0, os.SEEK_END)
    kernel_errors.seek(max(0, kernel_errors.tell() - 4096))
    lines = [line for line in kernel_errors.read().decode("utf-8", "replace").split("\n") if line.strip()]
    facts = [("error", (str(error) or type(error).__name__).split("\n")[0])]
    if lines:
        facts.append(("kernel said", lines[-1].strip()[:_MOST_ERROR_CHARACTERS]))
    return ReportError(
        "The process that runs the audit did not start or died; no report was written.",
        facts=[*facts, ("interpreter", sys.executable)],
        way_out="pip install 'crashlens-gpu[pdf]'",
    )
