"""winnow turns a crawl into a training mixture."""

from importlib.metadata import version

__version__ = version("winnow")
__all__ = ["__version__"]
