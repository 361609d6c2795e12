"""A recipe's conditions against the columns that its store will have, before anything is read."""

from collections.abc import Iterator

import pyarrow as pa

from winnow.schemas.extraction import EXTRACTION
from winnow.schemas.places import recipe_error
from winnow.schemas.recipe import Recipe
from winnow.schemas.rules import ColumnInfo, check_rules, check_where
from winnow.schemas.samples import SAMPLES


def check_conditions(recipe: Recipe) -> None:
    """Refuse conditions that name no column, or compare what cannot be compared; one line each.

    An extractor's `where` reads the samples, as `mime` or `samples.mime`; rules read every layer by its full name.
    """
    own = dict(_leaves(SAMPLES, ""))
    samples = {f"samples.{name}": info for name, info in own.items()}
    every = samples | {
        f"extract.{entry.name}.{name}": info for entry in recipe.extract for name, info in _leaves(EXTRACTION, "")
    }
    problems = [*check_rules(recipe.eligible, every, "eligible"), *check_rules(recipe.keep, every, "keep")]
    for entry in recipe.extract:
        if entry.where is not None:
            where = f"extract.{entry.name}.where"
            problems += check_where(entry.where, own | samples, entry.place, where)[1]
    if problems:
        raise recipe_error(problems)


def _leaves(
    fields: pa.Schema | pa.StructType, prefix: str, *, nullable: bool = False
) -> Iterator[tuple[str, ColumnInfo]]:
    for field in fields:
        name = f"{prefix}{field.name}"
        if pa.types.is_struct(field.type):
            yield from _leaves(field.type, f"{name}.", nullable=nullable or field.nullable)
        else:
            yield name, ColumnInfo(nullable or field.nullable, field.type)
