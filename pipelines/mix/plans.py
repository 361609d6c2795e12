"""A mixture's plan and draw in the store: found by what was asked for, made where they are not there yet."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path

from winnow.pipelines.annotate.entries import wanted_kinds
from winnow.pipelines.mix.binding import bind_mix, require_mix
from winnow.pipelines.mix.drawing import draw_shard, plan_validation, put_draw
from winnow.pipelines.mix.drawn import Draw, DrawnShard
from winnow.pipelines.mix.inventory import Inventory, take_inventory
from winnow.pipelines.mix.scratch import Scratch
from winnow.pipelines.mix.splitting import split
from winnow.pipelines.mix.staging import PlannedStage, plan_stages
from winnow.pipelines.mix.tokens import TOKENS_LAYER, bind_tokens
from winnow.pipelines.rules.expansion import spelt_out
from winnow.pipelines.rules.pinning import PinnedProgram
from winnow.pipelines.rules.summary import RulesSummary
from winnow.pipelines.store import layout
from winnow.pipelines.store.generations import Store
from winnow.pipelines.store.hidden.hiding import load_hiding
from winnow.schemas.duplicates import layer_of_kind
from winnow.schemas.identity import Json, fingerprint_of
from winnow.schemas.law import ScalingLaw
from winnow.schemas.mixture import MixturePlan
from winnow.schemas.recipe import Recipe, resolved_yaml
from winnow.schemas.records import Generation, from_json, to_json


@dataclass(frozen=True, slots=True)
class DrawnObject:
    """The draw of one shard."""

    shard: str
    source: str
    object: str
    rows: int  # of the draw


@dataclass(frozen=True, slots=True)
class PlanRecord:
    """`plans/<request>/plan.json`: a plan whose whole draw is there."""

    plan: MixturePlan
    draws: tuple[DrawnObject, ...]  # of shards that give anything, by their names


@dataclass(frozen=True)
class Laws:
    """The scaling laws that a recipe's stages name, and their digests."""

    laws: Mapping[str, ScalingLaw]
    digests: Mapping[str, str]


@dataclass(frozen=True)
class Planned:
    """A plan that was made just now, with what it was made of."""

    plan: MixturePlan
    rules: RulesSummary
    stages: tuple[PlannedStage, ...]
    inventory: Inventory


def request_of(recipe: Recipe, store: Store, generation: Generation, laws: Laws, sample: Fraction) -> str:
    """What is asked for: a plan of the same request is the same plan."""
    tokens = bind_tokens(recipe)
    asked: Json = {
        "texts": None if tokens is None else tokens.settings,  # with a mark of each key of pseudonyms
        "recipe": resolved_yaml(spelt_out(_placeless(recipe))),
        "tree": generation.tree_hash,
        "laws": dict(sorted(laws.digests.items())),
        "forgotten": sorted(load_hiding(store.objects).tombstones),
        "sample": str(sample),
    }
    return fingerprint_of(asked)


def find_plan(store: Store, request: str) -> PlanRecord | None:
    """The plan of a request, if it was made."""
    path = layout.plan_record(request)
    try:
        raw = store.objects.read(path)
    except FileNotFoundError:
        return None
    return from_json(PlanRecord, raw, f"{store.root}/{path}")


def make_plan(
    recipe: Recipe,
    pinned: PinnedProgram,
    generation: Generation,
    laws: Laws,
    sample: Fraction,
    folder: Path,
) -> Planned:
    """Plan a recipe's mixture; the store is read and not changed.

    Args:
        recipe: Whose mixture.
        pinned: Its rules, with every layer that the mixture reads.
        generation: What is planned on.
        laws: The scaling laws that the stages name.
        sample: The share of the mixture that is drawn.
        folder: An empty folder for what is counted on the way.
    """
    bound, layer = bind_mix(recipe), bind_tokens(recipe)
    inventory = take_inventory(recipe, bound, pinned, generation.number, Scratch(folder))
    notes = split(inventory, bound.config.split)
    validation = plan_validation(inventory, bound, notes)
    stages = tuple(plan_stages(inventory, bound, laws.laws, sample))
    outputs = tuple(stage.output for stage in stages)
    plan = MixturePlan(
        store=pinned.store.record.name,
        seed=pinned.store.record.seed,
        tree_hash=generation.tree_hash,
        unit=bound.config.unit,
        tokenizer=None if layer is None else layer.bound.digest,
        max_epochs=bound.config.max_epochs,
        sample=str(sample),
        request=request_of(recipe, pinned.store, generation, laws, sample),
        kept=inventory.kept,
        left_out=inventory.left_out,
        outputs=outputs if validation is None else (*outputs, validation),
    )
    return Planned(plan, inventory.rules, stages, inventory)


def put_plan(store: Store, planned: Planned) -> PlanRecord:
    """Publish a plan's draw, and then the plan."""
    inventory, plan = planned.inventory, planned.plan
    held_out = len(plan.outputs) > len(planned.stages)
    draws = []
    for number, shard in enumerate(inventory.shards):
        drawn = draw_shard(inventory, number, planned.stages, held_out)
        if drawn.num_rows:
            path = put_draw(store, plan.request, shard.shard, drawn)
            draws.append(DrawnObject(shard.shard, shard.source, path, drawn.num_rows))
    record = PlanRecord(plan, tuple(draws))
    store.objects.put_if_absent(layout.plan_record(plan.request), to_json(record))
    return record


def draw_of(recipe: Recipe, store: Store, generation: Generation, record: PlanRecord) -> Draw:
    """A plan's draw, with every object that holds its texts and what they are edited by."""
    layer = bind_tokens(recipe)
    assert layer is not None  # a plan is of a mixture
    manifests = {
        name: {row.shard: row for row in store.manifest(generation, name)}
        for name in dict.fromkeys((layout.SAMPLES, *layer.reads))
    }
    return Draw(
        record.plan,
        tuple(
            DrawnShard(
                one.shard,
                one.source,
                one.object,
                {name: rows[one.shard].object for name, rows in manifests.items()},
                manifests[layout.SAMPLES][one.shard].rows,
            )
            for one in record.draws
        ),
    )


def layers_read(recipe: Recipe) -> tuple[str, ...]:
    """The layers that a mixture reads beside those of the rules."""
    bound = bind_mix(recipe)
    kinds = [layer_of_kind(kind) for kind in wanted_kinds(recipe)]
    return tuple(dict.fromkeys([TOKENS_LAYER, *kinds, *(column.layer for column in bound.columns)]))


def _placeless(recipe: Recipe) -> Recipe:
    """The recipe without what says only where things are."""
    require_mix(recipe)
    return replace(
        recipe,
        store=replace(recipe.store, path="store"),
        sources=tuple(replace(source, root="root") for source in recipe.sources),
        export=(),
    )
