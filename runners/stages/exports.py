"""`winnow export`: from a recipe to finished folders, each with its card."""

import argparse
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from functools import cache
from pathlib import Path

import orjson
import pyarrow as pa
import pyarrow.compute as pc
from rich.console import Console

from winnow.pipelines.binding.bound_recipe import BoundRecipe, bind
from winnow.pipelines.export.planning.id_list import write_id_list
from winnow.pipelines.export.stage import BoundExport, Closing, Finished, Written
from winnow.pipelines.forgetting.outputs import EXPORT, register
from winnow.pipelines.media.references import media_sources
from winnow.pipelines.mix.plans import draw_of
from winnow.pipelines.store.tables import read_batches
from winnow.runners.engines.engine import Engine, named_engine
from winnow.runners.engines.names import parse_workers
from winnow.runners.estimating.recording import record_export
from winnow.runners.report.cards.mixture import card_of, gather_facts
from winnow.runners.stages.exporting import export_draw
from winnow.runners.stages.mixing import WHOLE, Mixed, mix, parse_sample
from winnow.runners.stages.stage_run import Clock, StageRun
from winnow.runners.stages.verifying import print_verified, verify_exports
from winnow.runners.terminal.escaping import visible
from winnow.runners.terminal.quantities import byte_size, grouped
from winnow.runners.terminal.rules import require_writable
from winnow.schemas.errors import RecipeError, WinnowError
from winnow.schemas.identity import Json
from winnow.schemas.mixture import VALIDATION
from winnow.schemas.recipe import load_recipe

NOT_NUMPY = frozenset({".txt", ".csv", ".tsv", ".json", ".jsonl", ".parquet"})
"""File endings that would be wrong for a list of ids."""


@dataclass(frozen=True)
class Exported:
    """The finished exports, new and old."""

    mixed: Mixed
    finished: tuple[Finished, ...]


def export(
    recipe: BoundRecipe,
    engine: Engine,
    console: Console,
    sample: Fraction = WHOLE,
    *,
    replace: bool = False,
) -> Exported:
    """Plan and draw a recipe's mixture if necessary, and write all its exports.

    Args:
        recipe: The recipe.
        engine: The engine.
        console: Where progress is printed.
        sample: The share of the plan that is exported.
        replace: Replace exports of other plans, and those that are damaged or lack samples.
    """
    exports = require_exports(recipe)
    edits = recipe.edits
    mixed = mix(recipe, engine, console, sample)
    draw = draw_of(recipe, mixed.store, mixed.generation, mixed.record)
    run = StageRun(console, engine, mixed.store)

    @cache
    def card() -> Closing:
        return card_of(gather_facts(recipe, mixed.store, mixed.generation))

    def prepare(owed: BoundExport) -> None:
        # Registered before anything is written, so that forgetting also finds unfinished exports.
        register(mixed.store.objects, EXPORT, owed.path, mixed.generation.number)

    def closing(written: Written) -> Mapping[str, bytes]:
        return card()(written)

    clock = Clock(run.engine)
    finished = export_draw(
        run,
        draw,
        recipe.config.text,
        edits,
        exports,
        media=media_sources(recipe.config),
        prepare=prepare,
        closing=closing,
        replace=replace,
    )
    made = [one for one in finished if one.new]
    written: dict[str, int] = {}
    for one in made:
        name = one.manifest.format
        written[name] = written.get(name, 0) + sum(file.bytes for file in one.manifest.files)
    record_export(run, mixed.generation, written, sum(len(one.manifest.files) for one in made), clock.ran(()))
    for one in finished:
        register(mixed.store.objects, EXPORT, one.export.path, mixed.generation.number)
    return Exported(mixed, tuple(finished))


def require_exports(recipe: BoundRecipe) -> tuple[BoundExport, ...]:
    """The recipe's exports; raises an error if there are none."""
    _require_some(recipe)
    return recipe.exports


def _require_some(recipe: BoundRecipe) -> None:
    if not recipe.config.export:
        raise RecipeError(f"{recipe.file}: has no export; add one, such as export: [{{parquet: {{path: out/hf}}}}]")


def run_export(options: argparse.Namespace, console: Console) -> int:
    """`winnow export`."""
    recipe = bind(load_recipe(options.recipe))
    sample = parse_sample(options.sample)
    if options.verify:
        return _verify(recipe, sample, options, console)
    engine = named_engine(options.runner, parse_workers(options.workers), options.beam)
    quiet = Console(stderr=True, quiet=True) if options.json else console
    if options.id_list is not None:
        listed = _id_list(recipe, engine, quiet, sample, Path(options.id_list))
        if options.json:
            sys.stdout.write(orjson.dumps(listed).decode() + "\n")
        return 0
    done = export(recipe, engine, quiet, sample, replace=options.replace)
    if options.json:
        sys.stdout.write(orjson.dumps(_json(done)).decode() + "\n")
    else:
        print_exports(done.finished, console)
    return 0


def _verify(recipe: BoundRecipe, sample: Fraction, options: argparse.Namespace, console: Console) -> int:
    """Verify existing exports without writing."""
    if options.replace:
        raise WinnowError(
            "--verify and --replace cannot be combined: both verify existing exports, but --verify writes nothing"
        )
    if options.id_list is not None:
        raise WinnowError("--verify and --id-list cannot be combined, as --verify writes nothing")
    _require_some(recipe)
    found = verify_exports(recipe, sample)
    if not options.json:
        return 0 if print_verified(found, console) else 1
    sys.stdout.write(orjson.dumps({"exports": [one.to_json() for one in found]}).decode() + "\n")
    return 0 if all(not one.wrong for one in found) else 1


def print_exports(finished: Sequence[Finished], console: Console) -> None:
    """Print one line per export."""
    for one in finished:
        manifest = one.manifest
        size = sum(file.bytes for file in manifest.files)
        counts = ", ".join(f"{name} {_samples(output)}" for name, output in manifest.outputs.items())
        console.print(
            f"{manifest.format:<12}{one.export.path}: {counts}; {grouped(len(manifest.files))} files, "
            f"{byte_size(size)}; plan {manifest.plan}",
            markup=False,
            soft_wrap=True,
        )
        for lost in manifest.left_out:
            console.print(
                f"note    {one.export.path}: {grouped(lost.samples)} samples left out: {lost.reason}, "
                f"{visible(lost.file)} ({lost.detail})",
                markup=False,
                soft_wrap=True,
            )


def _samples(output: Mapping[str, Json]) -> str:
    found = output["samples"]
    assert isinstance(found, int)
    return f"{grouped(found)} samples"


def _id_list(recipe: BoundRecipe, engine: Engine, console: Console, sample: Fraction, file: Path) -> dict[str, Json]:
    require_writable("--id-list", file)
    if file.suffix.lower() in NOT_NUMPY:
        raise WinnowError(
            f"--id-list {file}: the list is a numpy file, not {file.suffix}; give a name that ends in .npy, and read "
            f"it with numpy.load"
        )
    mixed = mix(recipe, engine, console, sample)
    stages = [number for number, output in enumerate(mixed.record.plan.outputs) if output.name != VALIDATION]
    try:
        count = write_id_list(_ids(mixed, stages), file)
    except OSError as error:
        raise WinnowError(f"--id-list {file}: cannot be written: {error.strerror or error}") from None
    console.print(
        f"id list {file}: {grouped(count)} samples; plan {mixed.record.plan.name}", markup=False, soft_wrap=True
    )
    return {"plan": mixed.record.plan.name, "file": str(file), "samples": count}


def _ids(mixed: Mixed, outputs: Sequence[int]) -> Iterator[pa.Array]:
    wanted = pa.array(outputs, pa.uint8())
    for one in mixed.record.draws:
        for batch in read_batches(mixed.store.objects, one.object, ["output", "id"]):
            yield batch["id"].filter(pc.is_in(batch["output"], wanted))


def _json(done: Exported) -> dict[str, Json]:
    return {
        "plan": done.mixed.record.plan.name,
        "exports": [
            {
                "format": one.manifest.format,
                "path": one.export.path,
                "new": one.new,
                "outputs": {name: dict(output) for name, output in one.manifest.outputs.items()},
                "files": len(one.manifest.files),
                "bytes": sum(file.bytes for file in one.manifest.files),
                "left_out": [asdict(lost) for lost in one.manifest.left_out],
                "notes": list(one.manifest.notes),
            }
            for one in done.finished
        ],
    }
