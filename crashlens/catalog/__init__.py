"""Facts as data: TOML files with their sources, and the typed loaders that read them.

A number, name, action or sentence that somebody could dispute stands in a file here and says where it comes from, or
that it is uncalibrated. Nothing here reads the user's input or draws a conclusion.
"""
