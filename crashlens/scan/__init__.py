"""Getting at the lines: walking folders, undoing compression and encoding, peeling envelopes, matching rules.

It streams: memory does not grow with the size of a log. Nothing here knows what a line means; the rules do.
"""
