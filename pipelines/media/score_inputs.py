"""Task inputs that no column holds: the first picture of each row, decoded as it is for operators, in squares.

A picture that has changed, cannot be decoded under the recipe's limits, or whose record or single file is missing is
marked permanently in its row; for what may pass, the task fails (`required_media.py`).
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from winnow.filters.image.decode.batches import pixels_of
from winnow.filters.models.pictures.framing import Framing, framed
from winnow.pipelines.media.pictures import OK, Pictures, PictureSource
from winnow.pipelines.media.references import Unavailable
from winnow.pipelines.media.required_media import RequiredMedia
from winnow.pipelines.running.ledger.crashes import CrashedPictures
from winnow.pipelines.store.facade import ObjectStore
from winnow.scoring.tasks.protocol import IMAGE_MISSING, UNREADABLE, picture_type

ROWS = 256  # rows whose pictures are held at once
DECODED = 64 << 20  # bytes of their squares; a larger one is held alone


@dataclass(frozen=True, slots=True)
class Images:
    """The first picture of consecutive rows."""

    rows: slice
    squares: pa.Array  # `winnow.scoring.tasks.protocol.picture_type`; null if the row has none that can be decoded
    statuses: NDArray[np.object_]  # why a picture is not there, else None


@dataclass(frozen=True)
class Inputs:
    """Where pictures are read; None if no task needs them. Picklable."""

    pictures: PictureSource | None
    crashed: CrashedPictures | None = None

    def in_store(self, objects: ObjectStore) -> "Inputs":
        """The same, with the pictures of a store that killed whatever decoded them, which are not decoded again."""
        return self if self.pictures is None else replace(self, crashed=CrashedPictures(objects))

    def images(self, media: pa.ListArray, source: str, side: int, max_rows: int = ROWS) -> Iterator[Images]:
        """Yields each row's first picture, some rows at a time.

        Args:
            media: The media of a source's rows.
            source: The source.
            side: The pixels per side of the squares.
            max_rows: The most rows at once; fewer if their squares would take more than `DECODED`.

        Raises:
            StageError: A file cannot be reached.
        """
        step = max(1, min(max_rows, DECODED // picture_type(side).byte_width))
        for first in range(0, len(media), step):
            some = media.slice(first, step)
            yield Images(slice(first, first + len(some)), *self._decoded(some, source, side))

    def _decoded(self, media: pa.ListArray, source: str, side: int) -> tuple[pa.Array, NDArray[np.object_]]:
        assert self.pictures is not None
        framing = Framing(side, "stretch")
        wanted = framing.decoded_side
        pictures = Pictures(self.pictures, source, media, self.crashed, sides=(wanted,), finder=_ScoredMedia)
        items = _first_images(media, pictures.offsets)
        rows = np.flatnonzero(items >= 0)
        items = items[rows]
        squares = np.zeros((len(media), side, side, 3), np.uint8)
        statuses = np.full(len(media), None, np.object_)
        for numbers, batch in pictures.batches(items, wanted):
            places = rows[np.searchsorted(items, numbers)]
            for row, pixels in zip(places.tolist(), pixels_of(batch), strict=True):  # a picture each
                squares[row] = framed(pixels, framing)
        statuses[rows] = [pictures.statuses[item] for item in items.tolist()]
        there = statuses == OK
        statuses[there] = None
        valid = pa.array(there).buffers()[1]
        held = [valid, pa.py_buffer(squares.reshape(-1))]
        return pa.Array.from_buffers(picture_type(side), len(media), held), statuses


def _first_images(media: pa.ListArray, offsets: NDArray[np.int64]) -> NDArray[np.int64]:
    """The number of each row's first item that is a picture; -1 if there is none."""
    mimes = pc.struct_field(media.flatten(), "mime")
    is_image = pc.fill_null(pc.starts_with(mimes, "image/"), False).to_numpy(zero_copy_only=False)
    images = np.append(np.flatnonzero(is_image), offsets[-1])
    nearest = images[np.searchsorted(images, offsets[:-1])]
    return np.where(nearest < offsets[1:], nearest, -1).astype(np.int64)


class _ScoredMedia(RequiredMedia):
    """Finds pictures, with the statuses of scores."""

    def find(self, medium: Mapping[str, Any]) -> dict[str, Any] | Unavailable:
        """A picture, or why it is permanently unavailable."""
        found = super().find(medium)
        if not isinstance(found, Unavailable):
            return found
        return replace(found, status=IMAGE_MISSING if self.file_is_missing else UNREADABLE)
