"""The small JSON records that a store is made of: what it is, what was committed, what a generation names.

Every record is canonical JSON, so equal records are equal bytes, and every record is put once (law 5).
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, TypeVar

from winnow.schemas.errors import StoreError
from winnow.schemas.identity import canonical_json, digest
from winnow.schemas.typed_json import read_json

FORMAT_VERSION = 1
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class StoreRecord:
    """`store.json`: what is fixed for the life of a store."""

    name: str
    seed: int
    shard_rows: int
    shard_bytes: int
    row_group_rows: int
    row_group_bytes: int
    task_bytes: int
    format_version: int = FORMAT_VERSION


@dataclass(frozen=True, slots=True)
class ObjectRecord:
    """One immutable data object, and the hash of the values that it decodes to."""

    path: str
    rows: int
    bytes: int
    values: str


@dataclass(frozen=True, slots=True)
class InputRecord:
    """The part of a source file that a task read, and where the first and last of its ranges stood."""

    path: str
    size: int
    start: int
    end: int
    digest: str  # of the raw bytes in [start, end)
    first: int  # offset of the first range that began in the part; -1 when none did
    last: int  # where the last of them ended


@dataclass(frozen=True, slots=True)
class LayerCommit:
    """`commits/<layer>/<key>/<shard>.json`: a layer's object for one shard."""

    layer: str
    key: str
    shard: str
    source: str
    object: ObjectRecord
    samples: str  # the object whose rows these are aligned with
    statistics: str  # path of the shard's statistics
    fingerprint: str


@dataclass(frozen=True, slots=True)
class ShardRecord:
    """One shard that an ingest task made."""

    shard: str
    object: ObjectRecord
    statistics: str


@dataclass(frozen=True, slots=True)
class TaskCommit:
    """`commits/samples/<key>/<task>.json`: everything that one ingest task made, and how its rows balance."""

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

    @property
    def balanced(self) -> bool:
        """Law 3 at the scale of one task."""
        lost = sum(self.dropped_by_reason.values()) + sum(self.quarantined_by_reason.values())
        return self.records == self.kept + lost and self.kept == sum(shard.object.rows for shard in self.shards)


@dataclass(frozen=True, slots=True)
class LayerEntry:
    """What a generation says of one layer: the key for each source, and the manifest that lists its objects."""

    keys: Mapping[str, str]
    manifest: str
    shards: int
    rows: int
    bytes: int


@dataclass(frozen=True, slots=True)
class Generation:
    """`generations/<n>.json`: one consistent state of the whole store. Readers pin one."""

    number: int
    parent: int
    recipe: str  # hash of the resolved recipe
    layers: Mapping[str, LayerEntry]
    tasks: str  # manifest of the ingest tasks' commits
    tree_hash: str
    environments: Mapping[str, int] = field(default_factory=dict)  # fingerprint → objects that it made


def to_json(record: Any) -> bytes:  # Any: dataclass instances have no common type
    """The canonical bytes of a record."""
    return canonical_json(asdict(record)).encode()


def from_json(kind: type[T], raw: bytes, where: str) -> T:
    """A record from its bytes; a record of another shape is named with its place."""
    try:
        return read_json(kind, raw)
    except ValueError as error:
        raise StoreError(f"{where}: not a {kind.__name__} that this version of winnow reads ({error})") from None


def tree_hash(objects: Mapping[tuple[str, str], str]) -> str:
    """One hash for a store's values: over (layer, shard) → value hash, in order of names."""
    parts = [part for (layer, shard), values in sorted(objects.items()) for part in (layer, shard, values)]
    return digest(*parts).hex()
