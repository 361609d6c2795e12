"""What a run holds of a store between its stages, and publishes as the next generation."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from winnow.pipelines.store import layout
from winnow.schemas.records import LayerCommit, ShardRecord, TaskCommit


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
    """What the next generation will be made of: every task, and the layers that have an object for every shard."""

    tasks: list[TaskCommit]
    layers: dict[str, list[LayerCommit]]
    keys: dict[str, dict[str, str]] = field(init=False)  # of each layer, by source

    def __post_init__(self) -> None:
        self.keys = {layout.SAMPLES: {task.source: task.key for task in self.tasks}}
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
