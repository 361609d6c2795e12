"""Binds a recipe's `captions`: the columns whose captions exports write, of each row the first that has any."""

from collections.abc import Mapping

from winnow.pipelines.query.columns import Column
from winnow.schemas.errors import RecipeError
from winnow.schemas.problems import shown, suggestion
from winnow.schemas.recipe import Recipe
from winnow.schemas.rows.samples import SAMPLES
from winnow.schemas.rules import ColumnInfo

SAMPLE_CAPTIONS = Column("samples", "captions")


def bind_captions(recipe: Recipe, columns: Mapping[Column, ColumnInfo]) -> tuple[Column, ...]:
    """Return the columns, in order of preference.

    Args:
        recipe: The recipe.
        columns: Every column of its store.

    Raises:
        RecipeError: A column does not exist, or has no captions.
    """
    kind = SAMPLES.field("captions").type
    known = {column.name: column for column, info in columns.items() if info.type == kind}
    for name in recipe.captions:
        if name not in known:
            raise RecipeError(
                f"{recipe.file}: captions: {shown(name)} is no column of captions{suggestion(name, list(known))}; "
                f"these are: {', '.join(known)}"
            )
    return tuple(known[name] for name in recipe.captions)
