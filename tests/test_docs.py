"""What the README and the documentation show is true: snippets run, commands end as stated, links lead somewhere.

A fence is ```python (run; all fences of a file share one namespace), ```console (lines `$ crashlens ...` run; `$ echo $?`
and the number under it state the exit status, else it is 0; lines shown as output must occur in that order, `...` skips)
or ```bash. `parsed-only` behind the language means that it must parse but is not run; bash fences are always parsed only.
A file name behind ```toml or ```text (```toml site.toml) makes that fence a file of the page's commands and snippets.
Everything runs in a scratch folder that holds a copy of sample_data.
"""

import ast
import importlib.util
import os
import re
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("sample_data/*.md")])
LANGUAGES = {"python", "console", "bash", "toml", "json", "text"}


@dataclass(frozen=True)
class Fence:
    page: Path
    line: int  # of its first line of content
    language: str
    parsed_only: bool
    text: str
    file: str = ""

    def __str__(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"


def fences(page: Path) -> list[Fence]:
    found: list[Fence] = []
    lines = page.read_text(encoding="utf-8").split("\n")
    start, info = None, ""
    for number, line in enumerate(lines, 1):
        if line.startswith("```"):
            if start is None:
                start, info = number + 1, line[3:].strip()
            else:
                words = info.split() or [""]
                text = "\n".join(lines[start - 1 : number - 1]) + "\n"
                file = next((word for word in words[1:] if re.fullmatch(r"[\w-]+\.[a-z]+", word)), "")
                found.append(Fence(page, start, words[0], "parsed-only" in words[1:], text, file))
                start = None
    assert start is None, f"{page.name}:{start} is a fence without an end"
    return found


@dataclass(frozen=True)
class Command:
    words: list[str]
    status: int
    shown: list[str]


def commands(text: str) -> list[Command]:
    """The commands of a console fence, each with the status and the output that the page promises."""
    found: list[Command] = []
    status_follows = False
    for line in text.replace("\\\n", " ").splitlines():
        if line == "$ echo $?":
            status_follows = True
        elif line.startswith("$ "):
            found.append(Command(shlex.split(line[2:]), 0, []))
        elif status_follows:
            found[-1] = Command(found[-1].words, int(line), found[-1].shown)
            status_follows = False
        elif line.strip() and line.strip() != "...":
            found[-1].shown.append(line.strip())
    assert not status_follows, "`$ echo $?` without the number under it"
    return found


def missing_output(shown: list[str], output: str) -> list[str]:
    """Shown lines that do not occur in `output` in this order."""
    left = iter(line.strip() for line in output.splitlines())
    return [line for line in shown if line not in left]


ALL = [fence for page in PAGES for fence in fences(page)]
CONSOLE = [fence for fence in ALL if fence.language == "console" and not fence.parsed_only]
PYTHON_PAGES = sorted({fence.page for fence in ALL if fence.language == "python" and not fence.parsed_only})


@pytest.fixture
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    shutil.copytree(ROOT / "sample_data", tmp_path / "sample_data", ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write_files(page: Path, folder: Path) -> None:
    for fence in fences(page):
        if fence.file:
            (folder / fence.file).write_text(fence.text, encoding="utf-8")


@pytest.mark.parametrize("page", PYTHON_PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_python_snippet_of_a_page_runs(page: Path, scratch: Path) -> None:
    write_files(page, scratch)
    namespace: dict[str, object] = {"__name__": "__snippet__"}
    for fence in fences(page):
        if fence.language == "python" and not fence.parsed_only:
            code = compile("\n" * (fence.line - 1) + fence.text, str(page), "exec")
            exec(code, namespace)


@pytest.mark.slow
@pytest.mark.parametrize("fence", CONSOLE, ids=str)
def test_every_command_ends_as_the_page_says(fence: Fence, scratch: Path) -> None:
    write_files(fence.page, scratch)
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])}
    for command in commands(fence.text):
        assert command.words[0] == "crashlens", f"{fence} runs something else; mark the fence parsed-only"
        program = "import sys\nfrom crashlens.cli import main\nsys.exit(main())"
        done = subprocess.run(
            [sys.executable, "-c", program, *command.words[1:]],
            check=False, cwd=scratch, env=environment, capture_output=True, text=True, timeout=300,
        )  # fmt: skip
        said = f"{fence}: {shlex.join(command.words)}\n{done.stdout}\n{done.stderr}"
        assert done.returncode == command.status, said
        assert "Traceback" not in done.stderr, said
        assert missing_output(command.shown, done.stdout) == [], said


def test_every_fence_is_in_a_known_language_and_parses() -> None:
    assert len(ALL) > 10, "too few fences were found: the test looks at nothing"
    assert [str(fence) for fence in ALL if fence.language not in LANGUAGES] == []
    for fence in ALL:
        if fence.language == "python":
            ast.parse(fence.text)
        elif fence.language == "bash":
            subprocess.run(["bash", "-n"], input=fence.text, text=True, check=True)
        elif fence.language == "console":
            commands(fence.text)


def anchors(page: Path) -> set[str]:
    """Heading anchors, as the common Markdown hosts make them."""
    text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_every_link_between_our_pages_leads_somewhere() -> None:
    broken = []
    for page in PAGES:
        for target in re.findall(r"\]\(([^)\s]+)\)", page.read_text(encoding="utf-8")):
            path, _, anchor = target.partition("#")
            file = page if not path else page.parent / path
            if "://" in target:
                continue
            if not file.exists() or (anchor and anchor not in anchors(file)):
                broken.append(f"{page.relative_to(ROOT)} -> {target}")
    assert broken == []


def test_every_page_can_be_reached_from_the_index() -> None:
    docs = ROOT / "docs"
    reached: set[Path] = set()
    open_ = [docs / "index.md"]
    while open_:
        page = open_.pop()
        reached.add(page)
        linked = {(page.parent / to).resolve() for to in re.findall(r"\]\(([^)#\s]+\.md)", page.read_text("utf-8"))}
        open_ += [to for to in linked - reached if to.is_relative_to(docs) and to.exists()]
    assert set(docs.rglob("*.md")) - reached == set()


def build_reference() -> ModuleType:
    spec = importlib.util.spec_from_file_location("build_reference", ROOT / "docs" / "build_reference.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_reference_pages_are_current() -> None:
    built = build_reference().pages()
    folder = ROOT / "docs" / "reference"
    assert {path.name for path in folder.glob("*.md")} == set(built)
    stale = [name for name, text in built.items() if (folder / name).read_text(encoding="utf-8") != text]
    assert stale == [], "run: python docs/build_reference.py"


def test_a_table_cell_cannot_break_its_row() -> None:
    table = build_reference().table(["name", "meaning"], [["a|b", "one\ntwo <b>*x*"]])
    assert table == "| name | meaning |\n|---|---|\n| a\\|b | one two &lt;b&gt;\\*x\\* |\n"


def test_what_a_page_shows_is_read_as_promised() -> None:
    text = "$ crashlens scan a \\\n    --tz UTC\nfirst\n...\nthird\n$ echo $?\n1\n$ crashlens --version\n"
    assert commands(text) == [
        Command(["crashlens", "scan", "a", "--tz", "UTC"], 1, ["first", "third"]),
        Command(["crashlens", "--version"], 0, []),
    ]
    assert missing_output(["first", "third"], "first\nsecond\nthird\n") == []
    assert missing_output(["third", "first"], "first\nsecond\nthird\n") == ["first"]
