"""`winnow contamination`: which items of evaluation sets are in a store, for the terminal and as JSON."""

from dataclasses import asdict

from rich.console import Console

from winnow.filters.text.contamination import ContaminationConfig
from winnow.pipelines.binding.bound_recipe import BoundRecipe
from winnow.pipelines.query.evaluation_items import count_items
from winnow.pipelines.query.generation import require_latest_for
from winnow.pipelines.store.generations import Store
from winnow.runners.facts.contamination import alarms, items, sets, sources
from winnow.runners.terminal.tables import print_json, print_line, print_tables
from winnow.schemas.errors import WinnowError


def run_contamination(recipe: BoundRecipe | None, store: Store, console: Console, *, limit: int, as_json: bool) -> int:
    """Print what is found by each layer of `text.contamination`."""
    layers = [] if recipe is None else [one for one in recipe.operators if isinstance(one.config, ContaminationConfig)]
    if not layers:
        raise WinnowError("give a recipe that has text.contamination under 'annotate'")
    generation = require_latest_for(recipe, store)
    found = [count_items(store, generation, bound) for bound in layers]
    if as_json:
        print_json({one.layer: asdict(one) for one in found})
        return 0
    for one in found:
        print_tables(console, sets(one), sources(one), *(items(one, by.set, limit) for by in one.sets if by.found))
        for line in alarms(one):
            print_line(console, f"ALARM  {line}", "bold red")
    return 0
