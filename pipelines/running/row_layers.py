"""Writes layers row by row: finds the shards that lack one, and runs the loop that writes them.

Measurements, token counts and score traces are such layers. Each defines which columns it reads and what it computes
from some rows; reading a shard once, aligning rows and committing are shared.
"""

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass

import pyarrow as pa

from winnow.pipelines.running.shard_rows import Part, Shard
from winnow.pipelines.running.tasks import TaskLine
from winnow.pipelines.running.worker import Heartbeats
from winnow.pipelines.store import layout
from winnow.pipelines.store.generations import Store
from winnow.pipelines.store.layers import LayerWriter, commit_layers
from winnow.pipelines.store.state import RowLayer, StoreState
from winnow.schemas.statistics import layer_spec


@dataclass(frozen=True, slots=True)
class RowLayerTask(TaskLine):
    """A shard and the layers of a stage that it lacks."""

    shard: str
    source: str
    objects: Mapping[str, str]  # the objects to read, of `samples` and other layers
    missing: Mapping[str, str]  # the key of each missing layer, by layer

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
    beat: Heartbeats,
) -> None:
    """Writes a shard's missing layers, and commits them once every row is written.

    Args:
        store: The store.
        task: The shard.
        schemas: The columns of each missing layer, by layer.
        read: The shard's rows, from `read_parts`, which clears the worker's mark when they have been read.
        measure: Yields rows of each layer, by layer, all rows in order. It must finish a part before it requests the
            next: the mark names the first row of the last requested part.
        beat: Reports progress on the shard.
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
                beat(done, done, 0)
        written = [writer.finish(layer, task.missing[layer], task.shard) for layer, writer in writers.items()]
    commit_layers(store, task.shard, task.source, task.objects[layout.SAMPLES], written)


def pending_shards(state: StoreState, layers: Sequence[RowLayer]) -> list[RowLayerTask]:
    """The shards that lack one of these layers, each with the objects to read."""
    missing: dict[str, dict[str, str]] = {}
    for bound in layers:
        state.expect(bound)
        keys = state.keys[bound.layer]
        done = state.find(bound.layer, keys)
        for source, shard in state.shards:
            if shard.shard not in done:
                missing.setdefault(shard.shard, {})[bound.layer] = keys[source]
    objects = _objects(state, layers, missing)
    return [
        RowLayerTask(shard.shard, source, objects[shard.shard], missing[shard.shard])
        for source, shard in state.shards
        if shard.shard in missing
    ]


def load_layers(state: StoreState, layers: Iterable[RowLayer]) -> list[str]:
    """Adds to the state every layer committed for every shard; returns the names of the others."""
    lacking = []
    for bound in layers:
        if bound.layer not in state.keys:
            state.expect(bound)
        found = state.find(bound.layer, state.keys[bound.layer])
        if len(found) == len(state.shards):
            state.layers[bound.layer] = list(found.values())
        else:
            lacking.append(bound.layer)
    return lacking


def _objects(
    state: StoreState, layers: Sequence[RowLayer], missing: Mapping[str, Mapping[str, str]]
) -> dict[str, dict[str, str]]:
    """The object of each layer to read for a shard, except what the task itself makes."""
    found = {shard.shard: {layout.SAMPLES: shard.object.path} for _, shard in state.shards if shard.shard in missing}
    for layer in sorted({layer for one in layers for layer in one.reads} - {layout.SAMPLES}):
        shards = [shard for shard in found if layer not in missing[shard]]
        known = {row.shard: row for row in state.layers.get(layer, [])}
        if any(shard not in known for shard in shards):
            known |= state.find(layer, state.keys[layer])
        for shard in shards:
            found[shard][layer] = known[shard].object
    return found
