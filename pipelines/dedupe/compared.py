"""What is compared: the nodes of a batch, each with a digest, and why other rows and items are not compared.

Nodes of equal digests are equal. Texts and addresses are compared row by row and have a layer of digests. Pictures are
compared item by item: a picture's digest is that of its bytes, which ingest wrote, or of its PDQ hash or embedding; a
video's, of its frames' hashes. So are captions. What becomes of a row some of whose items have copies is left to rules.

A kind is a reader here; kinds that find more than equal digests have a join as well (`joins`).
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Final, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from winnow.filters.caption.lists import REASONS as CAPTION_REASONS
from winnow.filters.duplicates.perceptual.frames import distinct_frames
from winnow.filters.duplicates.vectors.cosines import rounded
from winnow.pipelines.dedupe.nodes import places_of
from winnow.pipelines.dedupe.search import Batch, Search
from winnow.pipelines.reading.columns import MEDIA, Column
from winnow.pipelines.reading.items import item_ids, list_counts, rows_and_items
from winnow.pipelines.store import layout
from winnow.schemas.errors import StageError
from winnow.schemas.rows.duplicates import (
    ID_BYTES,
    LOW_QUALITY,
    NO_CAPTION,
    NO_PICTURE,
    NO_VIDEO,
    NOT_AN_IMAGE,
    NOT_HASHED,
    NOT_MEASURED,
    OK,
    Kind,
)
from winnow.schemas.tombstones import FORGOTTEN

__all__ = ["HASH_BYTES", "IDS", "READERS", "Compared", "NodeStatuses", "SignatureReader", "require_one_length"]

HASH_BYTES = 32
IDS = Column(layout.SAMPLES, "id")
_MODALITY = Column(layout.SAMPLES, "modality")
_DIGEST = pa.binary(ID_BYTES)

Positions = NDArray[np.int64]


@dataclass(frozen=True)
class Compared:
    """The nodes of a batch that are compared, in order."""

    places: Positions  # in the batch, as `winnow.pipelines.dedupe.nodes.places_of`
    digests: pa.FixedSizeBinaryArray
    ids: pa.FixedSizeBinaryArray  # of rows, or of items
    values: pa.Array | None = None  # what the kind's join compares


@dataclass(frozen=True)
class NodeStatuses:
    """Of each row, and of each item of kinds that compare items: `ok` if it is compared, else why it is not."""

    rows: pa.StringArray
    counts: Positions | None = None  # items of each row; -1 where the layer has no list. None if rows are compared
    items: pa.StringArray | None = None  # of all rows together


class SignatureReader(Protocol):
    """Reads what a kind compares out of batches of a shard."""

    def columns(self, search: Search, /) -> list[Column]:
        """The columns of nodes and digests, beside the ids."""

    def compared(self, search: Search, batch: Batch, /) -> Compared:
        """The nodes that are compared."""

    def status_columns(self, search: Search, /) -> list[Column]:
        """The columns that statuses are made of."""

    def statuses(self, search: Search, batch: Batch, /) -> NodeStatuses:
        """What is compared, and why the rest is not."""


@dataclass(frozen=True)
class _Texts:
    """Rows by the digest that their signature layer has."""

    kind: Kind

    def columns(self, search: Search) -> list[Column]:
        return [Column(search.kinds[self.kind], "digest")]

    def compared(self, search: Search, batch: Batch) -> Compared:
        digests = batch[f"{search.kinds[self.kind]}.digest"]
        rows = np.flatnonzero(digests.is_valid().to_numpy(zero_copy_only=False))
        taken = pa.array(rows)
        return Compared(places_of(rows, np.zeros_like(rows)), digests.take(taken), batch[IDS.name].take(taken))

    def status_columns(self, search: Search) -> list[Column]:
        return [Column(search.kinds[self.kind], "status")]

    def statuses(self, search: Search, batch: Batch) -> NodeStatuses:
        return NodeStatuses(batch[f"{search.kinds[self.kind]}.status"])


class _PictureBytes:
    """Items by the digest that ingest wrote."""

    def columns(self, _: Search) -> list[Column]:
        return [MEDIA]

    def compared(self, _: Search, batch: Batch) -> Compared:
        media = batch[MEDIA.name]
        statuses = _byte_statuses(media)
        return _compared_items(
            batch,
            list_counts(media),
            statuses,
            lambda chosen: [
                bytes.fromhex(one)[:ID_BYTES]
                for one in pc.struct_field(media.flatten(), "sha256").take(chosen).to_pylist()
            ],
        )

    def status_columns(self, _: Search) -> list[Column]:
        return [MEDIA, _MODALITY]

    def statuses(self, _: Search, batch: Batch) -> NodeStatuses:
        return _unless_forgotten(batch, list_counts(batch[MEDIA.name]), _byte_statuses(batch[MEDIA.name]), NO_PICTURE)


class _MeasuredItems:
    """Items by what an operator measured of each: lists in a layer, which also says why an item has none."""

    kind: Kind
    leaves: ClassVar[tuple[str, ...]]
    empty: str = NO_PICTURE
    absent: ClassVar[tuple[str, ...]] = ("no_input",)  # the layer's statuses of rows without items

    def columns(self, search: Search) -> list[Column]:
        return [Column(search.kinds[self.kind], leaf) for leaf in ("status", "items", *self.leaves)]

    def compared(self, search: Search, batch: Batch) -> Compared:
        counts, (statuses, values) = self._counts(search, batch), self._values(search, batch)
        chosen = values.take(pa.array(np.flatnonzero(pc.equal(statuses, OK).to_numpy(zero_copy_only=False))))
        # microseconds each, a fraction of what reading and sending it takes
        digests = [hashlib.blake2b(one, digest_size=ID_BYTES).digest() for one in chosen.to_pylist()]
        found = _compared_items(batch, counts, statuses, lambda _: digests)
        return Compared(found.places, found.digests, found.ids, chosen)

    def status_columns(self, search: Search) -> list[Column]:
        return self.columns(search)

    def statuses(self, search: Search, batch: Batch) -> NodeStatuses:
        layer = search.kinds[self.kind]
        counts, (items, _) = self._counts(search, batch), self._values(search, batch)
        measured = batch[f"{layer}.status"]
        unmeasured = pc.if_else(pc.is_in(measured, pa.array(self.absent)), self.empty, measured)
        rows = pc.if_else(pc.equal(measured, OK), _row_statuses(counts, items, self.empty), unmeasured)
        listed = batch[f"{layer}.items"].is_valid().to_numpy(zero_copy_only=False)
        return NodeStatuses(rows, np.where(listed, counts, -1), items)

    def _counts(self, search: Search, batch: Batch) -> Positions:
        layer = search.kinds[self.kind]
        counts = [list_counts(batch[f"{layer}.{leaf}"]) for leaf in ("items", *self.leaves)]
        if any(not np.array_equal(counts[0], other) for other in counts[1:]):
            raise StageError(f"dedupe: lists of {layer} that belong together differ in length; run 'winnow audit'")
        return counts[0]

    def _values(self, search: Search, batch: Batch) -> tuple[pa.StringArray, pa.Array]:
        """Return of all items the statuses, and the values of those that are compared."""
        layer = search.kinds[self.kind]
        items, *lists = (batch[f"{layer}.{leaf}"].flatten() for leaf in ("items", *self.leaves))
        measured, values = self._measured(search, lists)
        said = pc.fill_null(items, NOT_MEASURED)
        return pc.if_else(pc.equal(said, OK), measured, said), values

    def _measured(self, search: Search, lists: Sequence[pa.Array], /) -> tuple[pa.StringArray, pa.Array]:
        """Return the statuses of items that were measured, and their values."""
        raise NotImplementedError


class _Hashes(_MeasuredItems):
    """Items by their PDQ hash, but for flat pictures."""

    kind = "pdq"
    leaves = ("hash", "quality")

    def _measured(self, search: Search, lists: Sequence[pa.Array]) -> tuple[pa.StringArray, pa.Array]:
        assert search.pdq is not None
        hashes, quality = lists
        known = pc.and_(hashes.is_valid(), quality.is_valid())
        good = pc.fill_null(pc.greater_equal(quality, search.pdq.min_quality), False)
        return pc.if_else(known, pc.if_else(good, OK, LOW_QUALITY), NOT_MEASURED), hashes.cast(pa.binary(HASH_BYTES))


@dataclass(frozen=True)
class _Vectors(_MeasuredItems):
    """Items by their embedding, in whole numbers of 16 bits; those without a direction are not compared."""

    kind: Kind
    empty: str = NO_PICTURE
    leaves: ClassVar[tuple[str, ...]] = ("vector",)

    def _measured(self, _: Search, lists: Sequence[pa.Array]) -> tuple[pa.StringArray, pa.Array]:
        (vectors,) = lists
        there = np.flatnonzero(vectors.is_valid().to_numpy(zero_copy_only=False))
        lengths = np.unique(pc.list_value_length(vectors).take(pa.array(there)).to_numpy(zero_copy_only=False))
        require_one_length(lengths.tolist(), self.kind)
        statuses, values = np.full(len(vectors), NOT_MEASURED, object), np.full(len(vectors), None, object)
        if len(there) and lengths[0]:
            numbers = vectors.take(pa.array(there)).flatten().to_numpy(zero_copy_only=False)
            whole, known = rounded(numbers.astype(np.float32).reshape(len(there), -1))
            statuses[there[known]] = OK
            values[there[known]] = [one.astype("<i2").tobytes() for one in whole[known]]
        return pa.array(statuses, pa.string()), pa.array(values, pa.large_binary())


class _Captions(_MeasuredItems):
    """Captions by the digest of their text: those that the recipe's `captions` chooses."""

    kind = "captions"
    leaves = ("digest",)
    empty = NO_CAPTION
    absent = ("no_input", *CAPTION_REASONS)

    def _measured(self, _: Search, lists: Sequence[pa.Array]) -> tuple[pa.StringArray, pa.Array]:
        (found,) = lists
        return pc.if_else(found.is_valid(), OK, NOT_MEASURED), found.cast(_DIGEST)


class _Videos(_MeasuredItems):
    """Items by the PDQ hashes of their frames, one after another, but for flat frames and those like earlier ones."""

    kind = "vpdq"
    leaves = ("hash", "quality")
    empty = NO_VIDEO

    def _measured(self, search: Search, lists: Sequence[pa.Array]) -> tuple[pa.StringArray, pa.Array]:
        assert search.vpdq is not None
        hashes, quality = lists
        statuses: list[str] = []
        values: list[bytes | None] = []
        for frames, good in zip(hashes, quality, strict=True):  # a video each: some microseconds, and more for films
            if not (frames.is_valid and good.is_valid):
                statuses.append(NOT_MEASURED)
                values.append(None)
                continue
            raw = np.frombuffer(b"".join(frames.as_py()), "<u8").reshape(-1, 4).astype(np.uint64)
            clear = raw[good.values.to_numpy(zero_copy_only=False) >= search.vpdq.min_quality]
            kept = clear[distinct_frames(clear, search.vpdq.still_radius)]
            statuses.append(OK if len(kept) else LOW_QUALITY)
            values.append(kept.astype("<u8").tobytes() if len(kept) else None)
        return pa.array(statuses, pa.string()), pa.array(values, pa.large_binary())


def require_one_length(lengths: Sequence[int], kind: Kind) -> None:
    """Raise StageError if vectors that are compared have more than one length."""
    if len(lengths) > 1:
        found = " and ".join(f"{length:,}" for length in sorted(lengths)[:2])
        raise StageError(
            f"dedupe.{kind}: there are vectors of {found} numbers; vectors of one encoder are compared: measure all "
            "samples with the same one"
        )


READERS: Final[Mapping[Kind, SignatureReader]] = {
    "exact": _Texts("exact"),
    "url": _Texts("url"),
    "near": _Texts("near"),
    "image_bytes": _PictureBytes(),
    "pdq": _Hashes(),
    "embedding": _Vectors("embedding"),
    "vpdq": _Videos(),
    "video_embedding": _Vectors("video_embedding", NO_VIDEO),
    "captions": _Captions(),
}


class _Digested(Protocol):
    def __call__(self, chosen: pa.Array) -> Sequence[bytes]:
        """The digests of these items."""


def _compared_items(batch: Batch, counts: Positions, statuses: pa.StringArray, digests: _Digested) -> Compared:
    rows, items = rows_and_items(counts)
    chosen = np.flatnonzero(pc.equal(statuses, OK).to_numpy(zero_copy_only=False))
    rows, items = rows[chosen], items[chosen]
    found = pa.array(digests(pa.array(chosen)), _DIGEST)
    return Compared(places_of(rows, items), found, item_ids(batch[IDS.name].take(pa.array(rows)), items))


def _byte_statuses(media: pa.ListArray) -> pa.StringArray:
    items = media.flatten()
    picture = pc.starts_with(pc.struct_field(items, "mime"), "image/")
    hashed = pc.struct_field(items, "sha256").is_valid()
    return pc.if_else(picture, pc.if_else(hashed, OK, NOT_HASHED), NOT_AN_IMAGE)


def _unless_forgotten(batch: Batch, counts: Positions, items: pa.StringArray, empty: str) -> NodeStatuses:
    """Return the statuses of rows and items that ingest wrote."""
    forgotten = pc.equal(batch[_MODALITY.name], FORGOTTEN)
    rows = pc.if_else(forgotten, FORGOTTEN, _row_statuses(counts, items, empty))
    return NodeStatuses(rows, np.where(forgotten.to_numpy(zero_copy_only=False), -1, counts), items)


def _row_statuses(counts: Positions, items: pa.StringArray, empty: str = NO_PICTURE) -> pa.StringArray:
    """Return `ok` for rows with an item that is compared, else why the first one is not."""
    rows, _ = rows_and_items(counts)
    compared = np.bincount(rows[pc.equal(items, OK).to_numpy(zero_copy_only=False)], minlength=len(counts)) > 0
    first = pa.array(np.cumsum(counts) - counts, mask=counts == 0)
    return pc.if_else(pa.array(compared), OK, pc.fill_null(items.take(first), empty))
