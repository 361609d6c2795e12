"""`winnow gc`: delete what the latest generations do not use."""

import argparse
from typing import TYPE_CHECKING

from winnow.runners.commands.command import Command
from winnow.runners.commands.parser import engine_arguments, place_argument
from winnow.runners.stages.opening import open_console, open_jobs, open_place
from winnow.schemas.counts import count_of
from winnow.schemas.errors import WinnowError

if TYPE_CHECKING:
    from winnow.pipelines.binding.bound_recipe import BoundRecipe
    from winnow.pipelines.store.gc import Collected
    from winnow.pipelines.store.generations import Store


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    place_argument(parser)
    parser.add_argument("--keep", type=int, default=2, metavar="K", help="generations to keep (default: %(default)s)")
    parser.add_argument("--purge", action="store_true", help="remove the content of forgotten rows from all files")
    parser.add_argument(
        "--gone", action="store_true", help="also delete records of exports and other outputs that no longer exist"
    )
    engine_arguments(parser)
    parser.add_argument("--dry-run", action="store_true", help="show what would be deleted; delete nothing")


def run(options: argparse.Namespace) -> int:
    """Collect garbage, after a purge if one is requested or unfinished."""
    from winnow.pipelines.forgetting.outputs import drop_missing, lost_generation, restore_records
    from winnow.pipelines.store import layout
    from winnow.pipelines.store.gc import collect_garbage
    from winnow.pipelines.store.leases.command_lease import writing_lease

    if options.keep < 1:
        raise WinnowError(f"--keep {options.keep}: the latest generation is always kept; expected 1 or more")
    recipe, store = open_place(options.place)
    word = "would drop" if options.dry_run else "dropped"
    for output in drop_missing(store.objects, dry_run=options.dry_run) if options.gone else ():
        open_console().print(f"{word} the record of {output.kind} {output.path}")
    if (lost := lost_generation(store)) is not None:  # what only it names would go
        raise lost
    if options.purge:
        collected = _purge(options, recipe, store)
    else:
        with writing_lease(store.objects):
            unfinished = store.objects.exists(layout.PURGE)
            if unfinished and options.dry_run:
                word = "would also finish the interrupted purge, whose deletions are not counted here"
                open_console().print(word)
            elif unfinished:
                from winnow.pipelines.forgetting.purging import finish_purge  # loads Beam

                finish_purge(store, open_jobs(options, store, "gc"))
                _write_report_again(recipe, store)
            collected = collect_garbage(store, options.keep, dry_run=options.dry_run)
    if not options.dry_run:
        for path in restore_records(store.objects):
            open_console().print(f"{path} was lost: written again from its copy")
    if options.purge and options.dry_run:
        return 0
    open_console().print(
        f"{word} {count_of(collected.generations, 'generation')}, {count_of(collected.objects, 'object')}, "
        f"{count_of(collected.commits, 'commit')} ({collected.bytes:,} bytes) and "
        f"{count_of(collected.unfinished, 'unfinished file')}",
    )
    return 0


def _purge(options: argparse.Namespace, recipe: "BoundRecipe | None", store: "Store") -> "Collected":
    """Remove the content of forgotten rows."""
    from winnow.runners.stages.forgetting import run_purge
    from winnow.schemas.rows.duplicates import DUPLICATES, layer_of_kind

    before = store.latest_record()
    done = run_purge(store, options.keep, open_jobs(options, store, "gc"), open_console(), dry_run=options.dry_run)
    if not options.dry_run:
        _write_report_again(recipe, store)
    lost = bool(done.rows) and before is not None and any(layer.startswith(DUPLICATES) for layer in before.layers)
    if recipe is not None and not options.dry_run:  # also where the purge that dropped them was killed
        latest = store.latest_record()
        lost = latest is not None and any(layer_of_kind(kind) not in latest.layers for kind in recipe.kinds)
    if lost:
        again = f"winnow dedupe {'RECIPE' if recipe is None else recipe.file}"
        why = "duplicates must be searched again before plan, mix and export"
        open_console().print(f"{'next':<14}{again}: {why}")
    return done.collected


def _write_report_again(recipe: "BoundRecipe | None", store: "Store") -> None:
    """Write the report that this purge has removed, or one before it that was killed."""
    from winnow.pipelines.store import layout
    from winnow.pipelines.store.hiding.scans import load_tombstones
    from winnow.runners.stages.reports.writing import write_report

    if store.latest_record() is None or store.objects.exists(layout.REPORT) or not load_tombstones(store.objects):
        return
    write_report(store, None, recipe)
    open_console().print("report        rewritten")


COMMAND = Command("delete what the latest generations do not use", arguments, run, place=2, beam=True)
