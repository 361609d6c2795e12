"""`winnow annotate`: measure the ingested samples with the recipe's operators."""

import argparse

from winnow.runners.commands.command import Command
from winnow.runners.commands.parser import engine_arguments, recipe_argument, slice_argument
from winnow.runners.stages.opening import begin, open_engine, ready_recipe
from winnow.schemas.errors import WinnowError


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    recipe_argument(parser)
    engine_arguments(parser)
    slice_argument(parser)


def run(options: argparse.Namespace) -> int:
    """Measure every shard, or a slice of them."""
    console = begin("annotate", options.recipe)
    from winnow.runners.facts.store import print_layers
    from winnow.runners.stages.reports.summarise import summarise
    from winnow.runners.stages.rule_decisions import decisions_if_any
    from winnow.runners.stages.slices import annotate_slice, parse_slice
    from winnow.runners.stages.store_stages import annotate
    from winnow.runners.terminal.tables import print_line

    recipe = ready_recipe(options.recipe, "annotate")
    if not recipe.config.annotate:
        raise WinnowError(
            f"{options.recipe}: nothing to annotate; list operators under 'annotate' (see winnow operators)"
        )
    if options.tasks is not None:
        done = annotate_slice(recipe, parse_slice(options.tasks), open_engine(options), console)
        print_line(console, done.line(recipe))
        return 0
    engine = open_engine(options)
    outcome = annotate(recipe, engine, console)
    if outcome.new:
        decisions_if_any(recipe, outcome.store, outcome.generation, engine, console)  # kept for commands that read
    print_layers(summarise(outcome.store, outcome.generation, recipe, engine, console), console)
    return 0


COMMAND = Command("measure the ingested samples with the recipe's operators", arguments, run, place=5, beam=True)
