"""Where are the folders that come with crashlens: in the installed package, or at the root of a checkout?"""

from importlib.resources import files
from pathlib import Path

from crashlens.errors import NoSuchInputError


def shipped_folder(name: str) -> Path:
    """The folder `name`: `notebooks` or `sample_data`.

    Raises:
        NoSuchInputError: This installation does not hold it.
    """
    package = Path(str(files("crashlens")))
    for folder in (package / "_data" / name, package.parent / name):
        if folder.is_dir():
            return folder
    raise NoSuchInputError(
        f"The folder {name} is not part of this installation; nothing was read.",
        facts=[("looked in", f"{package.name}/_data/{name}")],
        way_out="pip install --force-reinstall crashlens-gpu",
    )
