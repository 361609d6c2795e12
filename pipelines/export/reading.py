"""The reading side of an export: reads the drawn rows of a shard, edits them and sends one row per copy.

Rows are cut by bytes before they are built, so that no batch is larger than a block of the exchange, however
large the texts are and however often they are repeated.
"""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from winnow.filters.image.changes.options import PictureChanges
from winnow.filters.video.clips.options import ClipFile
from winnow.pipelines.export.documents import Documents, columns_of_documents, documents_of, no_documents
from winnow.pipelines.export.media.fetching import Fetched, WantedItems, fetch_media, marked, sums_of_items
from winnow.pipelines.export.planning.export_run import FACES, ExportDetails, ExportRun
from winnow.pipelines.export.planning.sizing import Way, order_key
from winnow.pipelines.media.references import referred_bytes
from winnow.pipelines.mix.draws import DrawnShard, copies_of
from winnow.pipelines.mix.dropped_media import DroppedMedia, read_draw
from winnow.pipelines.reading.chosen_captions import chosen_captions
from winnow.pipelines.reading.chosen_text import first_text
from winnow.pipelines.reading.columns import Column
from winnow.pipelines.reading.items import list_counts
from winnow.pipelines.reading.picked_rows import Rows, read_picked, taken
from winnow.pipelines.reading.text_edits import EditedTexts, Edits
from winnow.pipelines.running.exchange import MAX_BLOCK_BYTES
from winnow.pipelines.running.ledger.crashes import CrashedPictures
from winnow.pipelines.store import layout
from winnow.pipelines.store.hiding.scans import load_hiding
from winnow.schemas.counts import count_of
from winnow.schemas.errors import ExportError
from winnow.schemas.identity import canonical_json
from winnow.schemas.mixture import Stratum
from winnow.schemas.rows.draws import DRAW, MIXED
from winnow.schemas.rows.extraction import EXTRACTED
from winnow.schemas.uint128 import words_of
from winnow.scoring.mixture.orders import export_order

BATCH_ROWS = 8192
NODE_BYTES = 256  # of a node, with its addresses, about
REFERENCES = "media"
"""The metadata key for a sample's media references, unless its source already uses it."""

AddressedRows: TypeAlias = tuple[pa.RecordBatch, NDArray[np.int64]]
"""Rows, and the partition of each."""

_OF_SAMPLES = ("licence", "url", "mime", "modality", "metadata", "media")
READ, RELAYED = "read", "relayed"
BEATS = "progress"
"""Where workers report progress, and on what."""


@dataclass(frozen=True)
class _Given:
    """The drawn rows that one output takes from a shard."""

    output: int
    rows: pa.RecordBatch
    numbers: Rows  # in the shard


@dataclass(frozen=True)
class _Read:
    """Rows read from the store."""

    columns: Mapping[str, pa.Array]
    held: NDArray[np.int64]  # approximate bytes of each row
    media: pa.Array  # the references of each row
    with_media: NDArray[np.int64]  # bytes of each row with its media
    source: str
    faces: pa.Array | None  # the boxes in each item of each row
    crashed: CrashedPictures | None  # None if no picture is changed
    sources: pa.Array | None = None  # of documents, the source of each item; null for `source`


def mixed_rows(
    export_run: ExportRun, details: ExportDetails, edits: Edits, shard: DrawnShard
) -> Iterator[AddressedRows]:
    """Rows of `MIXED` with the partition of each: of every output in every cutting, if pending.

    ExportError if the store no longer matches the plan: rows were forgotten, or ids or texts differ.
    """
    objects = export_run.store.objects
    drawn = read_draw(objects, shard.draw, DRAW.names).combine_chunks()
    dropped = DroppedMedia.drawn(drawn)
    given = [one for one in _by_output(drawn) if _is_pending(details, one.output)]
    rows: Rows = np.unique(np.concatenate([np.zeros(0, np.int64), *(one.numbers for one in given)]))
    if not len(rows):
        return
    _refuse_forgotten(export_run, shard, rows)
    changes = [PictureChanges.from_json(way.pictures) for way in details.cuttings]
    blurred = any(change.blur_faces is not None for change in changes)
    crashed = CrashedPictures(objects) if any(change.encodes for change in changes) else None
    documents = any(way.documents for way in details.cuttings)
    own = [Column(layout.SAMPLES, leaf) for leaf in ("id", *_OF_SAMPLES)]
    more = [*([FACES] if blurred else []), *(columns_of_documents(export_run.images) if documents else ())]
    columns = dict.fromkeys([*export_run.text, *export_run.captions, *edits.columns, *own, *more])
    for part, read in read_picked(objects, shard.objects, columns, rows):
        done = _edited(export_run, edits, read, part, shard)
        texts = done.texts
        base = {**{name: read[f"samples.{name}"] for name in _OF_SAMPLES}, "text": texts}
        base["captions"] = chosen_captions([read[column.name] for column in export_run.captions])
        media = dropped.left(base.pop("media"), part)
        base["metadata"] = _with_references(base["metadata"], media)
        held = _held(base)
        with_media = held + sums_of_items(media, referred_bytes(media.flatten()))
        faces = dropped.left(read[FACES.name], part) if blurred else None
        base["nodes"] = no_documents(len(part))
        plain = _Read(base, held, media, with_media, shard.source, faces, crashed)
        as_documents = (
            _with_documents(plain, documents_of(read, part, dropped, done.moves, export_run.images))
            if documents
            else plain
        )
        for one in given:
            first, last = (int(place) for place in np.searchsorted(one.numbers, (part[0], part[-1] + 1)))
            here = one.rows.slice(first, last - first)
            index = np.searchsorted(part, one.numbers[first:last])
            _check(export_run, shard, here, read["samples.id"], texts, index)
            yield from _copies(export_run, details, one.output, here, index, plain, as_documents)


def _copies(
    export_run: ExportRun,
    details: ExportDetails,
    output: int,
    drawn: pa.RecordBatch,
    index: NDArray[np.int64],
    plain: _Read,
    as_documents: _Read,
) -> Iterator[AddressedRows]:
    """The copies of the rows read, for every cutting."""
    high, low = words_of(drawn["id"])
    key = order_key(export_run.seed)
    strata = _Names(details.strata[output])
    for rows, copies in copies_of(drawn):
        order = export_order((high[rows], low[rows]), key, copies)
        for way, cutting in sorted(details.cuttings.items()):
            read = as_documents if way.documents else plain
            given = _Copies(drawn, strata, read, index, rows, copies, order)
            partitions = details.places.first(way, output) + cutting.outputs[output].shard_of(order)
            pending = np.flatnonzero(details.pending[partitions])
            held = (read.with_media if way.media else read.held)[index[rows[pending]]]
            for first, last in _cuts(held):
                part = pending[first:last]
                for some, fetched in _fetched(export_run, way, read, index[rows[part]]):
                    yield _by_partition(given, part[some], partitions[part[some]], fetched)


@dataclass(frozen=True)
class _Copies:
    """Copies of the rows read, ready to be built."""

    drawn: pa.RecordBatch
    strata: "_Names"
    read: _Read
    index: NDArray[np.int64]  # maps rows of the draw to positions among the rows read
    rows: NDArray[np.int64]  # the draw's row of each copy
    copies: NDArray[np.uint16]
    order: NDArray[np.uint64]

    def built(self, some: Rows, turned: Rows, fetched: Fetched | None) -> pa.RecordBatch:
        """Builds these copies; `turned` are their positions among the rows whose media were fetched."""
        of = self.rows[some]
        which = self.index[of]
        made = {
            "order": pa.array(self.order[some]),
            "copy": pa.array(self.copies[some]),
            "id": taken(self.drawn["id"], of),
            **self.strata.of(self.drawn["stratum"].to_numpy()[of]),
            **{name: taken(column, which) for name, column in self.read.columns.items()},
            "media": _no_media(len(some)),
        }
        if fetched is not None:
            made |= _with_media(fetched, turned, made)
        return pa.RecordBatch.from_arrays([made[field.name].cast(field.type) for field in MIXED], schema=MIXED)


def _by_partition(given: _Copies, some: Rows, partitions: NDArray[np.int64], fetched: Fetched | None) -> AddressedRows:
    """Sorts copies by partition before they are built, so that each is copied once."""
    turned = np.argsort(partitions, kind="stable")
    return given.built(some[turned], turned, fetched), partitions[turned]


def _fetched(
    export_run: ExportRun, way: Way, read: _Read, which: NDArray[np.int64]
) -> Iterator[tuple[slice, Fetched | None]]:
    """The rows in parts, with the bytes of their media if included; bounds what is read."""
    if not way.media or export_run.media is None:
        yield slice(None), None
        return
    changes = PictureChanges.from_json(way.pictures)
    clips = ClipFile.from_json(way.clips) if way.clips else ClipFile()
    asked = WantedItems(read.source, read.media, changes, read.faces, read.crashed, clips, read.sources)
    for fetched in fetch_media(export_run.media, asked, which, MAX_BLOCK_BYTES):
        yield fetched.rows, fetched


def _with_documents(read: _Read, documents: Documents) -> _Read:
    """The same rows, as documents."""
    held = read.held + NODE_BYTES * list_counts(documents.nodes)
    with_media = held + sums_of_items(documents.media, referred_bytes(documents.media.flatten()))
    columns = {**read.columns, "nodes": documents.nodes}
    return replace(
        read, columns=columns, held=held, media=documents.media, with_media=with_media, sources=documents.sources
    )


def _no_media(rows: int) -> pa.ListArray:
    kind = MIXED.field("media").type
    return pa.ListArray.from_arrays(np.zeros(rows + 1, np.int32), pa.array([], kind.value_type), type=kind)


def _with_media(fetched: Fetched, turned: Rows, made: Mapping[str, pa.Array]) -> dict[str, pa.Array]:
    """The columns that fetched media change; rows that lack some are marked, and counted later."""
    lacking = [fetched.lacking[row] for row in turned.tolist()]
    return {"media": fetched.media.take(pa.array(turned)), **marked(lacking, made["modality"], made["metadata"])}


class _Names:
    """The names in an output's strata, indexed by stratum number."""

    def __init__(self, strata: Sequence[Stratum]) -> None:
        names = ("source_class", "source", "family", "language", "band")
        self._columns = {name: pa.array([getattr(one, name) for one in strata], pa.string()) for name in names}

    def of(self, numbers: NDArray[np.uint32]) -> dict[str, pa.Array]:
        """The columns for these strata."""
        which = pa.array(numbers)
        return {name: column.take(which) for name, column in self._columns.items()}


def _by_output(drawn: pa.Table) -> Iterator[_Given]:
    (batch,) = drawn.to_batches() or [pa.RecordBatch.from_pylist([], DRAW)]
    outputs = batch["output"].to_numpy()
    for output in np.unique(outputs).tolist():
        first, last = (int(np.searchsorted(outputs, output, side=side)) for side in ("left", "right"))
        part = batch.slice(first, last - first)
        yield _Given(output, part, part["row"].to_numpy().astype(np.int64))


def _is_pending(details: ExportDetails, output: int) -> bool:
    """Whether any shard of an output is pending, in any cutting."""
    for way, cutting in details.cuttings.items():
        first = details.places.first(way, output)
        if details.pending[first : first + len(cutting.outputs[output].counts)].any():
            return True
    return False


def _refuse_forgotten(export_run: ExportRun, shard: DrawnShard, rows: Rows) -> None:
    objects = export_run.store.objects
    texts = [path for layer, path in shard.objects.items() if layer.startswith(EXTRACTED)]
    hidden = load_hiding(objects).of(objects, shard.objects[layout.SAMPLES], texts).rows
    gone = int(np.isin(rows, hidden).sum())
    if gone:
        raise ExportError(
            f"{objects.root}: shard {shard.shard} in plan {export_run.plan} has {count_of(gone, 'sample')} forgotten "
            "since; plan again: winnow mix"
        )


def _edited(
    export_run: ExportRun, edits: Edits, read: Mapping[str, pa.Array], part: Rows, shard: DrawnShard
) -> EditedTexts:
    texts = first_text([read[column.name] for column in export_run.text])
    done = edits.apply(texts, {column.name: read[column.name] for column in edits.columns})
    dropped = np.flatnonzero(np.asarray(done.dropped))
    if len(dropped):
        raise ExportError(
            f"{export_run.store.objects.root}: the edits of row {part[dropped[0]]} of shard {shard.shard} are unknown, "
            f"yet plan {export_run.plan} includes it; plan again: winnow mix"
        )
    return done


def _check(
    export_run: ExportRun,
    shard: DrawnShard,
    drawn: pa.RecordBatch,
    ids: pa.Array,
    texts: pa.Array,
    index: NDArray[np.int64],
) -> None:
    """Checks that the rows are those planned, and their texts have the planned length."""
    which = pa.array(index)
    lengths = pc.fill_null(pc.binary_length(texts), 0).take(which)
    for what, same in (
        ("is another sample", pc.equal(ids.take(which), drawn["id"])),
        ("has another text", pc.equal(lengths, drawn["bytes"])),
    ):
        other = np.flatnonzero(~np.asarray(same))
        if len(other):
            row = drawn["row"][int(other[0])]
            raise ExportError(
                f"{export_run.store.objects.root}: row {row} of shard {shard.shard} {what} than plan {export_run.plan} "
                "was made of; plan again: winnow mix"
            )


def _held(base: Mapping[str, pa.Array]) -> NDArray[np.int64]:
    """The approximate bytes of each row."""
    held = np.full(len(base["text"]), 256, np.int64)
    for name in ("text", "metadata", "url"):
        held += pc.fill_null(pc.binary_length(base[name]), 0).to_numpy(zero_copy_only=False)
    return held


def _cuts(held: NDArray[np.int64]) -> Iterator[tuple[int, int]]:
    """Ranges of rows of about a block's bytes each; the first row of a range may exceed that."""
    parts = (np.cumsum(held) - 1) // MAX_BLOCK_BYTES  # the number of the block in which a row ends
    starts = np.flatnonzero(np.diff(parts)) + 1
    edges = np.unique(np.concatenate([[0], starts, np.arange(0, len(held), BATCH_ROWS), [len(held)]]))
    yield from itertools.pairwise(edges.tolist())


def _with_references(metadata: pa.Array, media: pa.Array) -> pa.Array:
    """The metadata with each sample's media references; most samples have none."""
    having = np.flatnonzero(np.asarray(pc.greater(pc.list_value_length(media), 0)))
    if not len(having):
        return metadata
    described = metadata.to_pylist()
    for row in having.tolist():  # few rows, compared with the bytes of their media
        own = orjson.loads(described[row])
        if REFERENCES not in own:
            described[row] = canonical_json({**own, REFERENCES: media[row].as_py()})
    return pa.array(described, metadata.type)
