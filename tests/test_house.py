"""The house rules of STYLE.md that a machine can check: sizes, names, documentation, and no causal word in the product.

Every check is a function of one parsed file that returns its faults, so that each can be shown to fail.
"""

import ast
import re
import subprocess
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from crashlens.schemas import BASE_SCHEMAS

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "crashlens"
MODULE_LINES, FUNCTION_LINES, TEST_LINES, TEST_DATA_BYTES = 600, 80, 500, 32 * 1024

BANNED_MODULES = re.compile(r"^_?(utils?|helpers?|common|misc|core|managers?)$")
BANNED_VERBS = re.compile(r"^(get|process|handle|do)_")
BANNED_CLASSES = re.compile(r"\w(Manager|Handler|Helper|Base)$")
BANNED_WORDS = re.compile(  # STYLE.md 3.9, right-hand column, where the word is wrong wherever it stands
    r"^(clock_reasons?|throttle_reasons?|power_limit_w|power_w|temperature_c|temp|temp_c|tlimit|freq|gpu_clock"
    r"|xid_errors?|xid_count|xid_?code|node_rank|gpu_index|gpu_id|comm_op|iteration_time(_s)?|latency_s"
    r"|root_causes?|insights?|recommendations?|\w+_pct|\w+_percent|\w*throttle_us)$",
    re.IGNORECASE,
)
CAUSAL = re.compile(r"(?<![\w./])(causes(?![\w./(])|caused by|because of|due to|leads to)\b", re.IGNORECASE)
MAY_BE_CAUSAL = re.compile(r"^conclude/wording\.\w+\.toml$")
VERBATIM_KEYS = {"matches", "rejects", "pattern", "captures", "ends", "literals"}  # words of other people's programs

Tree = ast.Module
Function = ast.FunctionDef | ast.AsyncFunctionDef
Check = Callable[[Tree], list[str]]


def functions(tree: Tree) -> Iterator[Function]:
    return (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))


def long_functions(tree: Tree) -> list[str]:
    return [
        f"{node.name} has {lines} lines"
        for node in functions(tree)
        if (lines := (node.end_lineno or node.lineno) - node.lineno + 1) > FUNCTION_LINES
    ]


def boolean_defaults(tree: Tree) -> list[str]:
    return [
        f"{node.name} has the default {default.value}"
        for node in functions(tree)
        for default in [*node.args.defaults, *node.args.kw_defaults]
        if isinstance(default, ast.Constant) and isinstance(default.value, bool)
    ]


def undocumented(tree: Tree) -> list[str]:
    """The module and each public class, function and method without a docstring that says something."""

    def silent(node: Tree | Function | ast.ClassDef) -> bool:
        return not re.search(r"\w{2}", ast.get_docstring(node) or "")

    faults = ["the module"] if silent(tree) else []
    for node in tree.body:
        if isinstance(node, Function | ast.ClassDef) and not node.name.startswith("_"):
            faults += [node.name] if silent(node) else []
            if isinstance(node, ast.ClassDef):
                faults += [
                    f"{node.name}.{method.name}"
                    for method in node.body
                    if isinstance(method, Function)
                    and not method.name.startswith("_")
                    and silent(method)
                    and not any(ast.unparse(mark).endswith(("overload", ".setter")) for mark in method.decorator_list)
                ]
    return faults


def banned_names(tree: Tree) -> list[str]:
    """Identifiers, public verbs and class names that STYLE.md refuses. A name that a base class chose is not ours."""
    names: list[str] = []
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name) | ast.arg(arg=name) | ast.Attribute(attr=name):
                names.append(name)
            case ast.keyword(arg=str(name)) | ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                names.append(name)
            case _:
                pass
    faults = [name for name in dict.fromkeys(names) if BANNED_WORDS.match(name)]
    inherited = {id(m) for c in ast.walk(tree) if isinstance(c, ast.ClassDef) and c.bases for m in c.body}
    faults += [node.name for node in functions(tree) if BANNED_VERBS.match(node.name) and id(node) not in inherited]
    faults += [
        node.name for node in ast.walk(tree) if isinstance(node, ast.ClassDef) and BANNED_CLASSES.search(node.name)
    ]
    return faults


def causal_sentences(tree: Tree) -> list[str]:
    """String literals, docstrings and other bare strings left out, that hold a causal verb inside a phrase."""
    bare = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    return [
        f"line {node.lineno}: {node.value!r}"
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and id(node) not in bare
        and is_causal(node.value)
    ]


def is_causal(text: str) -> bool:
    return " " in text.strip() and CAUSAL.search(text) is not None  # one word alone is a key, not a sentence


def causal_values(value: Any, key: str = "") -> list[str]:
    """Strings of a TOML document that hold a causal verb, verbatim log lines left out."""
    if key in VERBATIM_KEYS:
        return []
    if isinstance(value, dict):
        return [fault for name, item in value.items() for fault in causal_values(item, name)]
    if isinstance(value, list):
        return [fault for item in value for fault in causal_values(item, key)]
    return [f"{key}: {value!r}"] if isinstance(value, str) and is_causal(value) else []


PYTHON = sorted(path for path in PACKAGE.rglob("*.py") if "_data" not in path.parts)
TOML = sorted(path for path in PACKAGE.rglob("*.toml") if "_data" not in path.parts)


def relative(path: Path) -> str:
    return path.relative_to(PACKAGE).as_posix()


def faults_in(files: list[Path], check: Check) -> dict[str, list[str]]:
    found = {relative(file): check(ast.parse(file.read_text(encoding="utf-8"))) for file in files}
    return {name: faults for name, faults in found.items() if faults}


def test_no_module_is_longer_than_600_lines() -> None:
    ours = [*PYTHON, *ROOT.glob("sample_data/*.py"), *ROOT.glob("notebooks/*.py"), *ROOT.glob("docs/*.py")]
    lengths = {str(file.relative_to(ROOT)): len(file.read_text(encoding="utf-8").splitlines()) for file in ours}
    assert len(lengths) > 15, "too few modules were found: the test looks at nothing"
    assert {name: lines for name, lines in lengths.items() if lines > MODULE_LINES} == {}


def test_tests_and_their_data_are_small() -> None:
    files = [path for path in (ROOT / "tests").rglob("*") if path.is_file() and "__pycache__" not in path.parts]
    long = [f.name for f in files if f.suffix == ".py" and len(f.read_text("utf-8").splitlines()) > TEST_LINES]
    assert long == []
    assert [f.name for f in files if f.suffix != ".py" and f.stat().st_size > TEST_DATA_BYTES] == []


def test_no_function_is_longer_than_80_lines() -> None:
    assert faults_in(PYTHON, long_functions) == {}


def test_no_boolean_default_where_numbers_and_verdicts_are_made() -> None:
    there = [file for file in PYTHON if relative(file).split("/")[0] in {"analysis", "conclude"}]
    assert there
    assert faults_in(there, boolean_defaults) == {}


def test_every_public_name_is_documented() -> None:
    assert faults_in(PYTHON, undocumented) == {}


def test_every_package_says_what_lives_there() -> None:
    packages = [file for file in PYTHON if file.name == "__init__.py"]
    said = {relative(file): ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or "" for file in packages}
    assert [name for name, text in said.items() if len(text) < 60 or "." not in text] == []


def test_no_module_is_a_drawer() -> None:
    named = [part for file in PYTHON for part in file.relative_to(PACKAGE).with_suffix("").parts]
    assert [name for name in named if BANNED_MODULES.match(name)] == []


def test_no_identifier_is_a_refused_word() -> None:
    assert faults_in(PYTHON, banned_names) == {}


def test_no_column_is_a_refused_word() -> None:
    columns = [column.name for schema in BASE_SCHEMAS.values() for column in schema.columns]
    assert [name for name in columns if BANNED_WORDS.match(name)] == []


def test_no_sentence_in_the_code_is_causal() -> None:
    assert faults_in(PYTHON, causal_sentences) == {}


def test_no_sentence_in_the_data_is_causal() -> None:
    plain = [file for file in TOML if not MAY_BE_CAUSAL.match(relative(file))]
    found = {relative(file): causal_values(tomllib.loads(file.read_text(encoding="utf-8"))) for file in plain}
    assert {name: faults for name, faults in found.items() if faults} == {}


def test_no_file_names_a_registry_or_this_machine() -> None:
    # Put together from halves, so that this file does not name them either.
    hosts = "|".join(("py" + r"pi\.org", "python" + "hosted", "anaconda" + r"\.org", "registry" + r"\.npmjs"))
    places = "|".join("/work" + place for place in ("/shared", "/main", "/wt/", r"/\.library"))
    refused = re.compile(f"{hosts}|{places}|/tmp" + "/contract")
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        check=True,
    )
    names = [name for name in listed.stdout.decode().split("\0") if name and (ROOT / name).is_file()]
    assert len(names) > 20, "git listed too few files: the test looks at nothing"
    assert [name for name in names if refused.search((ROOT / name).read_bytes().decode(errors="replace"))] == []


LONG = "def f():\n" + "    x = 1\n" * FUNCTION_LINES


@pytest.mark.parametrize(
    ("check", "text", "faults"),
    [
        (long_functions, LONG, ["f has 81 lines"]),
        (long_functions, LONG.removesuffix("    x = 1\n"), []),
        (boolean_defaults, "def f(a=1, *, deep=False): ...", ["f has the default False"]),
        (boolean_defaults, "class A:\n    def f(self, deep=True): ...", ["f has the default True"]),
        (boolean_defaults, "def f(a=1, *, deep): ...", []),
        (undocumented, '"""."""\ndef f(): ...', ["the module", "f"]),
        (undocumented, '"""What."""\nclass A:\n    """Is."""\n    def f(self): ...\n    def _g(self): ...', ["A.f"]),
        (banned_names, "temp = 1", ["temp"]),
        (banned_names, "frame.select(util_pct=1)", ["util_pct"]),
        (banned_names, "def f(power_limit_w): ...", ["power_limit_w"]),
        (banned_names, "def get_rows(): ...", ["get_rows"]),
        (banned_names, "class CaseManager: ...", ["CaseManager"]),
        (banned_names, "class A(HTMLParser):\n    def handle_data(self, data): ...", []),
        (banned_names, "enforced_power_limit_w = template = 1", []),
        (causal_sentences, '"heat causes a slowdown"', []),  # a bare string is documentation
        (causal_sentences, 'y = f"{x} causes a slowdown"', ["line 1: ' causes a slowdown'"]),
        (causal_sentences, 'y = ("slow due " "to heat")', ["line 1: 'slow due to heat'"]),
        (causal_sentences, 'def f():\n    """This leads to rows."""', []),
        (causal_sentences, 'files = ["causes.toml", "causes", "read catalog/causes.toml first"]', []),
    ],
)
def test_each_check_can_fail(check: Check, text: str, faults: list[str]) -> None:
    assert check(ast.parse(text)) == faults


def test_the_check_of_data_can_fail() -> None:
    rule = {
        "rule": [{"means": "Heat leads to this.", "matches": ["lost due to heat"], "next": {"how": ["because of it"]}}]
    }
    assert causal_values(rule) == ["means: 'Heat leads to this.'", "how: 'because of it'"]
