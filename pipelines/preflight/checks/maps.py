"""Exports that ask for a map of their samples: of vectors that are measured, into a file of this machine."""

from collections.abc import Iterator
from typing import Final

from winnow.pipelines.preflight.check import Check, WholeRecipe
from winnow.schemas.problems import Problem, suggestion

_VECTOR: Final = "vector"


def _maps(about: WholeRecipe) -> Iterator[Problem]:
    recipe = about.recipe.config
    layers = [one.layer for one in about.recipe.operators if _VECTOR in one.schema.names]
    for number, entry in enumerate(recipe.export):
        if not entry.atlas:
            continue
        where = f"export[{number}].{entry.name}.atlas"
        if entry.atlas not in layers:
            why = f"{entry.atlas} is no layer of vectors that is measured{suggestion(entry.atlas, layers)}"
            yield Problem(entry.place, where, f"{why}; list one under annotate, such as text.embedding")
        if "://" in recipe.located(entry.path):
            yield Problem(entry.place, where, "the map is a file beside the folder, which must be on this machine")


CHECKS = (Check("maps", WholeRecipe, _maps, "export"),)
