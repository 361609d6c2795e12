"""`winnow ingest`: read the sources into the store, and extract their text."""

import argparse

from winnow.runners.commands.command import Command
from winnow.runners.commands.parser import engine_arguments, recipe_argument, slice_argument
from winnow.runners.stages.opening import begin, open_engine, ready_recipe


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    recipe_argument(parser)
    engine_arguments(parser)
    parser.add_argument(
        "--replace", action="store_true", help="ingest changed source files again and replace their old records"
    )
    slice_argument(parser)


def run(options: argparse.Namespace) -> int:
    """Ingest all of the sources, or a slice of their tasks."""
    console = begin("ingest", options.recipe)
    from winnow.runners.facts.store import print_summary
    from winnow.runners.stages.reports.summarise import summarise
    from winnow.runners.stages.rule_decisions import decisions_if_any
    from winnow.runners.stages.slices import ingest_slice, parse_slice
    from winnow.runners.stages.store_stages import ingest
    from winnow.runners.terminal.tables import print_line

    recipe = ready_recipe(options.recipe, "ingest")
    if options.tasks is not None:
        part = parse_slice(options.tasks)
        done = ingest_slice(recipe, part, open_engine(options), console, replace_files=options.replace)
        print_line(console, done.line(recipe))
        return 0
    engine = open_engine(options)
    outcome = ingest(recipe, engine, console, replace=options.replace)
    if outcome.new:
        decisions_if_any(recipe, outcome.store, outcome.generation, engine, console)  # kept for commands that read
    print_summary(summarise(outcome.store, outcome.generation, recipe, engine, console), console)
    return 0


COMMAND = Command("read the sources into the store, and extract their text", arguments, run, place=4, beam=True)
