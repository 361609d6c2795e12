"""A search for duplicates: its settings, and the list of shards that its workers read."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
import orjson
import pyarrow as pa
from numpy.typing import NDArray

from winnow.filters.duplicates.kind import AskedKind
from winnow.filters.duplicates.searches import Chains, ShingleSearch
from winnow.pipelines.dedupe.nodes import shards_of
from winnow.pipelines.reading.columns import Column
from winnow.pipelines.running.blocks import AddressedBlock
from winnow.pipelines.running.row_arrays import SHARD_BITS
from winnow.pipelines.running.shard_list import MAX_SHARD_GROUPS, ListedShard, ShardList, put_shard_list
from winnow.pipelines.store.concurrency import map_objects
from winnow.pipelines.store.facade import ObjectStore
from winnow.pipelines.store.generations import Store
from winnow.schemas.errors import StageError
from winnow.schemas.recipe import Shuffle
from winnow.schemas.rows.duplicates import Kind

Batch: TypeAlias = Mapping[str, pa.Array]
"""Rows of a shard: columns by their names."""


@dataclass(frozen=True, slots=True)
class CoveredShard(ListedShard):
    """A shard that a search covers."""

    verdicts: Mapping[Kind, tuple[str, ...]] = field(default_factory=dict)
    """By kind, tables with the results of earlier comparisons of its texts."""


@dataclass(frozen=True)
class Search:
    """The settings of a search that every task gets. Picklable.

    Rows that are forgotten while it runs stay part of it: its layers are what their keys describe, but out of date.
    """

    store: Store
    shards: str  # the object that lists the shards
    scratch: str
    kinds: Mapping[Kind, AskedKind]  # with their bound settings
    text: tuple[Column, ...] = ()
    most_groups: int = MAX_SHARD_GROUPS  # of shards; decides how the work is divided, and no value
    size: int = 0  # bytes that it reads, about
    shuffle: Shuffle = "auto"

    @property
    def listed(self) -> ShardList[CoveredShard]:
        """The list of shards."""
        return ShardList(self.store.objects, self.shards, self.scratch, CoveredShard, self.most_groups)

    @property
    def covered(self) -> Sequence[CoveredShard]:
        """The shards that the search covers, by number."""
        return self.listed.all

    def shingled(self, kind: Kind) -> tuple[AskedKind, ShingleSearch]:
        """A kind that compares texts by their shingles, and how it does."""
        found = self.kinds[kind].search
        assert isinstance(found, ShingleSearch)
        return self.kinds[kind], found

    def chains(self, kind: Kind) -> Chains | None:
        """How the chains of a kind are cut; None if they are not."""
        found = self.kinds[kind].search
        return None if found is None or isinstance(found, ShingleSearch) else found.chains

    def to_shards(self, origin: str, batches: Iterable[pa.RecordBatch], by: str) -> Iterator[AddressedBlock]:
        """Send each line to the shard group of its node in this column."""
        from winnow.pipelines.running.exchange import addressed_blocks  # which loads Beam: few commands search

        listed = self.listed
        sent = ((batch, listed.group_of(shards_of(batch[by].to_numpy()))) for batch in batches)
        return addressed_blocks(origin, sent, listed.groups)

    def count(self, kind: Kind, counted: Mapping[str, int], origin: str) -> None:
        """Store what a step has counted, under a name that no other step has."""
        if counted:
            self.store.objects.put(f"{self.scratch}/{kind}/counts/{origin}.json", orjson.dumps(dict(counted)))

    def counted(self, kind: Kind) -> Counter[str]:
        """The sums of all that the steps of a kind have counted."""
        objects, found = self.store.objects, Counter[str]()
        paths = [info.path for info in objects.list(f"{self.scratch}/{kind}/counts/")]
        for part in map_objects(objects, objects.read, paths):
            found.update(orjson.loads(part))
        return found


def put_shards(objects: ObjectStore, shards: Iterable[CoveredShard]) -> str:
    """Store the list of shards; return its path."""
    return put_shard_list(objects, "dedupe", _numbered(shards))


def _numbered(shards: Iterable[CoveredShard]) -> Iterator[CoveredShard]:
    """Yield the shards; refuse more than can be numbered."""
    most = (1 << SHARD_BITS) - 1
    for number, shard in enumerate(shards):
        if number == most:
            raise StageError(f"dedupe: more than {most:,} shards, which is the most that can be searched at once")
        yield shard


def signature_matrix(column: pa.Array, hashes: int) -> NDArray[np.uint32]:
    """Return a column of signatures as rows of hashes."""
    if column.type.byte_width != 4 * hashes:
        raise StageError(
            f"dedupe: the stored signatures have {column.type.byte_width // 4} hashes instead of {hashes}; "
            "run 'winnow audit'"
        )
    return np.frombuffer(column.buffers()[1], "<u4", len(column) * hashes, column.offset * 4 * hashes).reshape(
        -1, hashes
    )
