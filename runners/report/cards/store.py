"""`winnow card`: a dataset card in Markdown for the kept samples: sources, languages, detector coverage.

The numbers are those of `winnow plan` on the same generation. Nothing on the card depends on when or where it was made.
"""

from winnow.pipelines.binding.bound_recipe import BoundRecipe
from winnow.pipelines.store.generations import Store
from winnow.runners.report.cards.parts import dropped, front_matter, languages, overview, safety, sources
from winnow.runners.report.summarise import summarise
from winnow.runners.terminal.rules import coverage_counter, decided, pinned_rules, require_accepted
from winnow.schemas.errors import WinnowError


def card(recipe: BoundRecipe, store: Store) -> str:
    """The card of the latest generation.

    Raises:
        RecipeError: A rule cannot be decided, or needs a column that is not measured yet.
    """
    generation = store.require_latest()
    pinned = pinned_rules(recipe, store, generation)
    if pinned is None:
        raise WinnowError(f"{recipe.file}: a card describes what the rules keep; add rules under 'eligible' or 'keep'")
    counter = coverage_counter(recipe, pinned, generation)
    rules = decided(pinned, generation.number, coverage=counter)
    require_accepted(recipe, rules)
    summary = summarise(store, generation, recipe)
    parts = [
        front_matter(summary, rules),
        overview(summary, rules, recipe),
        sources(summary, rules),
        languages(rules),
        dropped(rules, recipe),
        safety(None if counter is None else counter.coverage()),
    ]
    return "\n".join(parts)
