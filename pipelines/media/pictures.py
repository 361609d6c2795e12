"""From the references of some rows to decoded pictures, each decoded once for every operator that looks at it.

A picture that cannot be had or decoded is no failure: it gets a status. Decoded pictures are held up to a number of
bytes; beyond that they are given in several batches.
"""

from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from winnow.filters.image.decode.stills import DecodeLimits, Still, UndecodableError, scale_of, sized
from winnow.filters.operators import IMAGES
from winnow.pipelines.media.references import MediaFinder, MediaSources, Unavailable
from winnow.pipelines.media.rooms import HELD_BYTES, Room

__all__ = ["NOT_AN_IMAGE", "OK", "PictureSource", "Pictures", "batch_of"]

OK = "ok"
NOT_AN_IMAGE = "not_an_image"
UNAVAILABLE = "unavailable"


@dataclass(frozen=True)
class PictureSource:
    """Where pictures are read and what one may cost. Picklable."""

    media: MediaSources
    limits: DecodeLimits
    held_bytes: int = HELD_BYTES  # of decoded pixels; a larger picture is held alone


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
        self._sides: dict[int, tuple[int, int]] = {}  # of items that have been decoded; those of their rows may lie
        self._room = Room(source.held_bytes)

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
                if found and held + still.pixels.nbytes > self._source.held_bytes:
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
        mime = medium["mime"] or ""
        if item in self._sides and (item, scale_of(mime, *self._sides[item], side)) in self._stills:
            return self._stills[item, scale_of(mime, *self._sides[item], side)]
        if not mime.startswith("image/"):
            self.statuses[item] = NOT_AN_IMAGE
            return None
        found = finder.find(medium)
        if isinstance(found, Unavailable):
            self.statuses[item] = UNAVAILABLE
            return None
        try:
            still = self._room.decode(found["bytes"], mime, self._source.limits, side)
        except UndecodableError as error:
            self.statuses[item] = error.reason
            return None
        self.statuses[item] = OK
        self._sides[item] = still.height, still.width
        if self._room.holds(still):  # others are decoded again for the next operator
            self._stills[item, scale_of(mime, still.height, still.width, side)] = still
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
