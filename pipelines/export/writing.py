"""The writing side of an export: sorts one shard at a time, writes it in its format, and commits it.

A worker holds one output shard: its rows without the bytes of media, which are on disk, and one batch for the format.
"""

import itertools
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from winnow.pipelines.export.formats.columns import NO_BANDS
from winnow.pipelines.export.formats.protocol import WrittenShard
from winnow.pipelines.export.media.fetching import MissingMedia, lacking_of, sums_of_lists
from winnow.pipelines.export.media.spool import HELD, MediaSpool
from winnow.pipelines.export.places.manifest import LeftOut, ShardCommit, file_records
from winnow.pipelines.export.planning.export_run import Destination, ExportRun, Place
from winnow.pipelines.media.pictures import PictureSource
from winnow.pipelines.running.ledger.crashes import CrashedVideos
from winnow.schemas.errors import ExportError, StageError
from winnow.schemas.rows.draws import MIXED
from winnow.schemas.uint128 import words_of

BATCH_ROWS = 4096
BATCH_BYTES = 8 << 20
_VIEWED_BYTES = 1 << 30  # a view's offsets have 32 bits


class WriteShards:
    """A partition and its rows → its number, once every export with that shard has committed it. Picklable."""

    def __init__(self, export_run: ExportRun) -> None:
        self._export_run = export_run

    def __call__(self, partition: int, batches: Iterator[pa.RecordBatch]) -> Iterable[str]:
        """Writes and commits."""
        details = self._export_run.details
        place = details.places[partition]
        of_way = [destination for destination in self._export_run.destinations if destination.way == place.way]
        pending = [one for one in of_way if not one.work.is_committed(place.shard)]
        if pending:
            self._write(place, pending, batches)
        yield str(partition)

    def _write(self, place: Place, pending: Sequence[Destination], batches: Iterator[pa.RecordBatch]) -> None:
        details, media = self._export_run.details, self._export_run.media
        with pending[0].work.writing() as folder, closing(MediaSpool(folder)) as spool:
            rows = OrderedRows(place.shard.stem(), batches, spool, media, CrashedVideos(self._export_run.store.objects))
            if rows.count != place.samples:
                raise StageError(
                    f"export: received {rows.count:,} samples for {place.shard.stem()}, expected "
                    f"{place.samples:,}; run the same command again"
                )
            left_out = rows.leave_out()
            schema = MIXED if details.bands else MIXED.with_metadata(NO_BANDS)
            for one in pending:
                write_shard(one, place, rows.count, (batch.cast(schema) for batch in rows.batches()), left_out)


def write_shard(
    destination: Destination, place: Place, count: int, rows: Iterator[pa.RecordBatch], left_out: tuple[LeftOut, ...]
) -> None:
    """Writes one shard of one export and commits it; a shard with no samples left has no file."""
    if not count:
        commit = ShardCommit(WrittenShard(place.shard, 0, (), {}), left_out)
        destination.work.commit(Path(), commit)
        return
    with destination.work.writing() as folder:
        made = destination.format.write(destination.config, folder, place.shard, rows)
        if made.samples != count:
            raise StageError(
                f"export: {destination.format.name} wrote {made.samples:,} samples for {place.shard.stem()}, expected "
                f"{count:,}"
            )
        written = WrittenShard(place.shard, made.samples, file_records(folder, made.files), made.facts)
        destination.work.commit(folder, ShardCommit(written, left_out))


class OrderedRows:
    """The rows of one shard in export order."""

    def __init__(
        self,
        shard: str,
        batches: Iterator[pa.RecordBatch],
        spool: MediaSpool,
        sources: PictureSource | None = None,
        crashed: CrashedVideos | None = None,
    ) -> None:
        """Sorts the rows; ExportError if two are the same copy of the same sample.

        `shard` is for messages. `spool` keeps the bytes of media, and stays open while this is used. `sources` says
        where large media are read, which come as references; then `crashed` holds the videos not to cut again.
        """
        self._spool = spool
        self._columns, self._texts = _joined(batches, spool)
        self._order = _ordered(self._columns)
        self._refuse_equal(shard)
        self._lacking: dict[int, MissingMedia] = lacking_of(self._columns["modality"], self._columns["metadata"])
        if sources is not None and crashed is not None:
            held = self._columns["media"]
            self._columns["media"], more = spool.copy_large(
                sources.media, held, self._columns["source"], sources.videos, crashed
            )
            self._lacking |= more

    @property
    def count(self) -> int:
        """The number of rows."""
        return len(self._order)

    def leave_out(self) -> tuple[LeftOut, ...]:
        """Removes the rows that lack media, and reports the files concerned."""
        if not self._lacking:
            return ()
        self._order = self._order[~np.isin(self._order, list(self._lacking))]
        counted = Counter((one.reason, one.file, one.detail) for one in self._lacking.values())
        return tuple(LeftOut(*line, count) for line, count in sorted(counted.items()))

    def batches(self) -> Iterator[pa.RecordBatch]:
        """All rows, in batches of bounded bytes."""
        held = (self._texts.sizes + sums_of_lists(self._columns["media"], ["size"]))[self._order]
        parts = (np.cumsum(held) - 1) // BATCH_BYTES
        edges = np.concatenate([[0], np.flatnonzero(np.diff(parts)) + 1, np.arange(0, self.count, BATCH_ROWS)])
        for first, last in itertools.pairwise([*np.unique(edges).tolist(), self.count]):
            rows = self._order[first:last]
            which = pa.array(rows)
            columns = {name: column.take(which) for name, column in self._columns.items()}
            columns["text"] = self._texts.take(rows)
            columns["media"] = self._spool.give(columns["media"])
            yield pa.RecordBatch.from_arrays([columns[name] for name in MIXED.names], schema=MIXED)

    def _refuse_equal(self, shard: str) -> None:
        order = self._columns["order"].to_numpy()[self._order]
        near = np.flatnonzero(order[1:] == order[:-1])
        # Not hot: different samples have equal order values only with a chance of 1 in 2^64 per pair.
        for place in near.tolist():
            first, second = (
                [self._columns[name][int(self._order[at])].as_py() for name in ("id", "copy", "source", "url")]
                for at in (place, place + 1)
            )
            if first[:2] == second[:2]:
                names = " and ".join(f"{one[2]}{f' ({one[3]})' if one[3] else ''}" for one in (first, second))
                raise ExportError(
                    f"{shard}: two samples have the id {first[0].hex()} and are copy {first[1]}, of {names}: the draw "
                    "gives a sample twice; plan again: winnow mix"
                )


class Texts:
    """Texts that stay in the buffers in which they arrived; each is copied once, when it is taken.

    The sort operates on Arrow views: 16 bytes that begin with the length. Arrow cannot yet `take` from views.
    """

    def __init__(self, pieces: Sequence[pa.LargeStringArray]) -> None:
        self.sizes: NDArray[np.int64]
        self._whole: pa.LargeStringArray | None = None
        if any(piece.nbytes > _VIEWED_BYTES for piece in pieces):  # a single text in its block
            self._whole = pa.concat_arrays(pieces)
            self.sizes = pc.fill_null(pc.binary_length(self._whole), 0).to_numpy(zero_copy_only=False)
            return
        views = pa.concat_arrays([pa.array([], pa.string_view()), *(piece.cast(pa.string_view()) for piece in pieces)])
        _, held, *self._buffers = views.buffers()
        self._views = np.frombuffer(held, "V16", len(views), 16 * views.offset)
        self._there = np.asarray(views.is_valid()) if views.null_count else None
        sizes = self._views.view("<i4")[::4].astype(np.int64)
        self.sizes = sizes if self._there is None else np.where(self._there, sizes, 0)

    def take(self, rows: NDArray[np.int64]) -> pa.LargeStringArray:
        """The texts of these rows, in one buffer."""
        if self._whole is not None:
            return self._whole.take(pa.array(rows))
        there = None if self._there is None else pa.array(self._there[rows]).buffers()[1]
        buffers = [there, pa.py_buffer(self._views[rows]), *self._buffers]
        return pa.Array.from_buffers(pa.string_view(), len(rows), buffers).cast(pa.large_string())


def _joined(batches: Iterator[pa.RecordBatch], spool: MediaSpool) -> tuple[dict[str, pa.Array], Texts]:
    """All rows, column by column, so that only one column exists twice at a time; texts are not copied."""
    types = {field.name: HELD if field.name == "media" else field.type for field in MIXED}
    pieces: dict[str, list[pa.Array]] = {name: [] for name in MIXED.names}
    for batch in batches:
        media = batch.column("media")
        # Columns of a block share its memory: those that stay are copied out of one that holds the bytes of media.
        copied = pa.array(np.arange(len(batch))) if len(media.flatten()) else None
        for name, column in zip(MIXED.names, batch.columns, strict=True):
            if name == "media":
                pieces[name].append(spool.hold(media) if copied is None else spool.hold(media).take(copied))
            else:
                pieces[name].append(column if copied is None else column.take(copied))
    texts = Texts(pieces.pop("text"))
    joined: dict[str, pa.Array] = {}
    for name in list(pieces):
        joined[name] = pa.concat_arrays([pa.array([], types[name]), *pieces.pop(name)])
    return joined, texts


def _ordered(columns: dict[str, pa.Array]) -> NDArray[np.int64]:
    high, low = words_of(columns["id"])
    return np.lexsort((low, high, columns["copy"].to_numpy(), columns["order"].to_numpy()))
