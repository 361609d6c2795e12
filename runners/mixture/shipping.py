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

from winnow.pipelines.edits import bind_edits
from winnow.pipelines.export.id_list import write_id_list
from winnow.pipelines.export.media import media_sources
from winnow.pipelines.export.stage import BoundExport, Closing, Finished, Written, bind_exports
from winnow.pipelines.forgetting.outputs import EXPORT, register
from winnow.pipelines.mix.plans import draw_of
from winnow.pipelines.store.tables import read_batches
from winnow.runners.cards.mixture import card_of, gather_facts
from winnow.runners.driving import StageRun
from winnow.runners.engines import Engine, named_engine, parse_workers
from winnow.runners.mixture.exporting import export_draw
from winnow.runners.mixture.planning import WHOLE, Mixed, mix, parse_sample
from winnow.runners.quantities import byte_size, grouped
from winnow.runners.rules import require_writable
from winnow.runners.visible import visible
from winnow.schemas.errors import RecipeError, WinnowError
from winnow.schemas.identity import Json
from winnow.schemas.mixture import VALIDATION
from winnow.schemas.recipe import Recipe, load_recipe


@dataclass(frozen=True)
class Exported:
    """What `winnow export` made, or found standing."""

    mixed: Mixed
    finished: tuple[Finished, ...]


def export(
    recipe: Recipe,
    engine: Engine,
    console: Console,
    sample: Fraction = WHOLE,
    *,
    replace: bool = False,
    verify: bool = False,
) -> Exported:
    """Plan and draw a recipe's mixture where that is not done, and write every export that it names.

    Args:
        recipe: Whose mixture.
        engine: Where it runs.
        console: Where progress goes.
        sample: The share of the plan that is exported.
        replace: Exports of other plans make room.
        verify: Exports that stand are read and compared with their hashes.
    """
    exports = require_exports(recipe)
    edits = bind_edits(recipe)
    mixed = mix(recipe, engine, console, sample)
    draw = draw_of(recipe, mixed.store, mixed.generation, mixed.record)
    run = StageRun(console, engine, mixed.store)

    @cache
    def card() -> Closing:
        return card_of(gather_facts(recipe, mixed.store, mixed.generation))

    def closing(written: Written) -> Mapping[str, bytes]:
        # Before it is shown: whatever becomes of the others, forgetting finds this one.
        register(mixed.store.objects, EXPORT, written.export.path, mixed.generation.number)
        return card()(written)

    finished = export_draw(
        run,
        draw,
        recipe.text,
        edits,
        exports,
        media=media_sources(recipe),
        closing=closing,
        replace=replace,
        verify=verify,
    )
    for one in finished:
        register(mixed.store.objects, EXPORT, one.export.path, mixed.generation.number)
    return Exported(mixed, tuple(finished))


def require_exports(recipe: Recipe) -> tuple[BoundExport, ...]:
    """The recipe's exports; a recipe without any is an error that says what to write."""
    if not recipe.export:
        raise RecipeError(f"{recipe.file}: names no export; write one, such as export: [{{parquet: {{path: out/hf}}}}]")
    return bind_exports(recipe)


def run_export(options: argparse.Namespace, console: Console) -> int:
    """`winnow export`."""
    recipe = load_recipe(options.recipe)
    sample = parse_sample(options.sample)
    engine = named_engine(options.runner, parse_workers(options.workers), options.beam)
    quiet = Console(stderr=True, quiet=True) if options.json else console
    if options.id_list is not None:
        listed = _id_list(recipe, engine, quiet, sample, Path(options.id_list))
        if options.json:
            sys.stdout.write(orjson.dumps(listed).decode() + "\n")
        return 0
    done = export(recipe, engine, quiet, sample, replace=options.replace, verify=options.verify)
    if options.json:
        sys.stdout.write(orjson.dumps(_json(done)).decode() + "\n")
    else:
        print_exports(done.finished, console)
    return 0


def print_exports(finished: Sequence[Finished], console: Console) -> None:
    """A line for each export."""
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


def _id_list(recipe: Recipe, engine: Engine, console: Console, sample: Fraction, file: Path) -> dict[str, Json]:
    require_writable("--id-list", file)
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
