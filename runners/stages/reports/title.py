"""The title of a report: from its recipe, or from the project folder of a recipe or store with a usual name."""

import os
from pathlib import PurePath

_RECIPE = "recipe"
_USUAL = frozenset({"store", "texts", "pictures", "videos", "winnow-data"})  # what `winnow init` names folders


def report_title(store: str, recipe: str | None = None) -> str:
    """A heading that tells reports apart.

    `fineweb.yaml` gives `fineweb`; `recipe-pictures.yaml` in the folder `museum` gives `museum, pictures`; without a
    recipe the store `museum/store` gives `museum`.
    """
    if recipe is None:
        return _project(store)
    path = PurePath(os.path.abspath(recipe))
    name, _, part = path.stem.partition("-")
    if name != _RECIPE:
        return path.stem
    project = path.parent.name or path.stem
    return f"{project}, {part}" if part else project


def _project(store: str) -> str:
    names = [name for name in PurePath(store if "://" in store else os.path.abspath(store)).parts if name.strip("/")]
    told = [name for name in names if name not in _USUAL]
    return (told or names or [store])[-1]
