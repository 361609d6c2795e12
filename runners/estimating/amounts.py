"""Estimates how much each stage of a recipe still has to read, shuffle and write, and the cost on each engine.

Uses file listings, the records of the latest generation, and samples of new files. Time follows from rows and bytes of
text; the sizes of objects that are not written yet follow from the rates. Work that is committed but not published
counts as remaining, except ingest tasks, whose commits are listed anyway.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from winnow.pipelines.binding.bound_recipe import BoundRecipe
from winnow.pipelines.binding.operators import BoundOperator, passes_of
from winnow.pipelines.binding.tokens import TOKENS_LAYER
from winnow.pipelines.dedupe.stage import GROUP_BYTES
from winnow.pipelines.forgetting.outputs import EXPORT, registered
from winnow.pipelines.ingest.planning.context import IngestContext
from winnow.pipelines.rules.pinning import expected_keys
from winnow.pipelines.running.job_tasks import OPENING_BYTES
from winnow.pipelines.store import layout
from winnow.pipelines.store.generations import Store
from winnow.runners.estimating.contents import Contents
from winnow.runners.estimating.rates import COMMAND, EngineRate, Rates, ingest_part
from winnow.runners.estimating.run_log import PartAmounts, RunRecord, add_part
from winnow.runners.estimating.scores import LayerSizes, PlannedScore, is_text
from winnow.schemas.records import Generation

HERE_SECONDS = 0.3  # that the command takes for what is small, whatever its size
COMMAND_SECONDS = 7.0  # of the command itself, whatever the rows


@dataclass(frozen=True, slots=True)
class StageEstimate:
    """The remaining work of one stage."""

    stage: str
    tasks: int
    read: int
    shuffled: int
    written: int
    work_seconds: float  # of one vCPU, without an engine
    is_here: bool = False  # done by the command itself, without an engine

    def vcpu_seconds(self, engine: EngineRate, workers: int) -> float:
        """vCPU-seconds on an engine, including the start of its workers; at most one worker per task."""
        if self.is_here:
            return self.work_seconds + HERE_SECONDS
        return self.work_seconds * engine.work + engine.start_seconds * min(workers, max(1, self.tasks))

    def seconds(self, engine: EngineRate, workers: int) -> float:
        """Wall-clock seconds with this many busy workers."""
        return self.vcpu_seconds(engine, workers) / (1 if self.is_here else min(workers, max(1, self.tasks)))


@dataclass(frozen=True)
class StoreBefore:
    """The state of the store before a run."""

    store: Store
    generation: Generation | None
    context: IngestContext
    tasks: Sequence[int]  # the bytes of each unfinished ingest task
    fresh: Contents  # what these will read
    held: Contents  # what is ingested


def estimate(
    recipe: BoundRecipe,
    before: StoreBefore,
    operators: Sequence[BoundOperator],
    scores: Sequence[PlannedScore],
    rates: Rates,
) -> list[StageEstimate]:
    """Estimate each stage that has remaining work, in the order of execution."""
    part = ingest_part(bound.extractor.name for bound in before.context.extractors)
    fresh_read = sum(before.tasks)
    fresh = round(fresh_read * rates.of(part).written)  # bytes of samples and texts that ingest will add
    layers = {} if before.generation is None else dict(before.generation.layers)
    held = sum(layers[name].bytes for name in layers if is_text(name))
    shards = layers[layout.SAMPLES].shards if layout.SAMPLES in layers else 0
    size = before.store.record.shard_bytes
    fresh_shards = sum(max(1, -(-round(one * rates.of(part).written) // size)) for one in before.tasks)
    keys = expected_keys(before.context, operators, before.store, before.generation)
    current = {
        name for name, entry in layers.items() if name not in keys or dict(entry.keys) == _of(keys[name], entry.keys)
    }

    def missing_bytes(layer: str) -> int:
        """The bytes of samples and texts that a layer still has to cover."""
        return fresh if layer in current else held + fresh

    everything = before.held + before.fresh

    def missing_contents(layer: str) -> Contents:
        """The rows and texts that a layer still has to cover."""
        return before.fresh if layer in current else everything

    opened = replace(before.fresh, text=max(before.fresh.text, fresh_read))  # pages hold more than text
    found = [_stage("ingest", len(before.tasks), {part: PartAmounts(fresh_read, 0, opened)}, rates, fresh_read)]
    for one_pass in passes_of(operators):
        parts: dict[str, PartAmounts] = {}
        for bound in one_pass.operators:
            add_part(parts, bound.operator.name, missing_bytes(bound.layer), 0, missing_contents(bound.layer))
        read = max(map(missing_bytes, (bound.layer for bound in one_pass.operators)), default=0)
        tasks = fresh_shards if read == fresh else shards + fresh_shards
        found.append(_stage(f"annotate.{one_pass.resource}", tasks, parts, rates, read))
    every = shards + fresh_shards
    anew = fresh > 0 or any(stage.read for stage in found)
    kinds = [one for one in recipe.searched.values() if anew or one.kind.layer not in layers]
    signed = {one.kind.layer: round((held + fresh) * rates.of(one.layer).written) for one in kinds}
    parts = {layer: PartAmounts(size, 0, everything) for layer, size in signed.items()}
    searched = _stage("dedupe", every, parts, rates, sum(signed.values()))
    objects = every * (1 + len(kinds)) * OPENING_BYTES
    found.append(replace(searched, is_here=held + fresh + searched.read + objects <= GROUP_BYTES))
    anew = anew or bool(kinds)
    made_by = {bound.layer: bound.operator.name for bound in operators}
    sizes = LayerSizes({name: layers[name].bytes for name in current}, made_by, held, fresh, rates)
    pending = [(one, read) for one in scores if (read := one.pending_bytes(sizes))]
    parts = {}
    for one, read in pending:
        covered = everything if one.covers_all(sizes) else before.fresh
        passes = one.bound.passes
        add_part(parts, one.part, read * passes, 0, covered * passes)  # a task can occur twice
    found.append(_stage("score", every * len(pending), parts, rates, sum(read for _, read in pending)))
    anew = anew or bool(pending)
    config = recipe.config
    if config.mix is not None and (anew or TOKENS_LAYER not in layers):
        found.append(_stage("mix", every, {"mix.tokens": PartAmounts(held + fresh, 0, everything)}, rates))
    made = {output.path for output in registered(before.store.objects) if output.kind == EXPORT} if not anew else set()
    exports = [one for one in config.export if config.located(one.path) not in made]
    if config.export and len(made) < len(config.export):
        parts = {f"export.{one.name}": PartAmounts(held + fresh, 0, everything) for one in exports}
        found.append(_stage("export", every * len(exports), parts, rates))
    found = [stage for stage in found if stage.read]
    command = StageEstimate(COMMAND, 0, 0, 0, 0, COMMAND_SECONDS + rates.of(COMMAND).seconds(everything), is_here=True)
    return [*found, command] if found else []


def estimate_of_run(record: RunRecord, rates: Rates) -> StageEstimate:
    """The estimate for a past run, from what it read."""
    return replace(_stage(record.stage, record.tasks, record.parts, rates, record.read), is_here=record.workers == 0)


def total(stages: Iterable[StageEstimate]) -> StageEstimate:
    """The sum of several stages."""
    held = list(stages)
    return StageEstimate(
        "total",
        sum(one.tasks for one in held),
        sum(one.read for one in held),
        sum(one.shuffled for one in held),
        sum(one.written for one in held),
        sum(one.work_seconds for one in held),
    )


def _stage(
    stage: str, tasks: int, parts: Mapping[str, PartAmounts], rates: Rates, read: int | None = None
) -> StageEstimate:
    """`read`: the bytes that all parts read together, if they do not read each their own."""
    known = [(rates.of(name), part) for name, part in parts.items()]
    return StageEstimate(
        stage=stage,
        tasks=tasks,
        read=sum(part.read for part in parts.values()) if read is None else read,
        shuffled=sum(round(part.read * rate.shuffled) for rate, part in known),
        written=sum(round(part.read * rate.written) for rate, part in known),
        work_seconds=sum(rate.seconds(part.contents) for rate, part in known),
    )


def _of(keys: Mapping[str, str], sources: Iterable[str]) -> dict[str, str]:
    return {source: keys[source] for source in sources if source in keys}
