"""winnow's version: a leaf of its own, as no module of a room may import the package's root."""

from functools import cache
from importlib.metadata import version


@cache
def winnow_version() -> str:
    """The version that is installed."""
    return version("winnow")
