"""Task inputs that no column holds: the bytes of images, read again from where they were found.

An image that has changed, is too large, or whose record or single file is missing or unreadable is marked permanently
in its row. If the whole root is missing or empty, as when a disk is not
mounted, the task fails, as it does for any other temporary error, and is retried: its rows must not say that they
have no image.
"""

import os
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from winnow.pipelines.media.references import MediaFinder, MediaSources, Unavailable
from winnow.pipelines.store.local import LocalStore
from winnow.schemas.errors import StageError
from winnow.scoring.tasks.protocol import IMAGE_MISSING, UNREADABLE

ROWS = 256  # rows whose images are held at once
BYTES = 16 << 20  # their total bytes; a larger image is held alone

_NOT_THERE: Final = (FileNotFoundError, IsADirectoryError, NotADirectoryError, PermissionError)
"""Permanent failures; any other error may pass."""


@dataclass(frozen=True, slots=True)
class Images:
    """The bytes of the first image of consecutive rows."""

    rows: slice
    bytes: pa.Array  # null if the row has no image, or it is unavailable
    gone: NDArray[np.object_]  # the reason if an image is permanently unavailable, else None


@dataclass(frozen=True)
class Inputs:
    """Where images are read; None if no task needs them. Picklable."""

    media: MediaSources | None

    def images(self, media: pa.Array, source: str, max_rows: int = ROWS, max_bytes: int = BYTES) -> Iterator[Images]:
        """Yields each row's first image, some rows at a time.

        Args:
            media: The references of a source's rows.
            source: The source.
            max_rows: The most rows at once.
            max_bytes: The most bytes of images at once, except for a single larger one.

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
            for referred in media:  # each reads a file
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
    """Finds images or reports them permanently unavailable; raises StageError for temporary failures."""

    def __init__(self, media: MediaSources, source: str) -> None:
        super().__init__(media, source)
        self._name = source
        bound = media.sources.get(source)
        self._objects = None if bound is None else bound.objects
        self._root = media.roots.get(source, "") if bound is None else bound.objects.root
        self._reachable = False

    def bytes_of(self, medium: Mapping[str, Any]) -> bytes | str:
        """An image, or why it is permanently unavailable."""
        found = self.find(medium)
        if not isinstance(found, Unavailable):
            raw: bytes = found["bytes"]
            return raw
        if self._gone is None:  # only the record is missing: its file is there
            return UNREADABLE
        if self._failure is None or isinstance(self._failure, _NOT_THERE):
            return self._missing()
        raise self._out_of_reach(found.file, self._failure)

    def _body(self, path: str, reference: Mapping[str, Any]) -> bytes | None:
        try:
            return super()._body(path, reference)
        except OSError as error:
            raise self._out_of_reach(path, error) from error

    def _out_of_reach(self, path: str, error: OSError) -> StageError:
        return StageError(
            f"source {self._name}: cannot read an image again from {path} under {self._root}: "
            f"{error.strerror or error}; restore it and run again, or exclude its samples with 'where', or forget "
            "them"
        )

    def _missing(self) -> str:
        """The reason for a missing file, if other files of its root exist."""
        if self._objects is None or not self._anything():
            raise StageError(
                f"source {self._name}: its images must be read again, but its root {self._root} is missing or empty; "
                "mount it and run again"
            )
        return IMAGE_MISSING

    def _anything(self) -> bool:
        """Whether the root has any file: an unmounted disk shows an empty folder, or none."""
        if isinstance(self._objects, LocalStore):  # checked each time: a disk may be lost between two images
            try:
                with os.scandir(self._objects.folder) as entries:
                    return any(True for _ in entries)
            except OSError:
                return False
        if not self._reachable and self._objects is not None:
            self._reachable = next(iter(self._objects.list()), None) is not None
        return self._reachable
