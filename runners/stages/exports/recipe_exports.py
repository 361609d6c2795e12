"""From a recipe to finished exports, each with its card, or to the list of the ids that they would hold."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
from rich.console import Console

from winnow.pipelines.binding.bound_recipe import BoundRecipe
from winnow.pipelines.export.planning.id_list import write_id_list
from winnow.pipelines.export.stage import BoundExport, Closing, Finished, Written, bind_exports
from winnow.pipelines.forgetting.outputs import EXPORT, lost_generation, register, register_finished
from winnow.pipelines.media.thumbnails import picture_source
from winnow.pipelines.mix.drawn_objects import DrawnObjects
from winnow.pipelines.mix.plans import WHOLE, draw_of
from winnow.pipelines.preflight.check import ExportFolders, preflight
from winnow.pipelines.query.recipe_rules import pinned_rules
from winnow.pipelines.store import layout
from winnow.pipelines.store.generations import Store
from winnow.pipelines.store.leases.command_lease import one_command
from winnow.pipelines.store.tables import read_batches
from winnow.runners.engines.engine import Engine
from winnow.runners.stages.exports.writing import export_draw
from winnow.runners.stages.lists.atlas import atlas_beside, write_exported_atlas
from winnow.runners.stages.mixing import Mixed, mix
from winnow.runners.stages.reached import Reached
from winnow.runners.stages.recording import record_export
from winnow.runners.stages.reports.mixture_card import card_of, gather_facts
from winnow.runners.stages.running.stage_run import Clock, StageRun
from winnow.schemas.errors import RecipeError, StoreError
from winnow.schemas.mixture import VALIDATION
from winnow.schemas.records import Generation


@dataclass(frozen=True)
class Exported:
    """The finished exports, new and old."""

    mixed: Mixed
    finished: tuple[Finished, ...]


@one_command()
def export(
    recipe: BoundRecipe,
    engine: Engine,
    console: Console,
    sample: Fraction | None = WHOLE,
    *,
    replace: bool = False,
    keep: bool = False,
    reached: Reached | None = None,
    all_notes: bool = False,
) -> Exported:
    """Plan and draw a recipe's mixture if necessary, and write all its exports.

    `sample`: the share of the plan that is exported; None for the one that is drawn. `replace`: replace exports of
    other plans, and those that are damaged or lack samples. `keep`: leave exports of other plans unchanged, and note
    it; else they are errors. `reached` records when the mixture and the exports begin. `all_notes`: print the notes on
    the scaling law in full.
    """
    reached = reached or Reached()
    reached.begin("mix")
    require_export_entries(recipe)
    exports = recipe.part(bind_exports)
    edits = recipe.edits
    preflight(ExportFolders(recipe=recipe, replace=replace, sample=sample))
    mixed = mix(recipe, engine, console, sample, all_notes=all_notes)
    reached.begin("export")
    if not replace and (lost := lost_generation(mixed.store)) is not None:  # the mixture would be one from before it
        raise lost
    also = [*(column.layer for column in recipe.captions), *(layer for one in exports for layer in one.layers)]
    require_current(recipe, mixed.store, mixed.generation, also)
    draw = draw_of(recipe, mixed.store, mixed.generation, mixed.record, also)
    run = StageRun(console, engine, mixed.store, recipe=recipe)
    run.warm(recipe.config)

    @cache
    def card() -> Closing:
        return card_of(gather_facts(recipe, mixed.store, mixed.generation, engine, console))

    def prepare(bound: BoundExport) -> None:
        # Registered before anything is written, so that forgetting also finds unfinished exports.
        if not register(mixed.store.objects, EXPORT, bound.path, mixed.generation.number):
            raise StoreError(
                f"{mixed.store.root}: {layout.OUTPUTS} cannot be written, so forgetting would not find {bound.path}; "
                "make it writable"
            )

    def closing(written: Written) -> Mapping[str, bytes]:
        return card()(written)

    clock = Clock(run.engine)
    finished = export_draw(
        run,
        draw,
        recipe.config.text,
        edits,
        exports,
        media=picture_source(recipe.config),
        captions=recipe.captions,
        prepare=prepare,
        closing=closing,
        replace=replace,
        keep=keep,
    )
    made = [one for one in finished if one.new]
    written: dict[str, int] = {}
    for one in made:
        name = one.manifest.format
        written[name] = written.get(name, 0) + sum(file.bytes for file in one.manifest.files)
    record_export(run, mixed.generation, written, sum(len(one.manifest.files) for one in made), clock.ran(()))
    for one in finished:
        register_finished(mixed.store.objects, EXPORT, one.export.path, mixed.generation.number)
        if (layer := one.export.atlas) and (one.new or not atlas_beside(one.export.path).exists()):
            write_exported_atlas(
                recipe, mixed.store, mixed.generation, mixed.record.draws, layer, one.export.path, console
            )
    return Exported(mixed, tuple(finished))


def require_current(recipe: BoundRecipe, store: Store, generation: Generation, layers: Sequence[str]) -> None:
    """Raise RecipeError unless these layers are as the recipe would measure them now.

    A layer that brings rows together, such as the pictures that pages show, has of a row that was forgotten since what
    it said before, until it is measured again.
    """
    if measured := [layer for layer in dict.fromkeys(layers) if layer != layout.SAMPLES]:
        pinned_rules(recipe, store, generation, measured)


def require_export_entries(recipe: BoundRecipe) -> None:
    """Raise an error if the recipe has no exports; binds none of them."""
    if not recipe.config.export:
        raise RecipeError(f"{recipe.file}: has no export; add one, such as export: [{{parquet: {{path: out/hf}}}}]")


def list_ids(mixed: Mixed, file: Path) -> int:
    """Write the ids of a mixture's training samples to a file; returns their number."""
    outputs = [number for number, output in enumerate(mixed.record.plan.outputs) if output.name != VALIDATION]
    wanted = pa.array(outputs, pa.uint8())
    batches = (
        batch
        for one in DrawnObjects.read(mixed.store.objects, mixed.record.draws)
        for batch in read_batches(mixed.store.objects, one.object, ["output", "id"])
    )
    return write_id_list((batch["id"].filter(pc.is_in(batch["output"], wanted)) for batch in batches), file)
