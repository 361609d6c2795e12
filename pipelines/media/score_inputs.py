"""What tasks read that no column holds: the bytes of images, read again where they were found.

An image that has changed, or whose record is not there or too large, says so in its row for good, and so does one whose
file alone is not there or may not be read. A root that is not there as a whole, or is empty as that of a disk that is
not mounted, ends the task, as does whatever else may pass; it is then run again: its rows may not say that they have no
image.
"""

import os
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from winnow.pipelines.media.references import Gone, MediaFinder, MediaSources
from winnow.pipelines.store.local import LocalStore
from winnow.schemas.errors import StageError
from winnow.scoring.tasks.protocol import IMAGE_MISSING, UNREADABLE

ROWS = 256  # whose images are held at once
BYTES = 16 << 20  # of them; a larger one is held alone

_NOT_THERE: Final = (FileNotFoundError, IsADirectoryError, NotADirectoryError, PermissionError)
"""What is so for good; anything else may pass."""


@dataclass(frozen=True, slots=True)
class Images:
    """Of rows that follow each other the bytes of the first image."""

    rows: slice
    bytes: pa.Array  # null where the row refers to none, or it is gone
    gone: NDArray[np.object_]  # of a row that refers to one that cannot be had any more the reason; else None


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
        gone: list[str | None] = []
        held = first = 0

        def images() -> Images:
            why = np.array(gone, np.object_)
            return Images(slice(first, first + len(found)), pa.array(found, pa.large_binary()), why)

        with closing(_ImageFinder(self.media, source)) as finder:
            for referred in media:  # each is a read of a file
                medium = next((one for one in referred.as_py() or () if (one["mime"] or "").startswith("image/")), None)
                said = None if medium is None else finder.bytes_of(medium)
                raw, why = (None, said) if isinstance(said, str) else (said, None)
                size = len(raw or b"")
                if found and (len(found) == max_rows or held + size > max_bytes):
                    yield images()
                    held, first, found, gone = 0, first + len(found), [], []
                found.append(raw)
                gone.append(why)
                held += size
        if found:
            yield images()


class _ImageFinder(MediaFinder):
    """Finds what is there or gone for good; raises StageError for what is out of reach."""

    def __init__(self, media: MediaSources, source: str) -> None:
        super().__init__(media, source)
        self._name = source
        bound = media.sources.get(source)
        self._objects = None if bound is None else bound.objects
        self._root = media.roots.get(source, "") if bound is None else bound.objects.root
        self._reachable = False

    def bytes_of(self, medium: Mapping[str, Any]) -> bytes | str:
        """An image, or why it is gone for good."""
        found = self.find(medium)
        if not isinstance(found, Gone):
            raw: bytes = found["bytes"]
            return raw
        if self._gone is None:  # the record alone: its file is there
            return UNREADABLE
        if self._failure is None or isinstance(self._failure, _NOT_THERE):
            return self._missing()
        raise self._out_of_reach(found.file, self._failure)

    def _body(self, path: str, offset: int, member: int) -> bytes | None:
        try:
            return super()._body(path, offset, member)
        except OSError as error:
            raise self._out_of_reach(path, error) from error

    def _out_of_reach(self, path: str, error: OSError) -> StageError:
        return StageError(
            f"source {self._name}: an image is to be read again from {path} under {self._root}: "
            f"{error.strerror or error}; bring it back and run again, or leave its samples out with 'where', or forget "
            "them"
        )

    def _missing(self) -> str:
        """That a file is missing, where others of its root are not."""
        if self._objects is None or not self._anything():
            raise StageError(
                f"source {self._name}: its images are read again and its root {self._root} is not there, or empty; "
                "mount it, then run again"
            )
        return IMAGE_MISSING

    def _anything(self) -> bool:
        """Whether the root holds anything: where a disk is not mounted stands an empty folder, or none."""
        if isinstance(self._objects, LocalStore):  # asked each time: a disk may be lost between two images
            try:
                with os.scandir(self._objects.folder) as entries:
                    return any(True for _ in entries)
            except OSError:
                return False
        if not self._reachable and self._objects is not None:
            self._reachable = next(iter(self._objects.list()), None) is not None
        return self._reachable
