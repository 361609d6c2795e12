"""Task inputs that no column holds: the first picture of each row in squares, decoded as for operators; where a score
asks for them, frames of the first video of a row without a picture.

A picture that has changed, cannot be decoded under the recipe's limits, or whose record or single file is missing is
marked permanently in its row; for a temporary error the task fails (`required_media.py`).
"""

from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from winnow.filters.image.decode.batches import pixels_of
from winnow.filters.image.decode.containers import Bytes
from winnow.filters.image.models.framing import Framing, framed
from winnow.pipelines.media.pictures import OK, Pictures, PictureSource
from winnow.pipelines.media.references import Unavailable
from winnow.pipelines.media.required_media import RequiredMedia
from winnow.pipelines.media.videos.frames import FrameReader
from winnow.pipelines.reading.items import list_ends
from winnow.pipelines.running.ledger.crashes import CrashedPictures, CrashedVideos
from winnow.pipelines.store.facade import ObjectStore
from winnow.schemas.recipe.score import VideoFrames
from winnow.scoring.protocol import IMAGE_MISSING, UNREADABLE, PictureFit, picture_type

_T = TypeVar("_T")

ROWS = 256  # rows whose pictures are held at once
DECODED = 64 << 20  # bytes of their squares; a larger one is held alone


@dataclass(frozen=True, slots=True)
class Images:
    """The first picture of consecutive rows, or frames of their videos.

    `passes`: a picture for each row (`winnow.scoring.protocol.picture_type`; null if none can be decoded), as often as
    frames are requested. The first pass has the middle frame of each video; pictures, and videos with fewer frames,
    repeat. `statuses`: why a picture is missing, else None. `counts`: how many passes show each row something new.
    """

    rows: slice
    passes: tuple[pa.Array, ...]
    statuses: NDArray[np.object_]
    counts: NDArray[np.int64]

    @property
    def squares(self) -> pa.Array:
        """Those of the first pass."""
        return self.passes[0]


@dataclass(frozen=True)
class Inputs:
    """Where pictures are read; None if no task needs them. Picklable."""

    pictures: PictureSource | None
    crashed: CrashedPictures | None = None
    frames: VideoFrames | None = None  # of videos; None if they have no picture
    crashed_videos: CrashedVideos | None = None

    def in_store(self, objects: ObjectStore) -> "Inputs":
        """The same, with the store's record of media that crashed their decoder, which are skipped."""
        if self.pictures is None:
            return self
        return replace(self, crashed=CrashedPictures(objects), crashed_videos=CrashedVideos(objects))

    def images(
        self, media: pa.ListArray, source: str, side: int, max_rows: int = ROWS, *, fit: PictureFit = "stretch"
    ) -> Iterator[Images]:
        """Yields each row's first picture, some rows at a time; StageError if a file cannot be reached.

        `side`: of the squares. `max_rows`: the most rows at once; fewer if their squares would exceed `DECODED`. `fit`:
        how pictures become squares.
        """
        most = 1 if self.frames is None else self.frames.max_frames
        step = max(1, min(max_rows, DECODED // (picture_type(side).byte_width * most)))
        for first in range(0, len(media), step):
            some = media.slice(first, step)
            yield self._images(some, slice(first, first + len(some)), source, Framing(side, fit))

    def _images(self, media: pa.ListArray, rows: slice, source: str, framing: Framing) -> Images:
        squares, statuses = self._decoded(media, source, framing)
        counts = np.ones(len(media), np.int64)
        passes = [squares]
        if self.frames is not None:
            passes += [squares.copy() for _ in range(1, self.frames.max_frames)]
            self._add_frames(media, source, framing, self.frames, passes, statuses, counts)
        there = statuses == OK
        statuses[there] = None
        valid = pa.array(there).buffers()[1]
        kind = picture_type(framing.side)
        arrays = [pa.Array.from_buffers(kind, len(media), [valid, pa.py_buffer(one.reshape(-1))]) for one in passes]
        return Images(rows, tuple(arrays), statuses, counts)

    def _decoded(
        self, media: pa.ListArray, source: str, framing: Framing
    ) -> tuple[NDArray[np.uint8], NDArray[np.object_]]:
        """The square and the status of each row's first picture; the status is None where there is none."""
        assert self.pictures is not None
        side = framing.side
        wanted = framing.decoded_side
        pictures = Pictures(self.pictures, source, media, self.crashed, sides=(wanted,), finder=_ScoredMedia)
        items = _first_items(media, pictures.offsets, "image/")
        rows = np.flatnonzero(items >= 0)
        items = items[rows]
        squares = np.zeros((len(media), side, side, 3), np.uint8)
        statuses = np.full(len(media), None, np.object_)
        for numbers, batch in pictures.batches(items, wanted):
            places = rows[np.searchsorted(items, numbers)]
            for row, pixels in zip(places.tolist(), pixels_of(batch), strict=True):  # a picture each
                squares[row] = framed(pixels, framing)
        statuses[rows] = [pictures.statuses[item] for item in items.tolist()]
        return squares, statuses

    def _add_frames(
        self,
        media: pa.ListArray,
        source: str,
        framing: Framing,
        frames: VideoFrames,
        passes: list[NDArray[np.uint8]],
        statuses: NDArray[np.object_],
        counts: NDArray[np.int64],
    ) -> None:
        """Puts frames of the first video of each row without a picture into the passes."""
        assert self.pictures is not None
        offsets = list_ends(media)
        videos = np.where(_first_items(media, offsets, "image/") < 0, _first_items(media, offsets, "video/"), -1)
        items = media.flatten()
        with closing(_ScoredMedia(self.pictures.media, source)) as finder:
            reader = FrameReader(finder, self.pictures.videos, frames, framing, self.crashed_videos)
            for row in np.flatnonzero(videos >= 0).tolist():  # a video each
                found = reader.squares(items[int(videos[row])].as_py())
                if isinstance(found, str):
                    statuses[row] = found
                    continue
                statuses[row], counts[row] = OK, len(found)
                for number, squares in enumerate(passes):
                    squares[row] = found[number % len(found)]


def _first_items(media: pa.ListArray, offsets: NDArray[np.int64], kind: str) -> NDArray[np.int64]:
    """The number of each row's first item of a kind; -1 if there is none."""
    mimes = pc.struct_field(media.flatten(), "mime")
    is_wanted = pc.fill_null(pc.starts_with(mimes, kind), False).to_numpy(zero_copy_only=False)
    wanted = np.append(np.flatnonzero(is_wanted), offsets[-1])
    nearest = wanted[np.searchsorted(wanted, offsets[:-1])]
    return np.where(nearest < offsets[1:], nearest, -1).astype(np.int64)


class _ScoredMedia(RequiredMedia):
    """Finds pictures and videos, with the statuses of scores."""

    def find(self, medium: Mapping[str, Any]) -> dict[str, Any] | Unavailable:
        """A picture, or why it is permanently unavailable."""
        return self._with_status(super().find(medium))

    def open(self, medium: Mapping[str, Any]) -> Bytes | Unavailable:
        """A video, or why it is permanently unavailable."""
        return self._with_status(super().open(medium))

    def _with_status(self, found: _T | Unavailable) -> _T | Unavailable:
        if not isinstance(found, Unavailable):
            return found
        return replace(found, status=IMAGE_MISSING if self.file_is_missing else UNREADABLE)
