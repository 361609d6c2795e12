"""`winnow export`: write the mixture in the recipe's formats."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from winnow.runners.commands.command import Command
from winnow.runners.commands.parser import engine_arguments, notes_argument
from winnow.runners.stages.opening import begin, bound_recipe, open_engine, ready_recipe
from winnow.schemas.errors import WinnowError

if TYPE_CHECKING:
    from fractions import Fraction

    from rich.console import Console

    from winnow.pipelines.binding.bound_recipe import BoundRecipe
    from winnow.runners.engines.engine import Engine
    from winnow.runners.stages.exports.recipe_exports import Exported
    from winnow.schemas.identity import Json

NOT_NUMPY = frozenset({".txt", ".csv", ".tsv", ".json", ".jsonl", ".parquet"})
"""File endings that would be wrong for a list of ids."""


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("recipe", metavar="RECIPE", help="a recipe file with a 'mix' and an 'export'")
    parser.add_argument(
        "--sample",
        metavar="SHARE",
        help="export this share of the plan, such as 1%% (default: the share that winnow mix has drawn, or all)",
    )
    parser.add_argument(
        "--replace",
        action="store_true",
        help="replace exports that belong to another plan, are damaged or lack samples, once the new ones are complete",
    )
    parser.add_argument(
        "--check",
        "--verify",
        dest="verify",
        action="store_true",
        help="write nothing; read the recipe's exports and check their files against the recorded hashes",
    )
    parser.add_argument(
        "--id-list",
        metavar="FILE",
        help="write only the ids of the training samples, as a .npy file: unique, sorted, two 64-bit numbers each",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of text")
    notes_argument(parser)
    engine_arguments(parser)


def run(options: argparse.Namespace) -> int:
    """Export, verify exports, or list the ids that would be exported."""
    console = begin("export", options.recipe, quiet=options.json)
    from winnow.runners.facts.exports import finished_exports, print_exports
    from winnow.runners.stages.exports.recipe_exports import export
    from winnow.runners.stages.mixing import parse_sample
    from winnow.runners.terminal.tables import print_json

    sample = None if options.sample is None else parse_sample(options.sample)
    if options.verify:
        return _verify(bound_recipe(options.recipe), sample, options, console)
    recipe = ready_recipe(console, options.recipe, "export" if options.id_list is None else "mix")
    engine = open_engine(options)
    if options.id_list is not None:
        listed = _list_ids(recipe, sample, engine, Path(options.id_list), console)
        if options.json:
            print_json(listed)
        return 0
    done = export(recipe, engine, console, sample, replace=options.replace, all_notes=options.notes)
    _refresh_report(recipe, engine, console, done)
    if options.json:
        told = finished_exports(done.finished).without("plan").to_json()
        print_json({"plan": done.mixed.record.plan.name, "exports": told})
    else:
        print_exports(done.finished, console)
    return 0


def _refresh_report(recipe: "BoundRecipe", engine: "Engine", console: "Console", done: "Exported") -> None:
    """Write the store's report again, if it has one, since it shows the recipe's exports."""
    from winnow.pipelines.store import layout
    from winnow.runners.stages.reports.writing import write_report

    store = done.mixed.store
    if not any(one.new for one in done.finished) or not store.objects.exists(layout.REPORT):
        return
    try:
        write_report(store, None, recipe, engine, console, plan=done.mixed.record.plan)
    except (WinnowError, OSError) as error:  # the exports are there
        problem = f"{str(error).splitlines()[0]}; to write it again: winnow report {recipe.file}"
        console.print(f"note    {store.root}/{layout.REPORT} shows the exports before: {problem}")


def _verify(recipe: "BoundRecipe", sample: "Fraction | None", options: argparse.Namespace, console: "Console") -> int:
    """Verify existing exports without writing."""
    from winnow.runners.stages.exports.recipe_exports import require_export_entries
    from winnow.runners.stages.exports.verifying import VERIFIED, print_verified, verify_exports
    from winnow.runners.tables.table import table
    from winnow.runners.terminal.tables import print_json

    if options.replace:
        raise WinnowError(
            "--verify and --replace cannot be combined: both verify existing exports, but --verify writes nothing"
        )
    if options.id_list is not None:
        raise WinnowError("--verify and --id-list cannot be combined, as --verify writes nothing")
    require_export_entries(recipe)
    found = verify_exports(recipe, sample)
    if not options.json:
        return 0 if print_verified(found, console) else 1
    print_json({"exports": table("", VERIFIED, found).to_json()})
    return 0 if all(not one.wrong for one in found) else 1


def _list_ids(
    recipe: "BoundRecipe", sample: "Fraction | None", engine: "Engine", file: Path, console: "Console"
) -> "dict[str, Json]":
    """Write the ids that would be exported."""
    from winnow.runners.stages.exports.recipe_exports import list_ids
    from winnow.runners.stages.lists.whole_file import require_writable
    from winnow.runners.stages.mixing import mix
    from winnow.schemas.counts import count_of

    require_writable("--id-list", file)
    if file.suffix.lower() in NOT_NUMPY:
        raise WinnowError(
            f"--id-list {file}: the list is a numpy file, not {file.suffix}; give a name that ends in .npy, and read "
            "it with numpy.load"
        )
    mixed = mix(recipe, engine, console, sample)
    plan = mixed.record.plan.name
    try:
        count = list_ids(mixed, file)
    except OSError as error:
        raise WinnowError(f"--id-list {file}: cannot be written: {error.strerror or error}") from None
    console.print(f"id list {file}: {count_of(count, 'sample')}; plan {plan}")
    return {"plan": plan, "file": str(file), "samples": count}


COMMAND = Command(
    "write the mixture in the recipe's formats; existing exports are left unchanged",
    arguments,
    run,
    place=11,
    beam=True,
)
