"""A mixture's plan and draw in the store: found by their request's key, or made."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path

from winnow.pipelines.binding.bound_recipe import BoundRecipe
from winnow.pipelines.binding.mixture import require_mix
from winnow.pipelines.binding.rule_presets import expand_presets
from winnow.pipelines.binding.tokens import TOKENS_LAYER
from winnow.pipelines.mix.drawing import draw_shard, plan_validation, put_draw
from winnow.pipelines.mix.drawn_objects import DrawnObject, DrawnObjects
from winnow.pipelines.mix.draws import Draw, DrawnShards
from winnow.pipelines.mix.inventory import Inventory, take_inventory
from winnow.pipelines.mix.scratch import Scratch
from winnow.pipelines.mix.splitting import WHERE, amount_without_stage, split
from winnow.pipelines.mix.stage_plans import LONG, PlannedStage, plan_stages
from winnow.pipelines.rules.pinning import PinnedProgram
from winnow.pipelines.rules.summary import RulesSummary
from winnow.pipelines.running.job_tasks import HERE, Jobs
from winnow.pipelines.store import layout
from winnow.pipelines.store.generations import Store
from winnow.pipelines.store.hiding.scans import load_hiding
from winnow.pipelines.store.integrity.sealed import find_record, put_record_if_absent, read_record
from winnow.schemas.errors import RecipeError
from winnow.schemas.identity import Json, fingerprint_of
from winnow.schemas.law import ScalingLaw
from winnow.schemas.mixture import SCHEMA, MixturePlan
from winnow.schemas.recipe import FamilyLevel, LossAlarms, Recipe, resolved_yaml, settings_of
from winnow.schemas.records import Generation
from winnow.schemas.rows.duplicates import layer_of_kind

WHOLE = Fraction(1)
"""The share of a plan that is drawn unless another one is asked for."""


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
        "thresholds": [one.to_json() for one in recipe.rules.tables],  # the file may have changed
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
        notes=_language_notes(inventory),
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


def put_plan(store: Store, planned: NewPlan) -> PlanRecord:
    """Publish a plan's draw, and then the plan."""
    inventory, plan = planned.inventory, planned.plan
    held_out = len(plan.outputs) > len(planned.stages)

    def put(number: int) -> DrawnObject | None:
        drawn, shard = draw_shard(inventory, number, planned.stages, held_out), inventory.shards[number]
        if not drawn.num_rows:
            return None
        return DrawnObject(shard.shard, shard.source, put_draw(store, plan.request, shard.shard, drawn), drawn.num_rows)

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
    Alarms decide nothing.
    """
    config = require_mix(recipe)
    return replace(
        recipe,
        store=replace(recipe.store, path="store"),
        sources=tuple(replace(source, root="root") for source in recipe.sources),
        loss_alarms=LossAlarms(),
        thresholds=tuple(replace(one, file=None if one.file is None else "file") for one in recipe.thresholds),
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
