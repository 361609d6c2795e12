"""winnow turns a crawl into a training mixture.

    import winnow

    page = winnow.extract(html, url)  # one page's main content
    outcome = winnow.run("recipe.yaml")
    store = winnow.open_store("store")
    store.sql("SELECT code, count(*) FROM text.language GROUP BY code")

What is named here is loaded when it is first used, so that `import winnow.schemas` brings neither Beam nor torch.
"""

import sys

# `python -m winnow` has the working directory first, and this package imports what may lie there under the same name.
if (
    sys.argv[:1] == ["-m"]
    and not sys.flags.safe_path
    and sys.orig_argv[-len(sys.argv)].removeprefix("-m").partition(".")[0] == "winnow"
):
    del sys.path[0]

import logging
import os
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from winnow.filters.extraction.one_page import extract
    from winnow.filters.extractors import Extractor
    from winnow.runners.notebook.opened_store import open_store
    from winnow.runners.notebook.own_operators import operator
    from winnow.runners.stages.recipe_run import run
    from winnow.schemas.recipe import Recipe, load_recipe

    __version__: str

__all__ = ["Extractor", "Recipe", "__version__", "extract", "load_recipe", "open_store", "operator", "run"]

# Read when pyarrow is loaded. Its allocator would ask for huge pages, of which it touches many and fills few: reading
# the lists of 4,000 shards took 30 MB, and takes 7 without. Operators were as fast.
os.environ.setdefault("MIMALLOC_ALLOW_THP", "0")

_HOMES = {
    "Extractor": ("winnow.filters.extractors", "Extractor"),
    "extract": ("winnow.filters.extraction.one_page", "extract"),
    "Recipe": ("winnow.schemas.recipe", "Recipe"),
    "load_recipe": ("winnow.schemas.recipe", "load_recipe"),
    "open_store": ("winnow.runners.notebook.opened_store", "open_store"),
    "operator": ("winnow.runners.notebook.own_operators", "operator"),
    "run": ("winnow.runners.stages.recipe_run", "run"),
}
_USE_BEAM = ("operator", "run")


def __dir__() -> list[str]:
    return sorted(__all__)


def __getattr__(name: str) -> object:
    if name == "__version__":
        return import_module("winnow.schemas.environment.version").winnow_version()
    if name not in _HOMES:
        raise AttributeError(f"module 'winnow' has no attribute {name!r}")
    module, attribute = _HOMES[name]
    if name in _USE_BEAM:
        _load_beam()
    return getattr(import_module(module), attribute)


def _load_beam() -> None:
    """Loads Beam without its warning that it cannot reach BigQuery, which winnow does not use."""
    root = logging.getLogger()
    root.addFilter(_is_of_use)
    try:
        import_module("apache_beam")
    finally:
        root.removeFilter(_is_of_use)


def _is_of_use(record: logging.LogRecord) -> bool:
    return "bigquery client libraries" not in record.getMessage()
