"""Measurements to findings: one module per question. Every sentence is a template of `wording.*.toml`.

A causal template is used only where order beyond clock uncertainty, one equal identity and a known mechanism all hold.
"""
