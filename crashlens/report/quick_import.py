"""Two seconds that no audit needs: jsonschema builds a grammar of international web addresses when it is imported.

nbformat and altair import jsonschema, once in this process and once in the kernel, and neither checks such an address.
The package that holds the grammar is optional for jsonschema; said to be missing, it is passed over. Only processes
that live for one audit do this: in somebody's own session jsonschema stays whole.
"""

import sys

_GRAMMAR = "rfc3987_syntax"

# What the kernel of an audit runs; `ipykernel_launcher` does the rest.
KERNEL_PROGRAM = (
    f"import sys; sys.modules[{_GRAMMAR!r}] = None; from ipykernel import kernelapp; kernelapp.launch_new_instance()"
)


def pass_over_grammar() -> None:
    """Let later imports of jsonschema in this process do without the grammar, unless it is loaded already."""
    sys.modules.setdefault(_GRAMMAR, None)  # type: ignore[arg-type]
