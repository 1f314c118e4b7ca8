"""From an executed notebook to a finished document: the audit run, the PDF exporter and the one-file HTML page.

The notebook is read into typed blocks once (`document`), then laid out twice (`layout` for paper, `html_page`).
Log text reaches Typst only through `typst_text`, so no character in a log can break or steer the build.
"""
