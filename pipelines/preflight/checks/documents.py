"""Rules of items that say nothing of the pictures that pages show, as their measures are not brought to the pages."""

from collections.abc import Iterator

from winnow.pipelines.preflight.check import Check, WholeRecipe
from winnow.pipelines.reading.item_lists import fact_of
from winnow.schemas.rows.interleaved import LAYER


def _unseen_facts(about: WholeRecipe) -> Iterator[str]:
    """A note on the measures that rules of items read, and pages lack."""
    recipe = about.recipe
    entry = next((one.entry for one in recipe.measurements if one.entry.layer == LAYER), None)
    if entry is None:
        return
    of_pictures = [name for name in sorted(recipe.rules.item_lists) if name.startswith("image.")]
    lacking = [name for name in of_pictures if fact_of(name) not in recipe.columns]
    if lacking:
        yield (
            f"{entry.place}: rules of items read {', '.join(lacking)}, which the pictures that pages show do not have; "
            f"to judge these too: {LAYER}: {{facts: [{', '.join(lacking)}]}}"
        )


CHECKS = (Check("facts-of-documents", WholeRecipe, _unseen_facts, "annotate", order=6),)
"""After the rules, which it reads."""
