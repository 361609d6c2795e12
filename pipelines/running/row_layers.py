"""Writes layers row by row: finds the shards that lack one, and runs the loop that writes them.

Measurements, token counts and score traces are such layers. Each defines which columns it reads and what it computes
from some rows; reading a shard once, aligning rows and committing are shared.
"""

from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, field

import pyarrow as pa

from winnow.pipelines.running.counters import ROWS, WRITTEN, count
from winnow.pipelines.running.shard_rows import Part, Shard
from winnow.pipelines.running.tasks import TaskLine
from winnow.pipelines.running.worker import HeartbeatWriter
from winnow.pipelines.store import layout
from winnow.pipelines.store.generations import Store
from winnow.pipelines.store.layers import LayerWriter, commit_layers
from winnow.pipelines.store.manifests.rows import ManifestRow, ManifestRows
from winnow.pipelines.store.state import RowLayer, StoreState
from winnow.schemas.statistics import layer_spec


@dataclass(frozen=True, slots=True)
class RowLayerTask(TaskLine):
    """A shard and the layers of a stage that it lacks."""

    shard: str
    source: str
    objects: Mapping[str, str]  # the objects to read, of `samples` and other layers
    missing: Mapping[str, str]  # the key of each missing layer, by layer
    under: Mapping[str, str] = field(default_factory=dict)  # keys that name objects of layers, where these differ

    @property
    def commit(self) -> str:
        """The path of the task's commit."""
        return layout.layer_commit(layout.set_name(self.missing), self.shard)

    @property
    def read(self) -> Shard:
        """The shard's objects to read."""
        return Shard(self.shard, self.source, self.objects)


def write_layers(
    store: Store,
    task: RowLayerTask,
    schemas: Mapping[str, pa.Schema],
    read: Generator[Part],
    measure: Callable[[Iterator[Part]], Iterator[Mapping[str, pa.RecordBatch]]],
    heartbeat: HeartbeatWriter,
) -> None:
    """Writes a shard's missing layers, and commits them once every row is written.

    `schemas`: the columns of each missing layer. `read`: the shard's rows, from `read_parts`, which clears the worker's
    mark at its end. `measure`: yields all rows of each layer in order; it must finish a part before it requests the
    next, as the mark names the first row of the last requested part.
    """
    done = 0
    with ExitStack() as stack:
        writers = {
            layer: stack.enter_context(LayerWriter(store, schema, layer_spec(layer, schema)))
            for layer, schema in schemas.items()
        }
        with closing(read) as parts:
            for made in measure(parts):
                for layer, rows in made.items():
                    writers[layer].write(rows)
                done += max(rows.num_rows for rows in made.values())
                heartbeat(done, done, 0)
        written = [
            writer.finish(layer, task.missing[layer], task.shard, under=task.under.get(layer))
            for layer, writer in writers.items()
        ]
    commit_layers(store, task.shard, task.source, task.objects[layout.SAMPLES], written)
    count(ROWS, done)
    count(WRITTEN, sum(one.part.object.bytes for one in written))


@dataclass(frozen=True)
class PendingShards(Collection[RowLayerTask]):
    """The shards that lack one of some layers, each as a task that is made when it is asked for."""

    samples: ManifestRows  # of these shards
    lacking: Sequence[Mapping[str, str]]  # the keys of the layers that each lacks; most are the same mapping
    layers: Mapping[str, Mapping[str, ManifestRow]]  # those that tasks read, by shard
    unders: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """The keys that name the objects of layers over all shards, by layer and source."""

    def __len__(self) -> int:
        return len(self.samples)

    def __contains__(self, task: object) -> bool:
        return isinstance(task, RowLayerTask) and task.shard in self.samples.by_shard

    def __iter__(self) -> Iterator[RowLayerTask]:
        for row, missing in zip(self.samples, self.lacking, strict=True):
            objects = {layout.SAMPLES: row.object}
            objects |= {layer: rows[row.shard].object for layer, rows in self.layers.items() if layer not in missing}
            under = {layer: keys[row.source] for layer, keys in self.unders.items() if layer in missing}
            yield RowLayerTask(row.shard, row.source, objects, missing, under)

    def lines(self) -> Iterator[tuple[str, bytes]]:
        """Each task's shard and line."""
        return ((task.shard, task.to_json()) for task in self)

    @property
    def missing(self) -> Mapping[str, Mapping[str, str]]:
        """The keys of the layers that each shard lacks."""
        return dict(zip(self.samples.by_shard, self.lacking, strict=True))

    def bytes(self, layer: str | None = None) -> int:
        """The bytes that all tasks read, or those that write a layer."""
        size = 0
        for row, missing in zip(self.samples, self.lacking, strict=True):
            if layer is None or layer in missing:
                size += row.bytes
                size += sum(rows[row.shard].bytes for name, rows in self.layers.items() if name not in missing)
        return size


def pending_shards(state: StoreState, layers: Sequence[RowLayer]) -> PendingShards:
    """The shards that lack one of these layers, each with the objects to read."""
    done: dict[str, ManifestRows] = {}
    for bound in layers:
        state.expect(bound)
        done[bound.layer] = state.find(bound.layer, state.keys[bound.layer])
    if all(len(rows) == len(state.shards) for rows in done.values()):
        return PendingShards(ManifestRows.of(()), (), {})
    same: dict[tuple[str, ...], dict[str, str]] = {}

    def lacks(row: ManifestRow) -> Mapping[str, str]:
        found = tuple(layer for layer, rows in done.items() if row.shard not in rows.by_shard)
        return same.setdefault((row.source, *found), {layer: state.keys[layer][row.source] for layer in found})

    lacking = [lacks(row) for row in state.shards]
    samples = state.shards.where(map(bool, lacking))
    reads = sorted({layer for one in layers for layer in one.reads} - {layout.SAMPLES})
    objects = {layer: _objects(state, layer, samples, done) for layer in reads}
    return PendingShards(samples, list(filter(None, lacking)), objects, state.unders)


def load_layers(state: StoreState, layers: Iterable[RowLayer]) -> list[str]:
    """Adds to the state every layer committed for every shard; returns the names of the others."""
    lacking = []
    for bound in layers:
        if bound.layer not in state.keys:
            state.expect(bound)
        found = state.find(bound.layer, state.keys[bound.layer])
        if len(found) == len(state.shards):
            state.layers[bound.layer] = found
        else:
            lacking.append(bound.layer)
    return lacking


def _objects(
    state: StoreState, layer: str, samples: ManifestRows, done: Mapping[str, ManifestRows]
) -> Mapping[str, ManifestRow]:
    """The objects of a layer that tasks for these shards read, except those that they make themselves."""
    known = state.layers.get(layer, ManifestRows.of(()))
    if layer not in done and any(row.shard not in known.by_shard for row in samples):
        known = state.find(layer, state.keys[layer])
    return done.get(layer, known).by_shard
