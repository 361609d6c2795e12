"""The annotate stage as its driver sees it: what is owed to which shard, and what stands once it is paid."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from winnow.pipelines.annotate.task import AnnotationTask, RowLayer
from winnow.pipelines.binding.operators import SAMPLES_LAYER, Pass
from winnow.pipelines.store.commits import aligned_shards, load_layer_commits
from winnow.pipelines.store.generations import Store
from winnow.schemas.records import LayerCommit, ShardRecord, TaskCommit


@dataclass
class State:
    """What the next generation will be made of: every task, and the layers that have an object for every shard."""

    tasks: list[TaskCommit]
    layers: dict[str, list[LayerCommit]]
    keys: dict[str, dict[str, str]] = field(init=False)  # of each layer, by source

    def __post_init__(self) -> None:
        self.keys = {SAMPLES_LAYER: {task.source: task.key for task in self.tasks}}
        for layer, commits in self.layers.items():
            self.keys[layer] = {commit.source: commit.key for commit in commits}

    @property
    def shards(self) -> list[tuple[str, ShardRecord]]:
        """Every shard with its source."""
        return [(task.source, shard) for task in self.tasks for shard in task.shards]

    def key(self, bound: RowLayer, source: str) -> str:
        """The key of a layer for a source; the layers that it reads come first."""
        return bound.key({layer: self.keys[layer][source] for layer in bound.reads})

    def expect(self, bound: RowLayer) -> None:
        """Note the keys of a layer, so that those of the layers that read it can be told."""
        sources = {source for source, _ in self.shards}
        self.keys[bound.layer] = {source: self.key(bound, source) for source in sources}


def owed_tasks(store: Store, state: State, one_pass: Pass) -> list[AnnotationTask]:
    """The shards that lack a layer of a pass, each with the objects to read."""
    return owed_shards(store, state, one_pass.operators)


def owed_shards(store: Store, state: State, layers: Sequence[RowLayer]) -> list[AnnotationTask]:
    """The shards that lack one of these layers, each with the objects to read."""
    owed: dict[str, dict[str, str]] = {}
    samples = {shard.shard: shard.object.path for _, shard in state.shards}
    for bound in layers:
        state.expect(bound)
        keys = state.keys[bound.layer]
        done = {key: aligned_shards(store.objects, bound.layer, key, samples) for key in sorted(set(keys.values()))}
        for source, shard in state.shards:
            if shard.shard not in done[keys[source]]:
                owed.setdefault(shard.shard, {})[bound.layer] = keys[source]
    objects = _objects(store, state, layers, owed)
    return [
        AnnotationTask(shard.shard, source, objects[shard.shard], owed[shard.shard])
        for source, shard in state.shards
        if shard.shard in owed
    ]


def load_layers(store: Store, state: State, layers: Iterable[RowLayer]) -> list[str]:
    """Take into the state every layer that is committed for every shard; returns the names of those that are not."""
    lacking = []
    for bound in layers:
        if bound.layer not in state.keys:
            state.expect(bound)
        found = _commits(store, bound.layer, state.keys[bound.layer], [shard for _, shard in _named(state)])
        if len(found) == len(state.shards):
            state.layers[bound.layer] = list(found.values())
        else:
            lacking.append(bound.layer)
    return lacking


def _objects(
    store: Store, state: State, layers: Sequence[RowLayer], owed: Mapping[str, Mapping[str, str]]
) -> dict[str, dict[str, str]]:
    """Which object of each layer that is read holds a shard's rows; what the task itself makes is not among them."""
    found = {shard.shard: {SAMPLES_LAYER: shard.object.path} for _, shard in state.shards if shard.shard in owed}
    for layer in sorted({layer for one in layers for layer in one.reads} - {SAMPLES_LAYER}):
        shards = [(source, shard) for source, shard in _named(state) if layer not in owed.get(shard, {layer: ""})]
        known = {commit.shard: commit for commit in state.layers.get(layer, [])}
        missing = [shard for _, shard in shards if shard not in known]
        if missing:
            known |= _commits(store, layer, state.keys[layer], missing)
        for _, shard in shards:
            found[shard][layer] = known[shard].object.path
    return found


def _named(state: State) -> list[tuple[str, str]]:
    return [(source, shard.shard) for source, shard in state.shards]


def _commits(store: Store, layer: str, keys: Mapping[str, str], shards: Sequence[str]) -> dict[str, LayerCommit]:
    wanted = set(shards)
    found: dict[str, LayerCommit] = {}
    for key in sorted(set(keys.values())):
        found |= load_layer_commits(store.objects, layer, key, sorted(wanted - found.keys()))
    return found
