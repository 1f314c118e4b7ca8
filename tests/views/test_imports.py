import subprocess
import sys

BLOCKED = """
import sys
class Block:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in ("altair", "vl_convert", "IPython", "nbformat", "jsonschema"):
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Block())
from crashlens.views import case_view, coverage, findings, note, overview, scope, tables, tracks
print(findings.findings_text(()))
try:
    from crashlens.views import charts
except ModuleNotFoundError as error:
    print(error)
"""


def test_only_charts_need_the_chart_libraries() -> None:
    done = subprocess.run([sys.executable, "-c", BLOCKED], capture_output=True, text=True, check=False)
    assert done.stderr == ""
    assert done.stdout.splitlines()[-1] == "altair"
