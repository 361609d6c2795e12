"""Writes each stage's record to the run log."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from winnow.pipelines.binding.operators import Pass
from winnow.pipelines.dedupe.search import Search
from winnow.pipelines.running.row_layers import PendingShards
from winnow.pipelines.store import layout
from winnow.pipelines.store.state import StoreState
from winnow.runners.estimating.contents import of_generation, of_shards
from winnow.runners.estimating.rates import ingest_part
from winnow.runners.estimating.run_log import PartAmounts, RunRecord, add_part, put_run
from winnow.schemas.records import Generation, TaskCommit
from winnow.schemas.rows.extraction import EXTRACTED

if TYPE_CHECKING:
    from winnow.runners.stages.running.stage_run import CompletedTasks, StageRun


def record_ingest(
    run: "StageRun",
    ran: "CompletedTasks",
    commits: Mapping[str, Iterable[TaskCommit]],
    state: StoreState,
) -> None:
    """Record an ingest: the input files of its tasks, and all objects written.

    `commits`: the tasks of each source; `state`: with their shards, and the layer of each extractor.
    """
    if not ran.names:
        return
    done = [task for found in commits.values() for task in found if task.task in ran.names]
    written = sum(shard.object.bytes for task in done for shard in task.shards)
    written += sum(ranges.bytes for task in done for ranges in (task.dropped, task.quarantine) if ranges)
    shards = {shard.shard for task in done for shard in task.shards}
    written += sum(row.bytes for rows in state.layers.values() for row in rows if row.shard in shards)
    read = sum(task.input_bytes for task in done)
    part = ingest_part(layer.removeprefix(EXTRACTED) for layer in state.layers)
    found = of_shards(run.store.objects, state.shards.where(row.shard in shards for row in state.shards), state.layers)
    opened = replace(found, text=max(found.text, read))  # as it is estimated
    _put(run, "ingest", ran, read, {part: PartAmounts(read, written, opened)})


def record_pass(
    run: "StageRun", state: StoreState, one_pass: Pass, pending: PendingShards, ran: "CompletedTasks"
) -> None:
    """Record a pass of operators: the objects read for each shard, and each operator's layer."""
    if not pending:
        return
    read = pending.bytes()
    whole = of_shards(run.store.objects, pending.samples, state.layers)
    parts: dict[str, PartAmounts] = {}
    for bound in one_pass.operators:
        lacking = zip(pending.samples, pending.lacking, strict=True)
        covered = whole.of_rows(sum(row.rows for row, missing in lacking if bound.layer in missing))
        written = _written(pending, bound.layer, state)
        add_part(parts, bound.operator.name, pending.bytes(bound.layer), written, covered)
    _put(run, f"annotate.{one_pass.resource}", ran, read, {name: part for name, part in parts.items() if part.read})


def record_rows(
    run: "StageRun",
    state: StoreState,
    stage: str,
    layer: str,
    part: str,
    pending: PendingShards,
    ran: "CompletedTasks",
    passes: int = 1,
) -> None:
    """Record the computation of one layer, such as a score's trace: the objects read, and the layer.

    `state`: after the stage; `part`: the name of its rate; `pending`: the shards that were computed; `passes`: how many
    passes over the rows were made.
    """
    if not pending:
        return
    read = pending.bytes()
    covered = of_shards(run.store.objects, pending.samples, state.layers) * passes
    _put(run, stage, ran, read, {part: PartAmounts(read * passes, _written(pending, layer, state), covered)})


def record_export(
    run: "StageRun", generation: Generation, written: Mapping[str, int], tasks: int, ran: "CompletedTasks"
) -> None:
    """Record exports: samples and texts, read once per format, and the files written."""
    layers = generation.layers.items()
    held = sum(one.bytes for name, one in layers if name == layout.SAMPLES or name.startswith(EXTRACTED))
    if written:
        whole = of_generation(run.store, generation)
        parts = {f"export.{name}": PartAmounts(held, size, whole) for name, size in written.items()}
        _put(run, "export", replace(ran, names=frozenset(map(str, range(tasks)))), held * len(written), parts)


def record_search(
    run: "StageRun", state: StoreState, search: Search, shuffled: int, ran: "CompletedTasks", *, here: bool
) -> None:
    """Record a search for duplicates: the signatures read, and the layers written.

    `state`: including the results; `shuffled`: the bytes exchanged; `ran`: the tasks, and the time from the first
    comparison to the last layer; `here`: whether it ran in this process.
    """
    parts = {}
    whole = of_shards(run.store.objects, state.shards, state.layers)
    for asked in search.kinds.values():
        read, written = (
            state.layers[name].bytes if name in state.layers else 0 for name in (asked.layer, asked.kind.layer)
        )
        parts[asked.kind.layer] = PartAmounts(read, written, whole)
    _put(run, "dedupe", ran, sum(part.read for part in parts.values()), parts, shuffled, here=here)


def _written(pending: PendingShards, layer: str, state: StoreState) -> int:
    """The bytes of a layer that these shards lacked."""
    rows = state.layers[layer].by_shard
    lacked = (shard for shard, missing in pending.missing.items() if layer in missing)
    return sum(rows[shard].bytes for shard in lacked)


def _put(
    run: "StageRun",
    stage: str,
    ran: "CompletedTasks",
    read: int,
    parts: Mapping[str, PartAmounts],
    shuffled: int | None = None,
    *,
    here: bool = False,
) -> None:
    put_run(
        run.store.objects,
        RunRecord(
            stage=stage,
            engine=run.engine.name,
            workers=0 if here else run.engine.processes,
            tasks=len(ran.names),
            seconds=round(ran.seconds, 3),
            read=read,
            parts=parts,
            shuffled=shuffled,
            cpu_seconds=None if ran.cpu_seconds is None else round(ran.cpu_seconds, 3),
        ),
    )
