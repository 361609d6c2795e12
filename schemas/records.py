"""The JSON records of a store: its settings, commits and generations.

Every record is canonical JSON, so equal records have equal bytes, and is written once (law 5).
"""

import itertools
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, TypeVar

from winnow.schemas.errors import StoreError
from winnow.schemas.identity import Json, canonical_json, digest, digest_of, fingerprint_of
from winnow.schemas.typed_json import read_json

FORMAT_VERSION = 6
"""2: every record has a checksum, and every object is checked against the hash in its name.

3: a task has one commit for all layers that it writes.

4: every record holds the identity of its store.

5: draws are a table beside their plan.

6: the checksum of an intake record is over its bytes.
"""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class StoreRecord:
    """`store.json`: the fixed settings of a store."""

    name: str
    seed: int
    shard_rows: int
    shard_bytes: int
    row_group_rows: int
    row_group_bytes: int
    task_bytes: int | None  # None: by the contents of files
    format_version: int = FORMAT_VERSION

    @property
    def identity(self) -> str:
        """Tells the store from others; stores that are made with the same settings share it."""
        return fingerprint_of(asdict(self))


@dataclass(frozen=True, slots=True)
class ObjectRecord:
    """One immutable data object, and the hash of its decoded values."""

    path: str
    rows: int
    bytes: int
    values: str


@dataclass(frozen=True, slots=True)
class FilePart:
    """The part of a file that one reader covers: records that begin in [start, end) belong to it entirely."""

    path: str  # relative to the source's root, forward slashes
    size: int
    start: int
    end: int

    @property
    def whole(self) -> bool:
        """Whether the part is the entire file."""
        return self.start == 0 and self.end >= self.size


@dataclass(frozen=True, slots=True)
class InputRecord:
    """The part of a source file that a task read, and the positions of its first and last range."""

    path: str
    size: int
    start: int
    end: int
    digest: str  # of the raw bytes in [start, end)
    first: int  # offset of the first range that began in the part; -1 if none did
    last: int  # end of the last of them


@dataclass(frozen=True, slots=True)
class LayerPart:
    """What a task wrote of one layer for one shard."""

    layer: str
    key: str
    object: ObjectRecord


@dataclass(frozen=True, slots=True)
class LayersCommit:
    """`commits/layers/<set>/<shard>.json`: every layer that a task wrote for one shard."""

    shard: str
    source: str
    samples: str  # the object whose rows these are aligned with
    statistics: str  # path of the statistics of all of them
    layers: tuple[LayerPart, ...]
    fingerprint: str


@dataclass(frozen=True, slots=True)
class LayerSet:
    """`commits/sets/<set>.json`: which layers, by which keys, each commit under `commits/layers/<set>/` has."""

    layers: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class ShardRecord:
    """One shard that an ingest task wrote."""

    shard: str
    object: ObjectRecord
    statistics: str  # path of the statistics of the samples and the layers
    layers: tuple[LayerPart, ...] = ()  # of extractors; only in the task's commit, a generation lists them by layer


@dataclass(frozen=True, slots=True)
class TaskCommit:
    """`commits/samples/<key>/<task>.json`: everything that one ingest task wrote, and its row counts."""

    task: str
    key: str
    source: str
    inputs: tuple[InputRecord, ...]
    shards: tuple[ShardRecord, ...]
    dropped: ObjectRecord | None
    quarantine: ObjectRecord | None
    records: int
    kept: int
    dropped_by_reason: Mapping[str, int]
    quarantined_by_reason: Mapping[str, int]
    input_bytes: int
    fingerprint: str
    unread: int = 0  # samples with a sidecar or medium that could not be used; older commits do not say

    @property
    def objects(self) -> tuple[ObjectRecord, ...]:
        """Everything that the task wrote, apart from statistics and layers."""
        ranges = (made for made in (self.dropped, self.quarantine) if made is not None)
        return (*(shard.object for shard in self.shards), *ranges)

    @property
    def without_layers(self) -> "TaskCommit":
        """The task as a generation lists it."""
        return replace(self, shards=tuple(replace(shard, layers=()) for shard in self.shards))

    @property
    def balanced(self) -> bool:
        """Whether law 3 holds for this task."""
        lost = sum(self.dropped_by_reason.values()) + sum(self.quarantined_by_reason.values())
        return self.records == self.kept + lost and self.kept == sum(shard.object.rows for shard in self.shards)


@dataclass(frozen=True, slots=True)
class KeyRecord:
    """The objects that a generation has of one layer under one key."""

    sources: tuple[str, ...]  # sorted; a layer that is made row by row has a key of its own for each source
    shards: int
    rows: int
    bytes: int
    values: str  # one hash of the value hashes by shard
    environments: Mapping[str, int]  # number of objects by fingerprint


@dataclass(frozen=True, slots=True)
class LayerRecord:
    """One layer of a generation: the manifest that lists its objects, and what it lists under each key."""

    manifest: str
    keys: Mapping[str, KeyRecord]


@dataclass(frozen=True, slots=True)
class RecipeRecord:
    """The keys that one recipe reads, as of the last generation that it published."""

    resolved: str  # hash of the resolved recipe
    layers: Mapping[str, Mapping[str, str]]  # by layer and source
    former: Mapping[str, Mapping[str, str]]  # of layers that it no longer lists; kept until garbage is collected


@dataclass(frozen=True, slots=True)
class GenerationRecord:
    """`generations/<n>.json`: a union of what every recipe has written to the store.

    A generation is only ever added to: a recipe reads the keys that are its own, so recipes do not disturb each other.
    """

    number: int
    parent: int
    recipe: str  # the name of the recipe that published it
    recipes: Mapping[str, RecipeRecord]
    layers: Mapping[str, LayerRecord]
    tasks: str  # manifest of the ingest tasks' commits, of every key


@dataclass(frozen=True, slots=True)
class LayerEntry:
    """One layer of a generation as one recipe reads it: its key for each source."""

    keys: Mapping[str, str]
    manifest: str
    shards: int
    rows: int
    bytes: int


@dataclass(frozen=True, slots=True)
class Generation:
    """One consistent state of the store as one recipe reads it: the layers that cover each of its shards.

    Readers pin one.
    """

    number: int
    parent: int
    recipe: str  # hash of the resolved recipe
    layers: Mapping[str, LayerEntry]
    tasks: str  # manifest of the ingest tasks' commits
    tree_hash: str
    environments: Mapping[str, int] = field(default_factory=dict)  # number of objects by fingerprint
    partial: Mapping[str, int] = field(default_factory=dict)  # number of shards of layers that do not cover all


@dataclass(frozen=True, slots=True)
class FactInputs:
    """What a kept record of facts was found in; it is garbage when no kept generation has all of it."""

    reads: Mapping[str, Mapping[str, str]]  # the hash of the values of every layer that was read, by layer and key
    sources: Mapping[str, Mapping[str, str]]  # the key of every such layer, by source
    forgotten: tuple[str, ...]  # the requests to forget that were known

    def to_json(self) -> Json:
        """Plain values, for hashing."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class StoredWeights:
    """`weights/<score>/<key>.json`: the objects that hold weights, in the order of their steps."""

    key: str
    objects: tuple[str, ...]
    samples: int  # the number of training samples; 0 if the weights were given
    fingerprint: str = ""  # of the environment that computed them


@dataclass(frozen=True, slots=True)
class WeightKeys:
    """`weights/<score>/of.<trace>.json`: the keys of the weights that a trace was made with; "" if there are none."""

    reference: str
    trajectory: str
    companions: str = ""  # the rows that a contrastive task contrasts others with
    target: str = ""  # the gradients of a target's loss at each checkpoint


def to_json(record: Any) -> bytes:  # Any: dataclass instances have no common type
    """The canonical bytes of a record."""
    return canonical_json(asdict(record)).encode()


def from_json(kind: type[T], raw: bytes, where: str) -> T:
    """Parse a record; an error names its place."""
    try:
        return read_json(kind, raw)
    except ValueError as error:
        raise StoreError(f"{where}: not a {kind.__name__} that this version of winnow reads ({error})") from None


def values_hash(values: Iterable[tuple[str, str]]) -> str:
    """One hash for the objects of a layer under one key: over the value hash of each shard, ordered by shard."""
    return digest_of(itertools.chain.from_iterable(values)).hex()


def tree_hash(layers: Mapping[tuple[str, tuple[str, ...]], str]) -> str:
    """One hash for all values that a recipe reads: over the hash of each layer and its sources, in their order."""
    parts: list[str | int] = []
    for (layer, sources), value in sorted(layers.items()):
        parts += [layer, len(sources), *sources, value]
    return digest(*parts).hex()
