"""Stores whose traces hold given scores, and decisions on them."""

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
from rich.console import Console

from winnow.pipelines.binding.bound_recipe import bind
from winnow.pipelines.binding.scores import BoundScore
from winnow.pipelines.score.deciding.decision import Sizes
from winnow.pipelines.score.deciding.records import DecisionRecord, find_decision
from winnow.pipelines.store import layout
from winnow.pipelines.store.facade import ObjectStore
from winnow.pipelines.store.generations import Store
from winnow.pipelines.store.manifests.rows import ManifestRows
from winnow.pipelines.store.manifests.tables import rows_of_commit
from winnow.pipelines.store.manifests.tasks import TaskCommits
from winnow.pipelines.store.state import StoreState
from winnow.pipelines.store.store_index import StoreIndex
from winnow.pipelines.store.tables import put_table, read_table
from winnow.runners.engines.engine import Engine
from winnow.runners.stages.deciding import decide
from winnow.runners.stages.running.stage_run import StageRun
from winnow.schemas.recipe import FilterConfig, load_recipe
from winnow.schemas.records import LayerPart, LayersCommit, ShardRecord, StoreRecord, TaskCommit
from winnow.schemas.rows.scores import trace_schema
from winnow.schemas.uint128 import values_of
from winnow.scoring.selection.ranks import Floats, Ids

RECIPE = """
version: 1
store: {path: store, seed: 7}
sources:
  web: {root: ., files: ["*.jsonl"], class: web}
score:
  mimic:
    task: next_byte
    reference: {train_on: samples.text is not null}
"""
RECORD = StoreRecord("t", 7, 1 << 16, 1 << 28, 1 << 14, 1 << 26, 1 << 26)
SEED = 7
ONE = Engine("local", 1)


def bound_score(folder: Path, config: FilterConfig, checkpoints: int) -> BoundScore:
    """A score with this filter and number of checkpoints; nothing is trained for it."""
    file = folder / "recipe.yaml"
    file.write_text(RECIPE)
    (bound,) = bind(load_recipe(file)).scores
    trajectory = replace(bound.entry.trajectory, checkpoints=checkpoints)
    return replace(bound, entry=replace(bound.entry, filter=config, trajectory=trajectory))


@dataclass(frozen=True)
class Traced:
    """Rows with scores in the shards of a store."""

    store: Store
    state: StoreState
    bound: BoundScore


def traced(
    objects: ObjectStore,
    bound: BoundScore,
    scores: Floats,
    ids: Ids,
    groups: Sequence[str | None] | None,
    ends: Sequence[int],
) -> Traced:
    """Store rows × checkpoints in shards that end at these rows; `by: samples.domain` groups them."""
    shards, commits = [], []
    schema = trace_schema(scores.shape[1])
    for number, (first, last) in enumerate(zip([0, *ends[:-1]], ends, strict=True)):
        name, some = f"s{number:05d}", slice(first, last)
        domains = ["a"] * (last - first) if groups is None else list(groups[some])
        samples = pa.table({"id": values_of(ids[0][some], ids[1][some]), "domain": pa.array(domains, pa.string())})
        put = put_table(objects, samples, partial(layout.samples_object, name))
        shards.append(ShardRecord(name, put, ""))
        there = np.isfinite(scores[some]).any(axis=1)
        values = [pa.array(column, from_pandas=True) for column in scores[some].T]
        empty = [pa.nulls(last - first, pa.float64())] * (len(schema) - 1 - len(values))
        status = pa.array(np.where(there, "ok", "no_input").tolist(), pa.string())
        trace = pa.Table.from_arrays([status, *values, *empty], schema=schema)
        made = put_table(objects, trace, partial(layout.layer_object, bound.entry.trace, "k", name))
        commits.append(LayersCommit(name, "web", put.path, "", (LayerPart(bound.entry.trace, "k", made),), ""))
    rows, rows_of = len(scores), ManifestRows.of(rows_of_commit(commit)[bound.entry.trace] for commit in commits)
    task = TaskCommit("t", "k", "web", (), tuple(shards), None, None, rows, rows, {}, {}, 0, "")
    state = StoreState.of(StoreIndex(objects, None), TaskCommits.of([task]), {bound.entry.trace: rows_of})
    return Traced(Store(objects, RECORD), state, bound)


def decide_on(one: Traced, sizes: Sizes, engine: Engine = ONE) -> tuple[pa.Table, DecisionRecord]:
    """Decide; return the layer, rows in the order of shards, and the record."""
    with open(os.devnull, "w") as silent:
        decide(StageRun(Console(file=silent), engine, one.store), one.state, one.bound, sizes)
    rows = sorted(one.state.layers[one.bound.entry.layer], key=lambda row: row.shard)
    objects = one.store.objects
    record = find_decision(objects, one.bound.entry.layer, rows[0].key)
    assert record is not None
    return pa.concat_tables([read_table(objects, row.object) for row in rows]), record
