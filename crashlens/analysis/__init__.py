"""Tables to numbers: one module per measurement, pure functions, nothing judged.

Thresholds come in as arguments; times are compared only through `timebase.order`.
"""
