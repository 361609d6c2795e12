"""The conditions of a recipe's extractors against the columns of samples, before anything is read."""

from winnow.pipelines.query.columns import leaves
from winnow.schemas.problems import recipe_error
from winnow.schemas.recipe import Recipe
from winnow.schemas.rows.samples import SAMPLES
from winnow.schemas.rules import check_where


def check_conditions(recipe: Recipe) -> None:
    """Refuse conditions that name no column, or compare what cannot be compared; one line each.

    An extractor's `where` reads the samples, as `mime` or `samples.mime`.
    """
    own = dict(leaves(SAMPLES))
    samples = {f"samples.{name}": info for name, info in own.items()}
    problems = []
    for entry in recipe.extract:
        if entry.where is not None:
            where = f"extract.{entry.name}.where"
            problems += check_where(entry.where, own | samples, entry.place, where)[1]
    if problems:
        raise recipe_error(problems)
