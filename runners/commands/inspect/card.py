"""`winnow card`: write a dataset card in Markdown for the kept samples: sources, languages, detector coverage.

The numbers are those of `winnow plan` on the same generation. Nothing on the card depends on when or where it was made.
"""

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from winnow.runners.commands.command import Command
from winnow.runners.commands.parser import recipe_argument
from winnow.runners.stages.opening import bound_recipe, open_console, store_of
from winnow.schemas.errors import WinnowError

if TYPE_CHECKING:
    from winnow.pipelines.binding.bound_recipe import BoundRecipe
    from winnow.pipelines.store.generations import Store


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    recipe_argument(parser)
    parser.add_argument("--output", metavar="FILE", help="file to write (default: stdout)")


def run(options: argparse.Namespace) -> int:
    """Write the card."""
    from winnow.runners.stages.lists.whole_file import require_writable

    recipe = bound_recipe(options.recipe)
    store = store_of(recipe)
    if options.output is None:
        sys.stdout.write(card(recipe, store))
        return 0
    target = Path(options.output)
    require_writable("--output", target)
    target.write_text(card(recipe, store), encoding="utf-8")
    open_console().print(f"card  {target}")
    return 0


def card(recipe: "BoundRecipe", store: "Store") -> str:
    """The card of the latest generation.

    Raises:
        RecipeError: A rule cannot be decided, or needs a column that is not measured yet.
    """
    from winnow.pipelines.preflight.check import DecidedRules, preflight
    from winnow.pipelines.query.generation import require_latest_for
    from winnow.pipelines.query.recipe_rules import pinned_rules
    from winnow.runners.facts.card_parts import dropped, front_matter, languages, overview, safety, sources
    from winnow.runners.stages.reports.summarise import summarise
    from winnow.runners.stages.rule_decisions import rule_decisions

    generation = require_latest_for(recipe, store)
    pinned = pinned_rules(recipe, store, generation)
    if pinned is None:
        raise WinnowError(f"{recipe.file}: a card describes what the rules keep; add rules under 'eligible' or 'keep'")
    found = rule_decisions(recipe, generation, pinned)
    rules = found.summary
    preflight(DecidedRules(recipe=recipe, last="dedupe", rules=rules))
    summary = summarise(store, generation, recipe)
    parts = [
        front_matter(summary.store, (one.language for one in rules.groups if one.kept.rows), rules.kept.rows),
        overview(summary, rules, recipe),
        sources(summary, rules),
        languages(rules),
        dropped(rules, recipe),
        safety(found.coverage),
    ]
    return "\n".join(parts)


COMMAND = Command(
    "write a dataset card in Markdown: kept samples and detector coverage", arguments, run, place=7, slow_start=True
)
