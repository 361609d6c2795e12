"""A mixture's plan and draw in the store: found by the key of their request, or made. A draw moves no data."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from winnow.filters.language.identification.own.score_thresholds import confusable
from winnow.pipelines.binding.bound_recipe import BoundRecipe
from winnow.pipelines.binding.mixture import BoundMix, family_of, require_mix
from winnow.pipelines.binding.rule_presets import expand_presets
from winnow.pipelines.binding.tokens import TOKENS_LAYER
from winnow.pipelines.mix.candidates import DROPPED_ITEM, DROPPED_OF
from winnow.pipelines.mix.drawn_objects import DrawnObject, DrawnObjects
from winnow.pipelines.mix.draws import Draw, DrawnShards
from winnow.pipelines.mix.dropped_media import DroppedMedia
from winnow.pipelines.mix.inventory import Inventory, take_inventory
from winnow.pipelines.mix.scratch import Scratch
from winnow.pipelines.mix.splitting import HELD_OUT, WHERE, amount_without_stage, split
from winnow.pipelines.mix.stage_plans import LONG, NO_STRATUM, PlannedStage, first_column, mark_column, plan_stages
from winnow.pipelines.rules.pinning import PinnedProgram
from winnow.pipelines.rules.summary import RulesSummary
from winnow.pipelines.running.job_tasks import HERE, Jobs
from winnow.pipelines.store import layout
from winnow.pipelines.store.generations import Store
from winnow.pipelines.store.hiding.scans import load_hiding
from winnow.pipelines.store.integrity.sealed import find_record, put_record_if_absent, read_record
from winnow.pipelines.store.tables import put_table
from winnow.schemas.errors import RecipeError
from winnow.schemas.identity import Json, fingerprint_of
from winnow.schemas.languages.counts import LANGUAGE_LAYER
from winnow.schemas.law import ScalingLaw
from winnow.schemas.mixture import SCHEMA, VALIDATION, Amount, MixturePlan, PlannedOutput, PlannedStratum, Stratum
from winnow.schemas.recipe import FamilyLevel, LossAlarms, Recipe, resolved_yaml, settings_of
from winnow.schemas.records import Generation
from winnow.schemas.rows.draws import DRAW
from winnow.schemas.rows.duplicates import layer_of_kind
from winnow.schemas.uint128 import values_of

WHOLE = Fraction(1)
"""The share of a plan that is drawn unless another one is asked for."""

HELD_STRATUM = "held_stratum"
_SHOWN_PAIRS = 6


@dataclass(frozen=True, slots=True)
class PlanRecord:
    """`plans/<request>/plan.json`: a plan whose draw is complete."""

    plan: MixturePlan
    draws: str  # the table that lists the draw of each shard


@dataclass(frozen=True)
class Laws:
    """The scaling laws that a recipe's stages name, and their digests."""

    laws: Mapping[str, ScalingLaw]
    digests: Mapping[str, str]


@dataclass(frozen=True)
class NewPlan:
    """A new plan, with everything that its draw needs."""

    plan: MixturePlan
    rules: RulesSummary
    stages: tuple[PlannedStage, ...]
    inventory: Inventory


def request_key(recipe: BoundRecipe, store: Store, generation: Generation, laws: Laws, sample: Fraction) -> str:
    """Return the key of a request: equal requests give equal plans."""
    tokens = recipe.tokens
    request: Json = {
        "schema": SCHEMA,
        "texts": None if tokens is None else tokens.settings,  # includes a digest of each key of pseudonyms
        "recipe": resolved_yaml(expand_presets(_without_locations(recipe.config, laws.digests))),
        "thresholds": [table.to_json() for table in recipe.rules.tables],  # the file may have changed
        "tree": generation.tree_hash,
        "forgotten": sorted(load_hiding(store.objects).tombstones),
        "sample": str(sample),
    }
    return fingerprint_of(request)


def find_plan(store: Store, request: str) -> PlanRecord | None:
    """Return the plan of a request, if it exists."""
    return find_record(store.objects, PlanRecord, layout.plan_record(request))


def drawn_share(recipe: BoundRecipe, store: Store, generation: Generation, laws: Laws) -> Fraction:
    """Return the share of a recipe's plan that is drawn: all of it, unless only a part has been. RecipeError if several
    shares are drawn, but not the whole plan."""

    def request(share: Fraction) -> str:
        return request_key(recipe, store, generation, laws, share)

    if find_plan(store, request(WHOLE)) is not None:
        return WHOLE
    found = set[Fraction]()
    for info in store.objects.list(layout.PLANS):
        if layout.is_plan_record(info.path):
            plan = read_record(store.objects, PlanRecord, info.path).plan
            if plan.tree_hash == generation.tree_hash and plan.request == request(Fraction(plan.sample)):
                found.add(Fraction(plan.sample))
    if len(found) > 1:
        shares = " and ".join(map(str, sorted(found)))
        raise RecipeError(f"{recipe.file}: the shares {shares} of the plan are drawn; say which with --sample")
    return next(iter(found), WHOLE)


def drawn_plan(
    recipe: BoundRecipe, store: Store, generation: Generation, laws: Laws, share: Fraction | None = None
) -> PlanRecord | None:
    """Return the plan of which this share is drawn, by default the share that is, if there is one."""
    if share is None:
        share = drawn_share(recipe, store, generation, laws)
    return find_plan(store, request_key(recipe, store, generation, laws, share))


def make_plan(
    recipe: BoundRecipe,
    pinned: PinnedProgram,
    generation: Generation,
    laws: Laws,
    sample: Fraction,
    folder: Path,
    jobs: Jobs = HERE,
) -> NewPlan:
    """Plan a recipe's mixture, without changing the store.

    `pinned`: its rules, with every layer that the mixture reads; `laws`: the scaling laws that the stages name;
    `sample`: the share of the mixture to draw; `folder`: an empty folder for temporary files.
    """
    bound, layer = recipe.mixture, recipe.tokens
    inventory = take_inventory(recipe, bound, pinned, generation.number, Scratch(folder), jobs)
    notes = split(inventory, bound.config.split)
    validation = plan_validation(inventory, bound, notes)
    outside = amount_without_stage(inventory)
    stages = tuple(plan_stages(inventory, bound, laws.laws, sample))
    outputs = tuple(stage.output for stage in stages)
    of_stages = {WHERE: outside, LONG: amount_without_stage(inventory) - outside}
    left_out = {**inventory.left_out, **{reason: amount for reason, amount in of_stages.items() if amount.samples}}
    plan = MixturePlan(
        store=pinned.store.record.name,
        seed=pinned.store.record.seed,
        tree_hash=generation.tree_hash,
        unit=bound.config.unit,
        tokenizer=None if layer is None else layer.bound.digest,
        max_epochs=bound.config.max_epochs,
        sample=str(sample),
        request=request_key(recipe, pinned.store, generation, laws, sample),
        kept=inventory.kept,
        left_out=dict(sorted(left_out.items())),
        outputs=outputs if validation is None else (*outputs, validation),
        notes=(*_language_notes(inventory), *_confusable_notes(recipe, inventory)),
        asked=settings_of(expand_presets(_without_locations(recipe.config, laws.digests))),
    )
    return NewPlan(plan, inventory.rules, stages, inventory)


def _language_notes(inventory: Inventory) -> tuple[str, ...]:
    """Return a note on strata of samples in no known language."""
    kept = {one.language: 0 for one in inventory.rules.groups if one.language in inventory.rules.undetermined}
    for group in inventory.rules.groups:
        if group.language in kept:
            kept[group.language] += group.kept.rows
    named = ", ".join(f"{name} {rows:,}" for name, rows in sorted(kept.items()) if rows)
    return (f"strata of samples in no known language: {named}",) if named else ()


def _confusable_notes(recipe: BoundRecipe, inventory: Inventory) -> Iterator[str]:
    """Yield a note on languages of the mixture that winnow's own model takes for each other."""
    from winnow.filters.language.identification.named import OWN  # with fastText, which such a recipe has loaded

    if not any(one.layer == LANGUAGE_LAYER and one.config.model == OWN for one in recipe.operators):
        return
    found = confusable(group.language for group in inventory.rules.groups if group.kept.rows)
    named = ", ".join(f"{one} as {other} ({share:.0%})" for one, other, share in found[:_SHOWN_PAIRS])
    if named:
        more = f" and {len(found) - _SHOWN_PAIRS} more" if found[_SHOWN_PAIRS:] else ""
        yield f"languages that the model mixes up, with the share of held-out texts: {named}{more}"


def put_plan(store: Store, planned: NewPlan) -> PlanRecord:
    """Publish a plan's draw, and then the plan."""
    inventory, plan = planned.inventory, planned.plan
    held_out = len(plan.outputs) > len(planned.stages)

    def put(number: int) -> DrawnObject | None:
        drawn, shard = draw_shard(inventory, number, planned.stages, held_out), inventory.shards[number]
        if not drawn.num_rows:
            return None
        put = put_table(store.objects, drawn, lambda content: layout.draw_object(plan.request, shard.shard, content))
        return DrawnObject(shard.shard, shard.source, put.path, drawn.num_rows)

    draws = DrawnObjects.of(one for one in inventory.each(put) if one is not None)
    record = PlanRecord(plan, draws.put(store.objects, plan.request))
    put_record_if_absent(store.objects, layout.plan_record(plan.request), record)
    return record


def draw_of(
    recipe: BoundRecipe, store: Store, generation: Generation, record: PlanRecord, also: Iterable[str] = ()
) -> Draw:
    """Return a plan's draw, with the objects of its texts, of the spans of their edits, and of further layers."""
    layer = recipe.tokens
    assert layer is not None  # a plan is of a mixture
    manifests = {
        name: store.manifest(generation, name).by_shard for name in dict.fromkeys((layout.SAMPLES, *layer.reads, *also))
    }
    return Draw(record.plan, DrawnShards(DrawnObjects.read(store.objects, record.draws), manifests))


def layers_read(recipe: BoundRecipe) -> tuple[str, ...]:
    """Return the layers that a mixture reads in addition to those of the rules."""
    bound = recipe.mixture
    kinds = [layer_of_kind(kind) for kind in recipe.kinds]
    return tuple(dict.fromkeys([TOKENS_LAYER, *kinds, *(column.layer for column in bound.columns)]))


def _without_locations(recipe: Recipe, laws: Mapping[str, str]) -> Recipe:
    """Return the recipe without paths, and with the values of variables in place of their names.

    The request covers the content of files instead: threshold tables, and the digests of laws and of the tokenizer.
    Alarms decide nothing, and neither does how rows travel.
    """
    config = require_mix(recipe)
    return replace(
        recipe,
        store=replace(recipe.store, path="store"),
        sources=tuple(replace(source, root="root") for source in recipe.sources),
        loss_alarms=LossAlarms(),
        shuffle="auto",
        thresholds=tuple(
            replace(threshold, file=None if threshold.file is None else "file") for threshold in recipe.thresholds
        ),
        mix=replace(
            config,
            tokenizer=None if config.tokenizer is None else "tokenizer",
            families=_with_law_digest(config.families, laws),
            stages=tuple(
                replace(stage, families=None if stage.families is None else _with_law_digest(stage.families, laws))
                for stage in config.stages
            ),
        ),
        export=(),
        written=(),  # conditions count by the values of their variables, not by their names
    )


def _with_law_digest(families: FamilyLevel, laws: Mapping[str, str]) -> FamilyLevel:
    return families if families.law is None else replace(families, law=laws.get(families.law, ""))


def plan_validation(inventory: Inventory, bound: BoundMix, notes: Sequence[str]) -> PlannedOutput | None:
    """Return the held-out samples as an output, each once; None if the recipe holds nothing out."""
    config = bound.config
    if not config.split.validation and not config.split.min_samples:
        return None
    families = family_of(config.outputs[0], [cell.language for cell in inventory.cells])
    of_cell = [
        Stratum(cell.source_class, cell.source, family, cell.language)
        for cell, family in zip(inventory.cells, families, strict=True)
    ]
    counted = np.zeros((2, len(of_cell)), np.int64)
    for shard in range(len(inventory.shards)):
        held, units = inventory.scratch.columns(shard, (HELD_OUT, "units"))
        cell = inventory.cell(shard)[held]
        counted[0] += np.bincount(cell, minlength=len(of_cell))
        np.add.at(counted[1], cell, units[held])
    order = sorted(np.flatnonzero(counted[0]).tolist(), key=lambda cell: of_cell[cell])
    number = np.full(len(of_cell), NO_STRATUM, np.uint32)
    number[order] = np.arange(len(order), dtype=np.uint32)
    for shard in range(len(inventory.shards)):
        held = inventory.column(shard, HELD_OUT)
        inventory.scratch.save(shard, HELD_STRATUM, np.where(held, number[inventory.cell(shard)], NO_STRATUM))
    strata = []
    for cell in order:
        amount = Amount(int(counted[0, cell]), int(counted[1, cell]))
        strata.append(PlannedStratum(of_cell[cell], amount, 0, amount.units, amount.units, amount, amount, 1, -1))
    budget = int(counted[1].sum())
    return PlannedOutput(VALIDATION, budget, tuple(strata), tuple(notes))


def draw_shard(inventory: Inventory, shard: int, stages: Sequence[PlannedStage], held_out: bool) -> pa.Table:
    """Return the drawn rows of a shard, by output and row."""
    scratch = inventory.scratch
    row, high, low, units, size, draw = scratch.columns(shard, ("row", "high", "low", "units", "bytes", "draw"))
    outputs: list[dict[str, NDArray[Any]]] = []

    def add(output: int, chosen: NDArray[np.int64], stratum: Any, first: Any, copies: Any) -> None:
        outputs.append(
            {
                "output": np.full(len(chosen), output, np.uint8),
                "chosen": chosen,
                "stratum": stratum,
                "first": first,
                "copies": copies,
            }
        )

    for number, stage in enumerate(stages):
        raw, first = scratch.columns(shard, (mark_column(number), first_column(number)))
        marks = stage.strata[raw]
        takeable = np.flatnonzero(marks != NO_STRATUM)
        copies = stage.limit.copies(marks[takeable], first[takeable], draw[takeable])
        given = np.flatnonzero(copies)
        chosen = takeable[given]
        add(number, chosen, marks[chosen], first[chosen], copies[given])
    if held_out:
        marks = scratch.load(shard, HELD_STRATUM)
        chosen = np.flatnonzero(marks != NO_STRATUM)
        ones = np.ones(len(chosen), np.uint16)
        add(len(stages), chosen, marks[chosen], ones - 1, ones)
    dropped = DroppedMedia(*scratch.columns(shard, (DROPPED_OF, DROPPED_ITEM)))
    columns = {name: np.concatenate([one[name] for one in outputs]) for name in outputs[0]}
    chosen = columns["chosen"]
    return pa.Table.from_arrays(
        [
            pa.array(columns["output"]),
            pa.array(row[chosen]),
            values_of(high[chosen], low[chosen]),
            pa.array(columns["stratum"].astype(np.uint32)),
            pa.array(columns["first"].astype(np.uint16)),
            pa.array(columns["copies"].astype(np.uint16)),
            pa.array(units[chosen]),
            pa.array(size[chosen]),
            dropped.lists(chosen),
        ],
        schema=DRAW,
    )
