"""What a run holds of a store between its stages, and publishes as the next generation."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Protocol, Self

from winnow.pipelines.store import layout
from winnow.pipelines.store.hiding.scans import load_hiding
from winnow.pipelines.store.manifests.rows import ManifestRow, ManifestRows
from winnow.pipelines.store.manifests.tasks import TaskCommits
from winnow.pipelines.store.store_index import StoreIndex
from winnow.schemas.identity import fingerprint_of
from winnow.schemas.rows.extraction import EXTRACTED


class RowLayer(Protocol):
    """A layer that is made row by row, as a rule of other layers of the same shard."""

    @property
    def layer(self) -> str:
        """Its name."""

    @property
    def reads(self) -> tuple[str, ...]:
        """The layers that it reads, each once."""

    @property
    def covers(self) -> tuple[str, ...] | None:
        """The layers whose rows its values depend on in every shard; None if on their own rows alone."""

    def key(self, keys: Mapping[str, str]) -> str:
        """Its key for one source, from the keys of the layers that it reads there."""


_OF_ALL = "all_"  # begins the keys of layers whose values depend on all shards


def inputs_of_shards(
    layers: Iterable[str],
    samples: Iterable[ManifestRow],
    objects: Mapping[str, Mapping[str, str]],
    keys: Mapping[str, Mapping[str, str]],
) -> Iterator[tuple[str, ...]]:
    """Each shard with what a layer over all shards depends on: its name, its samples, and what is read of each layer.

    Of extracted layers that is the object; of measured ones, which may not be there yet, the key: with the samples it
    says what the object holds.
    """
    read = list(layers)
    for row in samples:
        found = (
            objects[layer][row.shard]
            if layer.startswith(EXTRACTED)
            else keys[layer].get(row.source, "")  # of a source that the recipe no longer has
            for layer in read
        )
        yield row.shard, row.object, *found


def covered_key(settings: str, covered: Iterable[tuple[str, ...]], tombstones: Iterable[str]) -> str:
    """The key of a layer whose values depend on all shards.

    `settings`: its key without the shards, under which its objects stay when shards are added. `covered`: from
    `inputs_of_shards`, in any order. `tombstones`: those whose rows are left out.
    """
    shards = [list(shard) for shard in sorted(covered)]
    key = {"settings": settings, "shards": shards, "tombstones": sorted(tombstones)}
    return f"{_OF_ALL}{fingerprint_of(key)}"


def is_of_all(key: str) -> bool:
    """Whether a row of a layer with this key may depend on other rows."""
    return key.startswith(_OF_ALL)


@dataclass
class StoreState:
    """What a recipe's stages hold: every task, and the layers that have an object for every shard."""

    held: StoreIndex
    tasks: TaskCommits
    layers: dict[str, ManifestRows]
    shards: ManifestRows  # the samples of each
    whole: "StoreState | None" = None  # the state that this is a slice of
    keys: dict[str, dict[str, str]] = field(init=False)  # of each layer, by source
    unders: dict[str, dict[str, str]] = field(init=False, default_factory=dict)
    """The keys that name the objects of layers over all shards, by layer and source."""

    @classmethod
    def of(cls, held: StoreIndex, tasks: TaskCommits, layers: dict[str, ManifestRows]) -> Self:
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
        """The objects of a layer, by its key for each source; `under` is the key that names its objects, if that is
        another."""
        sources: dict[str, dict[str, str]] = {}
        for source, key in self.shards.key_of_source.items():
            sources.setdefault(keys[source], {})[source] = key
        named = {keys[source]: key for source, key in self.unders.get(layer, {}).items()}
        return ManifestRows.joined(
            self.held.find_layer(layer, key, self.shards.read_by(those).objects, under or named.get(key))
            for key, those in sources.items()
        )

    def key(self, bound: RowLayer, source: str) -> str:
        """The key of a layer for a source; the layers that it reads come first."""
        return bound.key({layer: self.keys[layer][source] for layer in bound.reads})

    def expect(self, bound: RowLayer) -> None:
        """Note the keys of a layer, so that those of the layers that read it can be told."""
        keys = {source: self.key(bound, source) for source in self.shards.sources}
        if bound.covers is not None:
            whole = self.whole or self
            objects = {layer: whole.layers[layer].objects for layer in bound.covers if layer.startswith(EXTRACTED)}
            covered = list(inputs_of_shards(bound.covers, whole.shards, objects, self.keys))
            self.unders[bound.layer] = keys
            hidden = load_hiding(self.held.objects).tombstones
            keys = {source: covered_key(key, covered, hidden) for source, key in keys.items()}
        self.keys[bound.layer] = keys
