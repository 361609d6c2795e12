"""What tasks read that no column holds: the bytes of images, read again where they were found.

An image that has changed, or whose record is not there or too large, says so in its row for good. One that is only out
of reach, such as on a disk that is not mounted, ends the task, which is then run again: its row may not say that it has
no image.
"""

from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from winnow.pipelines.media import Gone, MediaFinder, MediaSources
from winnow.schemas.errors import StageError

ROWS = 256  # whose images are held at once
BYTES = 16 << 20  # of them; a larger one is held alone


@dataclass(frozen=True, slots=True)
class Images:
    """Of rows that follow each other the bytes of the first image."""

    rows: slice
    bytes: pa.Array  # null where the row refers to none, or it is gone
    gone: NDArray[np.bool_]  # rows that refer to one that cannot be had any more


@dataclass(frozen=True)
class Inputs:
    """Where images are read; None where no task does. Picklable."""

    media: MediaSources | None

    def images(self, media: pa.Array, source: str, max_rows: int = ROWS, max_bytes: int = BYTES) -> Iterator[Images]:
        """Each row's first image, some rows at a time.

        Args:
            media: What the rows of a source refer to.
            source: The source.
            max_rows: The most rows at once.
            max_bytes: The most bytes at once, of all images but one that is larger by itself.

        Raises:
            StageError: A file cannot be reached.
        """
        assert self.media is not None
        found: list[bytes | None] = []
        gone: list[bool] = []
        held = first = 0

        def images() -> Images:
            there = np.array(gone, np.bool_)
            return Images(slice(first, first + len(found)), pa.array(found, pa.large_binary()), there)

        with closing(_ImageFinder(self.media, source)) as finder:
            for referred in media:  # each is a read of a file
                medium = next((one for one in referred.as_py() or () if (one["mime"] or "").startswith("image/")), None)
                raw = None if medium is None else finder.bytes_of(medium)
                size = len(raw or b"")
                if found and (len(found) == max_rows or held + size > max_bytes):
                    yield images()
                    held, first, found, gone = 0, first + len(found), [], []
                found.append(raw)
                gone.append(medium is not None and raw is None)
                held += size
        if found:
            yield images()


class _ImageFinder(MediaFinder):
    """Finds what is there or gone for good; raises StageError for what is out of reach."""

    def __init__(self, media: MediaSources, source: str) -> None:
        super().__init__(media, source)
        self._name = source
        bound = media.sources.get(source)
        self._root = None if bound is None else bound.objects.root

    def bytes_of(self, medium: Mapping[str, Any]) -> bytes | None:
        """An image; None where it is gone for good."""
        found = self.find(medium)
        if not isinstance(found, Gone):
            raw: bytes = found["bytes"]
            return raw
        if self._gone is not None:  # the whole file, which another run may reach
            raise self._out_of_reach(found.file, found.reason)
        return None

    def _body(self, path: str, offset: int, member: int) -> bytes | None:
        try:
            return super()._body(path, offset, member)
        except OSError as error:
            raise self._out_of_reach(path, error.strerror or str(error)) from error

    def _out_of_reach(self, path: str, reason: str) -> StageError:
        if self._root is None:
            return StageError(
                f"source {self._name}: its images are read again and its root is not there; mount it, then run again"
            )
        return StageError(
            f"source {self._name}: an image is to be read again from {path} under {self._root}: {reason}; bring it "
            "back and run again, or leave its samples out with 'where', or forget them"
        )
