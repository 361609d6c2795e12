"""What a run holds of a store between its stages, and publishes as the next generation."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol, Self

from winnow.pipelines.store import layout
from winnow.pipelines.store.held import Held
from winnow.pipelines.store.manifest_rows import ManifestRows
from winnow.pipelines.store.task_commits import TaskCommits


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
    tasks: TaskCommits
    layers: dict[str, ManifestRows]
    shards: ManifestRows  # the samples of each
    keys: dict[str, dict[str, str]] = field(init=False)  # of each layer, by source

    @classmethod
    def of(cls, held: Held, tasks: TaskCommits, layers: dict[str, ManifestRows]) -> Self:
        """The state with all shards that tasks made."""
        return cls(held, tasks, layers, held.samples(tasks))

    def __post_init__(self) -> None:
        self.keys = {layout.SAMPLES: self.tasks.key_of_source}
        for layer in self.layers:
            self.note_keys(layer)

    @property
    def samples(self) -> Mapping[str, str]:
        """The samples object of each shard."""
        return self.shards.objects

    def note_keys(self, layer: str) -> None:
        """Note the keys of a layer of the state."""
        self.keys[layer] = self.layers[layer].key_of_source

    def find(self, layer: str, keys: Mapping[str, str], under: str | None = None) -> ManifestRows:
        """The objects of a layer.

        Args:
            layer: The layer.
            keys: Its key, by source.
            under: The key that names its objects, if that is another.
        """
        sources: dict[str, dict[str, str]] = {}
        for source, key in self.shards.key_of_source.items():
            sources.setdefault(keys[source], {})[source] = key
        return ManifestRows.joined(
            self.held.find_layer(layer, key, self.shards.read_by(those).objects, under)
            for key, those in sources.items()
        )

    def key(self, bound: RowLayer, source: str) -> str:
        """The key of a layer for a source; the layers that it reads come first."""
        return bound.key({layer: self.keys[layer][source] for layer in bound.reads})

    def expect(self, bound: RowLayer) -> None:
        """Note the keys of a layer, so that those of the layers that read it can be told."""
        self.keys[bound.layer] = {source: self.key(bound, source) for source in self.shards.sources}
