"""The nbconvert exporter `crashlens-pdf`: any executed notebook -> a finished document as PDF."""

from pathlib import PurePath
from typing import Any

from nbconvert.exporters import Exporter
from nbformat import NotebookNode
from traitlets import default

from crashlens.report.document import read_document
from crashlens.report.typeset import typeset


class CrashlensPDFExporter(Exporter):
    """Lays out the outputs and Markdown cells of an executed notebook; code cells do not appear.

    Called by `jupyter nbconvert --to crashlens-pdf` and by JupyterLab's "Save and Export Notebook As".

    Raises:
        MissingExtraError: A font package is not installed.
        ReportError: Typst refused the document.
    """

    export_from_notebook = "Crashlens audit PDF"
    output_mimetype = "application/pdf"

    @default("file_extension")
    def _file_extension_default(self) -> str:
        return ".pdf"

    def from_notebook_node(  # pyright: ignore[reportIncompatibleMethodOverride]  every binary exporter returns bytes
        self, nb: NotebookNode, resources: dict[str, Any] | None = None, **kw: Any
    ) -> tuple[bytes, dict[str, Any]]:
        """The PDF of `nb` and the resources of the conversion.

        Args:
            nb: An executed notebook.
            resources: nbconvert's resources; `metadata.name` (the file name) is the title of last resort.
            kw: Passed on to nbconvert's preprocessing.
        """
        copy, resources = super().from_notebook_node(nb, resources, **kw)
        name = str(resources.get("metadata", {}).get("name", "")) or "Notebook"
        resources["output_extension"] = ".pdf"
        return typeset(read_document(copy, name=PurePath(name).name)), resources
