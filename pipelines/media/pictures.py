"""Decodes the pictures of some rows, each once for every operator that looks at it.

A picture that is gone or cannot be decoded is no failure: it gets a status. A lost disk is one: the task is retried.
Decoded pictures and files are held up to a number of bytes; beyond that they come in several batches.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from winnow.filters.image.decode.batches import batch_of
from winnow.filters.image.decode.stills import TOO_LARGE, DecodeLimits, Still, UndecodableError, scale_of, sized
from winnow.filters.operators import FILES, NO_PIXELS
from winnow.filters.video.decode.opening import VideoLimits
from winnow.pipelines.decoding.decoding_process import BATCH_FILES
from winnow.pipelines.decoding.isolation import CRASHED, HELD_BYTES, PixelBuffer
from winnow.pipelines.media.references import MediaFinder, MediaSources, Unavailable, status_of_other
from winnow.pipelines.media.required_media import RequiredMedia
from winnow.pipelines.reading.items import list_ends, list_sums
from winnow.pipelines.running.ledger.crashes import CrashedPictures
from winnow.schemas.rows.samples import NOT_AN_IMAGE

__all__ = ["OK", "Items", "PictureSource", "Pictures", "decoded_bytes"]

OK = "ok"

_FILE_BYTES = 8 << 20  # of files that are decoded at once, but for a larger one


@dataclass(frozen=True)
class PictureSource:
    """Where pictures are read and what one may cost. Picklable."""

    media: MediaSources
    limits: DecodeLimits
    held_bytes: int = HELD_BYTES  # of decoded pixels; a larger picture is held alone
    videos: VideoLimits = field(default_factory=VideoLimits)  # what cutting a video may cost


@dataclass(frozen=True)
class Items:
    """The items of some rows, as one operator looks at them.

    `offsets`: where the items of each row begin, and the end. `statuses`: why an item is in no batch; filled while
    batches are given. `batches`: from ascending item numbers to batches of the usable ones, with their numbers.
    """

    offsets: NDArray[np.int64]
    statuses: Sequence[str | None]
    batches: Callable[[NDArray[np.int64]], Iterator[tuple[NDArray[np.int64], pa.RecordBatch]]]

    def items_of(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """The items of these rows, in order."""
        parts = [np.arange(self.offsets[row], self.offsets[row + 1]) for row in rows.tolist()]
        return np.concatenate(parts) if parts else np.empty(0, np.int64)


class Pictures:
    """The items of some rows of one source, decoded on first use.

    `sides`: what `decoded` will be asked for. `keeps_files`: whether some operator asks for files, which are then kept.
    `crashed`: the pictures not to decode again; new ones are added. `finder` reads pictures again.
    """

    def __init__(
        self,
        source: PictureSource,
        name: str,
        media: pa.ListArray,
        crashed: CrashedPictures | None = None,
        *,
        sides: Sequence[int | None] = (),
        keeps_files: bool = False,
        finder: Callable[[MediaSources, str], MediaFinder] = RequiredMedia,
    ) -> None:
        self._source, self._name, self._crashed, self._finder = source, name, crashed, finder
        self._items: Sequence[dict[str, Any]] = media.flatten().to_pylist()  # a few for each row; each reads a file
        self.offsets = list_ends(media)
        self.statuses: list[str | None] = [None] * len(self._items)
        self._stills: dict[tuple[int, int], Still] = {}  # by item and scale
        self._sides: dict[int, tuple[int, int]] = {}  # of items that have been decoded; those of their rows may lie
        self._room = PixelBuffer(source.limits, source.held_bytes)
        self._common = next((side for side in sides if side != NO_PIXELS), 1)
        self._repeated = {side for side in sides if side is not None and sides.count(side) > 1}
        self._shrunk: dict[tuple[int, int], Still] = {}  # by item and side
        self._shrunk_left = source.held_bytes
        self._files: dict[int, bytes] = {}
        self._hashes: dict[int, str] = {}  # of the bytes of items that have been read
        self._left = source.held_bytes if keeps_files else 0  # bytes of files that are still kept
        self._unread: list[str | None] = [None] * len(self._items)

    def decoded(self, side: int | None) -> Items:
        """The items, for an operator whose pictures have at most this side."""
        return Items(self.offsets, self.statuses, partial(self.batches, side=side))

    def files(self) -> Items:
        """The items, for an operator that reads their files, with `winnow.filters.operators.FILES`."""
        return Items(self.offsets, self._unread, self._file_batches)

    def batches(self, items: NDArray[np.int64], side: int | None) -> Iterator[tuple[NDArray[np.int64], pa.RecordBatch]]:
        """Yields the decodable ones of these ascending items, with `winnow.filters.operators.IMAGES`, some at a time.

        `side`: the longest side that the caller wants; None for every pixel, `NO_PIXELS` for any.
        """
        wanted = self._common if side == NO_PIXELS else side
        found: list[int] = []
        stills: list[Still] = []
        held = 0
        with closing(self._finder(self._source.media, self._name)) as finder:
            for item, decoded in self._decoded(finder, items.tolist(), wanted):
                still = decoded if side == NO_PIXELS else self._sized(item, decoded, side)
                if found and held + still.pixels.nbytes > self._source.held_bytes:
                    yield self._given(found, stills)
                    found, stills, held = [], [], 0
                found.append(item)
                stills.append(still)
                held += still.pixels.nbytes
        yield self._given(found, stills)

    def _sized(self, item: int, decoded: Still, side: int | None) -> Still:
        """The picture at this side, shrunk once for all operators that ask for it."""
        if side is None or side not in self._repeated:
            return sized(decoded, side)
        found = self._shrunk.get((item, side))
        if found is None:
            found = sized(decoded, side)
            if found is not decoded and found.pixels.nbytes <= self._shrunk_left:
                self._shrunk[item, side] = found
                self._shrunk_left -= found.pixels.nbytes
        return found

    def _file_batches(self, items: NDArray[np.int64]) -> Iterator[tuple[NDArray[np.int64], pa.RecordBatch]]:
        found: list[int] = []
        contents: list[bytes] = []
        held = 0
        with closing(self._finder(self._source.media, self._name)) as finder:
            for item in items.tolist():
                mime = self._items[item]["mime"] or ""
                if not mime.startswith("image/"):
                    self._unread[item] = status_of_other(mime, NOT_AN_IMAGE)
                    continue
                content = self._content(finder, item)
                if isinstance(content, Unavailable):
                    self._unread[item] = content.status
                    continue
                if len(content) > self._source.limits.max_bytes:
                    self._unread[item] = TOO_LARGE
                    continue
                if found and held + len(content) > self._source.held_bytes:
                    yield self._files_of(found, contents)
                    found, contents, held = [], [], 0
                self._unread[item] = OK
                found.append(item)
                contents.append(content)
                held += len(content)
        yield self._files_of(found, contents)

    def _files_of(self, items: Sequence[int], contents: Sequence[bytes]) -> tuple[NDArray[np.int64], pa.RecordBatch]:
        mimes = [self._items[item]["mime"] for item in items]
        columns = [pa.array(mimes, pa.string()), pa.array(contents, pa.large_binary())]
        return np.array(items, np.int64), pa.RecordBatch.from_arrays(columns, schema=FILES)

    def _content(self, finder: MediaFinder, item: int) -> bytes | Unavailable:
        """An item's bytes, or why they are unavailable."""
        if item in self._files:
            return self._files[item]
        found = finder.find(self._items[item])
        if isinstance(found, Unavailable):
            return found
        content: bytes = found["bytes"]
        self._hashes[item] = found["sha256"]
        if len(content) <= self._left:
            self._files[item] = content
            self._left -= len(content)
        return content

    def _given(self, items: Sequence[int], stills: Sequence[Still]) -> tuple[NDArray[np.int64], pa.RecordBatch]:
        given = [self._items[item] for item in items]
        frames = [one["frames"] for one in given]
        batch = batch_of([one["mime"] for one in given], [one["bytes"] for one in given], frames, stills)
        return np.array(items, np.int64), batch

    def _decoded(self, finder: MediaFinder, items: Sequence[int], side: int | None) -> Iterator[tuple[int, Still]]:
        """The items that can be decoded, in order."""
        for first in range(0, len(items), BATCH_FILES):
            some = [item for item in items[first : first + BATCH_FILES] if self.statuses[item] in (None, OK)]
            files: dict[int, tuple[bytes, str]] = {}
            begin = held = 0
            for end, item in enumerate(some, 1):
                if self._kept(item, side) is None and (file := self._file(finder, item)) is not None:
                    files[item] = file
                    held += len(file[0])
                if held > _FILE_BYTES or end == len(some):
                    yield from self._in_order(some[begin:end], files, side)
                    begin, held, files = end, 0, {}

    def _in_order(
        self, items: Sequence[int], files: Mapping[int, tuple[bytes, str]], side: int | None
    ) -> Iterator[tuple[int, Still]]:
        decoding = self._room.decode_all(list(files.values()), side)
        for item in items:
            still = next(decoding) if item in files else self._kept(item, side)
            if isinstance(still, UndecodableError):
                self.statuses[item] = still.reason
                if still.reason == CRASHED and self._crashed is not None:
                    self._crashed.add(self._hashes[item], still.detail)
            elif still is not None:
                self.statuses[item] = OK
                self._sides[item] = still.height, still.width
                if self._room.holds(still):  # others are decoded again for the next operator
                    self._stills[item, self._scale(item, side)] = still
                yield item, still

    def _kept(self, item: int, side: int | None) -> Still | None:
        """The picture, if it has been decoded at this scale."""
        return self._stills.get((item, self._scale(item, side))) if item in self._sides else None

    def _scale(self, item: int, side: int | None) -> int:
        return scale_of(self._items[item]["mime"], *self._sides[item], side)

    def _file(self, finder: MediaFinder, item: int) -> tuple[bytes, str] | None:
        """The file of an item, and its type; None, and a status, if it is unavailable or must not be decoded."""
        mime = self._items[item]["mime"] or ""
        if not mime.startswith("image/"):
            self.statuses[item] = status_of_other(mime, NOT_AN_IMAGE)
            return None
        content = self._content(finder, item)
        if isinstance(content, Unavailable):
            self.statuses[item] = content.status
            return None
        if self._crashed is not None and self._hashes[item] in self._crashed:
            self.statuses[item] = CRASHED
            return None
        return content, mime


def decoded_bytes(media: pa.ListArray, sides: Sequence[int | None], limits: DecodeLimits) -> NDArray[np.int64]:
    """The approximate bytes of each row's decoded pictures for these sides, as far as ingest knows their sizes."""
    items = media.flatten()
    width, height = (
        pc.fill_null(pc.struct_field(items, name), 0).to_numpy(zero_copy_only=False).astype(np.int64)
        for name in ("width", "height")
    )
    pixels = np.where(width * height <= limits.max_pixels, width * height, 0)
    longest = np.maximum(width, height)
    is_jpeg = pc.equal(pc.struct_field(items, "mime"), "image/jpeg").to_numpy(zero_copy_only=False)
    decoded = np.zeros(len(items), np.int64)
    for scale in (1, 2, 4, 8):
        needed = np.zeros(len(items), np.bool_)
        for side in set(sides) - {NO_PIXELS} or {1}:
            if side is None:
                needed |= scale == 1
                continue
            fitting = sum((longest >= one * side).astype(np.int64) for one in (2, 4, 8))
            needed |= np.where(is_jpeg, 1 << fitting, 1) == scale
        decoded += np.where(needed, 3 * pixels // scale**2, 0)
    return list_sums(media, decoded)
