"""A mixture's plan and draw in the store: found by the key of their request, or made. A draw moves no data."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from winnow.filters.language.identification.own.score_thresholds import confusable
from winnow.pipelines.binding.bound_recipe import BoundRecipe
from winnow.pipelines.binding.mixture import BoundMix, family_of, require_mix
from winnow.pipelines.binding.rule_presets import expand_presets
from winnow.pipelines.binding.tokens import TOKENS_LAYER
from winnow.pipelines.mix.draw_shards import PutDraws
from winnow.pipelines.mix.drawn_objects import DrawnObject, DrawnObjects
from winnow.pipelines.mix.draws import Draw, DrawnShards
from winnow.pipelines.mix.inventory import Inventory, take_inventory
from winnow.pipelines.mix.laws import Laws
from winnow.pipelines.mix.passes import table_of
from winnow.pipelines.mix.splitting import split
from winnow.pipelines.mix.stage_passes import NO_STRATUM, OUTSIDE, TOO_LONG, HeldByCell, InNoOutput, Strata
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
from winnow.schemas.languages.counts import LANGUAGE_LAYER
from winnow.schemas.mixture import SCHEMA, VALIDATION, Amount, MixturePlan, PlannedOutput, PlannedStratum, Stratum
from winnow.schemas.recipe import FamilyLevel, FetchConfig, LossAlarms, Recipe, resolved_yaml, settings_of
from winnow.schemas.records import Generation
from winnow.schemas.rows.duplicates import layer_of_kind

WHOLE = Fraction(1)
"""The share of a plan that is drawn unless another one is asked for."""

WHERE = "where"
"""The reason for candidates in no output: no stage may take them."""

_SHOWN_PAIRS = 6


@dataclass(frozen=True, slots=True)
class PlanRecord:
    """`plans/<request>/plan.json`: a plan whose draw is complete."""

    plan: MixturePlan
    draws: str  # the table that lists the draw of each shard


@dataclass(frozen=True)
class NewPlan:
    """A new plan, with everything that its draw needs."""

    plan: MixturePlan
    rules: RulesSummary
    stages: tuple[PlannedStage, ...]
    inventory: Inventory
    held: Strata  # the stratum of each cell's held-out candidates


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


@contextmanager
def planned_mixture(
    recipe: BoundRecipe,
    pinned: PinnedProgram,
    generation: Generation,
    laws: Laws,
    sample: Fraction,
    jobs: Jobs = HERE,
) -> Iterator[NewPlan]:
    """Plan a recipe's mixture, without changing the store; its draw is made while the context lasts.

    `pinned`: its rules, with every layer that the mixture reads; `laws`: the scaling laws that the stages name;
    `sample`: the share of the mixture to draw; `jobs`: where tasks run.
    """
    bound, layer = recipe.mixture, recipe.tokens
    with ExitStack() as opened:
        inventory = take_inventory(recipe, bound, pinned, generation.number, jobs, opened)
        notes = split(inventory, bound.config.split)
        validation, held = plan_validation(inventory, bound, notes)
        stages = tuple(plan_stages(inventory, bound, laws.laws, sample))
        outputs = tuple(stage.output for stage in stages)
        left_out = {**inventory.left_out, **_in_no_output(inventory, stages)}
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
        yield NewPlan(plan, inventory.rules, stages, inventory, held)


def _in_no_output(inventory: Inventory, stages: Sequence[PlannedStage]) -> dict[str, Amount]:
    """Return the candidates that no output may take, by reason."""
    longest = np.array([stage.longest for stage in stages], np.int64)
    found = inventory.passes.run(InNoOutput(given={"longest": longest}))
    samples, units = table_of(found, 2, "rows", "units")
    amounts = {WHERE: OUTSIDE, LONG: TOO_LONG}
    return {name: Amount(int(samples[at]), int(units[at])) for name, at in amounts.items() if samples[at]}


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
    inventory, plan, stages = planned.inventory, planned.plan, planned.stages
    given: dict[str, NDArray[Any]] = {"held": planned.held}
    for number, stage in enumerate(stages):
        given |= {f"{number}.number": stage.strata, **stage.limit.arrays(str(number))}
    drawing = PutDraws(
        given=given,
        objects=store.objects,
        request=plan.request,
        shards=inventory.shards,
        stages=len(stages),
        held_out=len(plan.outputs) > len(stages),
    )
    drawn = inventory.passes.run(drawing)
    lines = zip(*(drawn[name].tolist() for name in ("shard", "source", "object", "rows")), strict=True)
    record = PlanRecord(plan, DrawnObjects.of(DrawnObject(*line) for line in lines).put(store.objects, plan.request))
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
    Alarms decide nothing, and neither does how rows travel, or how their files were fetched.
    """
    config = require_mix(recipe)
    return replace(
        recipe,
        store=replace(recipe.store, path="store"),
        sources=tuple(replace(source, root="root", commoncrawl=None, addresses=None) for source in recipe.sources),
        fetch=FetchConfig(),
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


def plan_validation(inventory: Inventory, bound: BoundMix, notes: Sequence[str]) -> tuple[PlannedOutput | None, Strata]:
    """Return the held-out samples as an output, each once (None if the recipe holds nothing out), and the stratum of
    each cell's."""
    config = bound.config
    number = np.full(len(inventory.cells), NO_STRATUM, np.uint32)
    if not config.split.validation and not config.split.min_samples:
        return None, number
    families = family_of(config.outputs[0], [cell.language for cell in inventory.cells])
    of_cell = [
        Stratum(cell.source_class, cell.source, family, cell.language)
        for cell, family in zip(inventory.cells, families, strict=True)
    ]
    samples, units = table_of(inventory.passes.run(HeldByCell()), len(of_cell), "rows", "units")
    order = sorted(np.flatnonzero(samples).tolist(), key=lambda cell: of_cell[cell])
    number[order] = np.arange(len(order), dtype=np.uint32)
    strata = []
    for cell in order:
        amount = Amount(int(samples[cell]), int(units[cell]))
        strata.append(PlannedStratum(of_cell[cell], amount, 0, amount.units, amount.units, amount, amount, 1, -1))
    return PlannedOutput(VALIDATION, int(units.sum()), tuple(strata), tuple(notes)), number
