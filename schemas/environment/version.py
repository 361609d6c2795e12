"""winnow's version, in its own module, as no module may import the package's root."""

from functools import cache
from importlib.metadata import version


@cache
def winnow_version() -> str:
    """The version that is installed."""
    return version("winnow")
