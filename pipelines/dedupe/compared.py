"""What is compared: the nodes of a batch, each with a digest, and why other rows and items are not compared.

Nodes of equal digests are equal. A kind says which columns hold what it compares, and what values they make; where they
are is decided by what its nodes are: rows, items that an operator measured, or media as ingest has written them. What
becomes of a row some of whose items have copies is left to rules.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from winnow.filters.duplicates.kind import AskedKind
from winnow.pipelines.dedupe.nodes import places_of
from winnow.pipelines.dedupe.search import Batch
from winnow.pipelines.reading.columns import MEDIA, Column
from winnow.pipelines.reading.items import item_ids, list_counts, rows_and_items
from winnow.pipelines.store import layout
from winnow.schemas.errors import StageError
from winnow.schemas.rows.duplicates import ID_BYTES, NOT_MEASURED, OK
from winnow.schemas.tombstones import FORGOTTEN

IDS = Column(layout.SAMPLES, "id")
_MODALITY = Column(layout.SAMPLES, "modality")
_DIGEST: Final = pa.binary(ID_BYTES)

Positions = NDArray[np.int64]


@dataclass(frozen=True)
class Compared:
    """The nodes of a batch that are compared, in order."""

    places: Positions  # in the batch, as `winnow.pipelines.dedupe.nodes.places_of`
    digests: pa.FixedSizeBinaryArray
    ids: pa.FixedSizeBinaryArray  # of rows, or of items
    values: pa.Array  # what the kind's search compares


@dataclass(frozen=True)
class NodeStatuses:
    """Of each row, and of each item of kinds that compare items: `ok` if it is compared, else why it is not."""

    rows: pa.StringArray
    counts: Positions | None = None  # items of each row; -1 where the layer has no list. None if rows are compared
    items: pa.StringArray | None = None  # of all rows together


@dataclass(frozen=True)
class SignatureReader:
    """Reads what a kind compares out of batches of a shard: here rows, by columns of a layer."""

    asked: AskedKind

    @property
    def columns(self) -> list[Column]:
        """The columns of nodes and their digests, beside the ids."""
        return [Column(self.asked.layer, leaf) for leaf in self.asked.kind.signature.leaves]

    @property
    def searched(self) -> list[Column]:
        """The same, with the column of what the kind's search compares if it is another."""
        leaf = self.asked.kind.signature.searched
        return self.columns if leaf is None else [*self.columns, Column(self.asked.layer, leaf)]

    @property
    def status_columns(self) -> list[Column]:
        """The columns that statuses are made of."""
        return [Column(self.asked.layer, "status"), *self.columns]

    def compared(self, batch: Batch) -> Compared:
        """The nodes that are compared."""
        statuses, values = self._values([batch[one.name] for one in self.columns])
        rows = np.flatnonzero(pc.equal(statuses, OK).to_numpy(zero_copy_only=False))
        taken = pa.array(rows)
        chosen = values.take(taken)
        searched = batch.get(f"{self.asked.layer}.{self.asked.kind.signature.searched}")
        compared = chosen if searched is None else searched.take(taken)
        return Compared(places_of(rows, np.zeros_like(rows)), _digests(chosen), batch[IDS.name].take(taken), compared)

    def statuses(self, batch: Batch) -> NodeStatuses:
        """What is compared, and why the rest is not."""
        said = batch[f"{self.asked.layer}.status"]
        return NodeStatuses(
            pc.if_else(pc.equal(said, OK), self._values([batch[one.name] for one in self.columns])[0], said)
        )

    def _values(self, leaves: Sequence[pa.Array]) -> tuple[pa.StringArray, pa.Array]:
        """The status of each node, and its value."""
        return self.asked.kind.signature.values(self.asked.settings, leaves)


class _Media(SignatureReader):
    """Media, by what ingest has written of each."""

    @property
    def columns(self) -> list[Column]:
        return [MEDIA]

    @property
    def status_columns(self) -> list[Column]:
        return [MEDIA, _MODALITY]

    def compared(self, batch: Batch) -> Compared:
        counts, (statuses, values) = self._counts(batch), self._of_items(batch)
        rows, items = rows_and_items(counts)
        chosen = np.flatnonzero(pc.equal(statuses, OK).to_numpy(zero_copy_only=False))
        rows, items, found = rows[chosen], items[chosen], values.take(pa.array(chosen))
        ids = item_ids(batch[IDS.name].take(pa.array(rows)), items)
        return Compared(places_of(rows, items), _digests(found), ids, found)

    def statuses(self, batch: Batch) -> NodeStatuses:
        counts, (items, _) = self._counts(batch), self._of_items(batch)
        forgotten = pc.equal(batch[_MODALITY.name], FORGOTTEN)
        rows = pc.if_else(forgotten, FORGOTTEN, _row_statuses(counts, items, self.asked.kind.unit.empty))
        return NodeStatuses(rows, np.where(forgotten.to_numpy(zero_copy_only=False), -1, counts), items)

    def _counts(self, batch: Batch) -> Positions:
        """How many items each row has."""
        return list_counts(batch[MEDIA.name])

    def _of_items(self, batch: Batch) -> tuple[pa.StringArray, pa.Array]:
        """The statuses of all items, and the values of those that are compared."""
        media = batch[MEDIA.name].flatten()
        return self._values([pc.struct_field(media, leaf) for leaf in self.asked.kind.signature.leaves])


class _MeasuredItems(_Media):
    """Items by what an operator measured of each: lists in a layer, which also says why an item has none."""

    @property
    def columns(self) -> list[Column]:
        return [Column(self.asked.layer, leaf) for leaf in ("status", "items", *self.asked.kind.signature.leaves)]

    @property
    def status_columns(self) -> list[Column]:
        return self.columns

    def statuses(self, batch: Batch) -> NodeStatuses:
        layer, unit = self.asked.layer, self.asked.kind.unit
        counts, (items, _) = self._counts(batch), self._of_items(batch)
        measured = batch[f"{layer}.status"]
        unmeasured = pc.if_else(pc.is_in(measured, pa.array(unit.absent)), unit.empty, measured)
        rows = pc.if_else(pc.equal(measured, OK), _row_statuses(counts, items, unit.empty), unmeasured)
        listed = batch[f"{layer}.items"].is_valid().to_numpy(zero_copy_only=False)
        return NodeStatuses(rows, np.where(listed, counts, -1), items)

    def _counts(self, batch: Batch) -> Positions:
        layer = self.asked.layer
        counts = [list_counts(batch[column.name]) for column in self.columns[1:]]
        if any(not np.array_equal(counts[0], other) for other in counts[1:]):
            raise StageError(f"dedupe: lists of {layer} that belong together differ in length; run 'winnow audit'")
        return counts[0]

    def _of_items(self, batch: Batch) -> tuple[pa.StringArray, pa.Array]:
        items, *lists = (batch[column.name].flatten() for column in self.columns[1:])
        measured, values = self._values(lists)
        said = pc.fill_null(items, NOT_MEASURED)
        return pc.if_else(pc.equal(said, OK), measured, said), values


def reader_of(asked: AskedKind) -> SignatureReader:
    """Return what reads the nodes of a kind."""
    if not asked.kind.unit.of_items:
        return SignatureReader(asked)
    return (_Media if asked.layer == layout.SAMPLES else _MeasuredItems)(asked)


def _digests(values: pa.Array) -> pa.FixedSizeBinaryArray:
    """Return digests of values; values of their length are digests."""
    if values.type == _DIGEST:
        return values
    # microseconds each, a fraction of what reading and sending it takes
    return pa.array([hashlib.blake2b(one, digest_size=ID_BYTES).digest() for one in values.to_pylist()], _DIGEST)


def _row_statuses(counts: Positions, items: pa.StringArray, empty: str) -> pa.StringArray:
    """Return `ok` for rows with an item that is compared, else why the first one is not."""
    rows, _ = rows_and_items(counts)
    compared = np.bincount(rows[pc.equal(items, OK).to_numpy(zero_copy_only=False)], minlength=len(counts)) > 0
    first = pa.array(np.cumsum(counts) - counts, mask=counts == 0)
    return pc.if_else(pa.array(compared), OK, pc.fill_null(items.take(first), empty))
