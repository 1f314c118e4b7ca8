"""What fills the tables: one parser per format, chosen by content, and the writer they all write through.

A parser declares what it reads and hands over rows; the writer owns schemas, provenance, missing values and masking.
A bad line costs its row and is counted; nothing here raises for what a file holds.
"""
