"""What a person looks at: tables and findings as HTML, text and the JSON that the report lays out, and charts.

Nothing here measures or judges; a view says where its numbers come from and leaves a gap where they have one.
Colours, labels, sentences and the rule for gaps are data (`encoding.toml`, `labels.*.toml`, `sentences.*.toml`).
"""
