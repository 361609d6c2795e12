"""What a run holds of a store between its stages, and publishes as the next generation."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from winnow.pipelines.store import layout
from winnow.pipelines.store.held import Held
from winnow.pipelines.store.manifests import ManifestRow
from winnow.schemas.records import ShardRecord, TaskCommit


class RowLayer(Protocol):
    """A layer that is made row by row, of other layers of the same shard."""

    @property
    def layer(self) -> str:
        """Its name."""

    @property
    def reads(self) -> tuple[str, ...]:
        """The layers that it reads, each once."""

    def key(self, keys: Mapping[str, str]) -> str:
        """Its key for one source, from the keys of the layers that it reads there."""


@dataclass
class StoreState:
    """What a recipe's stages hold: every task, and the layers that have an object for every shard."""

    held: Held
    tasks: list[TaskCommit]
    layers: dict[str, list[ManifestRow]]
    keys: dict[str, dict[str, str]] = field(init=False)  # of each layer, by source

    def __post_init__(self) -> None:
        self.keys = {layout.SAMPLES: {task.source: task.key for task in self.tasks}}
        for layer in self.layers:
            self.note_keys(layer)

    @property
    def shards(self) -> list[tuple[str, ShardRecord]]:
        """Every shard with its source."""
        return [(task.source, shard) for task in self.tasks for shard in task.shards]

    @property
    def samples(self) -> dict[str, str]:
        """The samples object of each shard."""
        return {shard.shard: shard.object.path for _, shard in self.shards}

    def note_keys(self, layer: str) -> None:
        """Note the keys of a layer of the state."""
        self.keys[layer] = {row.source: row.key for row in self.layers[layer]}

    def find(self, layer: str, keys: Mapping[str, str], under: str | None = None) -> dict[str, ManifestRow]:
        """The objects of a layer, by shard.

        Args:
            layer: The layer.
            keys: Its key, by source.
            under: The key that names its objects, if that is another.
        """
        wanted: dict[str, dict[str, str]] = {}
        for source, shard in self.shards:
            wanted.setdefault(keys[source], {})[shard.shard] = shard.object.path
        found: dict[str, ManifestRow] = {}
        for key in sorted(wanted):
            found |= self.held.find_layer(layer, key, wanted[key], under)
        return found

    def key(self, bound: RowLayer, source: str) -> str:
        """The key of a layer for a source; the layers that it reads come first."""
        return bound.key({layer: self.keys[layer][source] for layer in bound.reads})

    def expect(self, bound: RowLayer) -> None:
        """Note the keys of a layer, so that those of the layers that read it can be told."""
        sources = {source for source, _ in self.shards}
        self.keys[bound.layer] = {source: self.key(bound, source) for source in sources}
