"""The MIME names of what crashlens puts beside HTML for the layout to read."""

FINDINGS = "application/vnd.crashlens.findings+json"
TABLE = "application/vnd.crashlens.table+json"
CHART = "application/vnd.crashlens.chart+json"
NOTE = "application/vnd.crashlens.note+json"
