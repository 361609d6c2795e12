"""From the references of some rows to decoded pictures, each decoded once for every operator that looks at it.

A picture that cannot be had or decoded is no failure: it gets a status. Decoded pictures are held up to a number of
bytes; beyond that they are given in several batches.
"""

import threading
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from winnow.filters.image.decode.stills import DecodeLimits, Still, UndecodableError, decode, scale_of, sized
from winnow.filters.operators import IMAGES
from winnow.pipelines.media.references import MediaFinder, MediaSources, Unavailable

__all__ = ["NOT_AN_IMAGE", "OK", "PictureSource", "Pictures", "batch_of"]

OK = "ok"
NOT_AN_IMAGE = "not_an_image"
UNAVAILABLE = "unavailable"

HELD_BYTES = 64 << 20  # of decoded pixels; a larger picture is held alone


@dataclass(frozen=True)
class PictureSource:
    """Where pictures are read and what one may cost. Picklable."""

    media: MediaSources
    limits: DecodeLimits


@dataclass(slots=True)
class _Item:
    """What is known of an item once it has been read."""

    status: str
    still: Still | None


class Pictures:
    """The items of some rows of one source, decoded when they are first asked for.

    Args:
        source: Where they are read.
        name: The source of the rows.
        media: The items of each row.
    """

    def __init__(self, source: PictureSource, name: str, media: pa.ListArray) -> None:
        self._source, self._name = source, name
        self._items: Sequence[dict[str, Any]] = media.flatten().to_pylist()  # a few for each row; each reads a file
        counts = media.value_lengths().fill_null(0).to_numpy(zero_copy_only=False)
        self.offsets: NDArray[np.int64] = np.concatenate(([0], np.cumsum(counts))).astype(np.int64)
        self.statuses: list[str | None] = [None] * len(self._items)
        self._stills: dict[tuple[int, int], Still] = {}  # by item and scale
        self._room = decoding_room()  # what was decoded for other rows is over
        self._used = 0

    def items_of(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """The items of these rows, in order."""
        parts = [np.arange(self.offsets[row], self.offsets[row + 1]) for row in rows.tolist()]
        return np.concatenate(parts) if parts else np.empty(0, np.int64)

    def batches(self, items: NDArray[np.int64], side: int | None) -> Iterator[tuple[NDArray[np.int64], pa.RecordBatch]]:
        """Yields the decodable ones of these items, with `winnow.filters.operators.IMAGES`, some at a time.

        Args:
            items: Numbers of items, ascending.
            side: The longest side that the caller wants; None for every pixel.
        """
        found: list[int] = []
        stills: list[Still] = []
        held = 0
        with closing(MediaFinder(self._source.media, self._name)) as finder:
            for item in items.tolist():
                decoded = self._still(finder, item, side)
                if decoded is None:
                    continue
                still = sized(decoded, side)
                if found and held + still.pixels.nbytes > HELD_BYTES:
                    yield self._given(found, stills)
                    found, stills, held = [], [], 0
                found.append(item)
                stills.append(still)
                held += still.pixels.nbytes
        yield self._given(found, stills)

    def _given(self, items: Sequence[int], stills: Sequence[Still]) -> tuple[NDArray[np.int64], pa.RecordBatch]:
        given = [self._items[item] for item in items]
        frames = [one["frames"] for one in given]
        batch = batch_of([one["mime"] for one in given], [one["bytes"] for one in given], frames, stills)
        return np.array(items, np.int64), batch

    def _still(self, finder: MediaFinder, item: int, side: int | None) -> Still | None:
        if self.statuses[item] not in (None, OK):
            return None
        medium = self._items[item]
        scale = scale_of(medium["mime"], medium["height"] or 0, medium["width"] or 0, side)
        if (item, scale) in self._stills:
            return self._stills[item, scale]
        if not medium["mime"].startswith("image/"):
            self.statuses[item] = NOT_AN_IMAGE
            return None
        found = finder.find(medium)
        if isinstance(found, Unavailable):
            self.statuses[item] = UNAVAILABLE
            return None
        try:
            still = decode(found["bytes"], medium["mime"], self._source.limits, side, self._room[self._used :])
        except UndecodableError as error:
            self.statuses[item] = error.reason
            return None
        self.statuses[item] = OK
        size = still.pixels.nbytes
        if self._used + size <= HELD_BYTES:  # others are decoded again for the next operator
            still = placed(still, self._room[self._used : self._used + size])
            self._stills[item, scale] = still
            self._used += size
        return still


def batch_of(
    mimes: Sequence[str], sizes: Sequence[int], frames: Sequence[int | None], stills: Sequence[Still]
) -> pa.RecordBatch:
    """Decoded pictures as `winnow.filters.operators.IMAGES`.

    Args:
        mimes: Their types.
        sizes: The bytes of their files.
        frames: How many their files have.
        stills: The pictures.
    """
    offsets = np.concatenate(([0], np.cumsum([still.pixels.nbytes for still in stills]))).astype(np.int64)
    joined = _joined(stills, offsets)
    pixels = pa.LargeBinaryArray.from_buffers(
        pa.large_binary(), len(stills), [None, pa.py_buffer(offsets), pa.py_buffer(joined)]
    )
    numbers = (
        [still.height for still in stills],
        [still.width for still in stills],
        frames,
        [still.pixels.shape[0] for still in stills],
        [still.pixels.shape[1] for still in stills],
    )
    height, width, counted, rows, columns = (pa.array(one, pa.int32()) for one in numbers)
    return pa.RecordBatch.from_arrays(
        [pa.array(mimes, pa.string()), pa.array(sizes, pa.int64()), height, width, counted, pixels, rows, columns],
        schema=IMAGES,
    )


def _joined(stills: Sequence[Still], offsets: NDArray[np.int64]) -> NDArray[np.uint8]:
    """The pixels of all pictures behind one another: where they are, if they lie so already."""
    if not stills:
        return np.empty(0, np.uint8)
    starts = np.array([still.pixels.ctypes.data for still in stills])
    room = stills[0].pixels.base
    if isinstance(room, np.ndarray) and np.array_equal(starts - starts[0], offsets[:-1]):
        begin = int(starts[0]) - room.ctypes.data
        flat = room.reshape(-1)
        if begin + int(offsets[-1]) <= flat.nbytes:
            return flat[begin : begin + int(offsets[-1])]
    joined = np.empty(int(offsets[-1]), np.uint8)
    for still, start, end in zip(stills, offsets[:-1].tolist(), offsets[1:].tolist(), strict=True):
        joined[start:end] = still.pixels.reshape(-1)
    return joined


def placed(still: Still, room: NDArray[np.uint8]) -> Still:
    """A picture in this memory, where it may lie already."""
    held = room.reshape(still.pixels.shape)
    if held.ctypes.data != still.pixels.ctypes.data:
        held[:] = still.pixels
    return Still(held, still.height, still.width)


_held = threading.local()


def decoding_room() -> NDArray[np.uint8]:
    """This thread's memory for decoded pictures, kept for the next batch: new pages cost as much as decoding."""
    if not hasattr(_held, "room"):
        _held.room = np.empty(HELD_BYTES, np.uint8)
    found: NDArray[np.uint8] = _held.room
    return found
