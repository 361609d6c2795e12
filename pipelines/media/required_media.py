"""Reads media again for values that are stored: a lost disk is no fact about a picture.

A medium that has changed, or whose record or single file is missing, is permanently unavailable, and the caller may
write that into its row. If the whole root is missing or empty, as when a disk is not mounted, or reading fails for
another reason, the task fails and is retried.
"""

import os
from collections.abc import Mapping
from typing import Any, Final, TypeVar

from winnow.filters.image.decode.containers import Bytes
from winnow.pipelines.ingest.archives.large_bodies import OpenBody
from winnow.pipelines.ingest.records import Record
from winnow.pipelines.media.references import MediaFinder, MediaSources, Unavailable
from winnow.pipelines.store.local import LocalStore
from winnow.schemas.errors import StageError

__all__ = ["RequiredMedia"]

_T = TypeVar("_T")

_NOT_THERE: Final = (FileNotFoundError, IsADirectoryError, NotADirectoryError, PermissionError)
"""Permanent failures; any other error may pass."""


class RequiredMedia(MediaFinder):
    """Finds media, or says why one is permanently unavailable; raises StageError for temporary failures."""

    def __init__(self, media: MediaSources, source: str) -> None:
        super().__init__(media, source)
        self._name = source
        bound = media.sources.get(source)
        self._objects = None if bound is None else bound.objects
        self._root = media.roots.get(source, "") if bound is None else bound.objects.root
        self._reachable = False

    def find(self, medium: Mapping[str, Any]) -> dict[str, Any] | Unavailable:
        """A medium, or why it is permanently unavailable."""
        return self._permanent(super().find(medium))

    def open(self, medium: Mapping[str, Any]) -> Bytes | Unavailable:
        """A medium of any size, or why it is permanently unavailable."""
        return self._permanent(super().open(medium))

    def _permanent(self, found: _T | Unavailable) -> _T | Unavailable:
        if isinstance(found, Unavailable) and self.file_is_missing:
            if self._failure is not None and not isinstance(self._failure, _NOT_THERE):
                raise self.out_of_reach(found.file, self._failure)
            self._require_root()
        return found

    @property
    def file_is_missing(self) -> bool:
        """Whether the last requested file does not exist."""
        return self._gone is not None

    def _body(self, path: str, reference: Mapping[str, Any]) -> bytes | None:
        try:
            return super()._body(path, reference)
        except OSError as error:
            raise self.out_of_reach(path, error) from error

    def _opened(self, path: str, record: Record) -> OpenBody | None:
        try:
            return super()._opened(path, record)
        except OSError as error:
            raise self.out_of_reach(path, error) from error

    def out_of_reach(self, path: str, error: OSError) -> StageError:
        """What to raise where reading a medium fails, perhaps temporarily."""
        return StageError(
            f"source {self._name}: cannot read media again from {path} under {self._root}: "
            f"{error.strerror or error}; restore it and run again, or exclude its samples with 'where', or forget "
            "them"
        )

    def _require_root(self) -> None:
        """Raises StageError unless the root has any other file."""
        if self._objects is None or not self._anything():
            raise StageError(
                f"source {self._name}: its media must be read again, but its root {self._root} is missing or empty; "
                "mount it and run again"
            )

    def _anything(self) -> bool:
        """Whether the root has any file: an unmounted disk shows an empty folder, or none."""
        if isinstance(self._objects, LocalStore):  # checked each time: a disk may be lost between two files
            try:
                with os.scandir(self._objects.folder) as entries:
                    return any(True for _ in entries)
            except OSError:
                return False
        if not self._reachable and self._objects is not None:
            self._reachable = next(iter(self._objects.list()), None) is not None
        return self._reachable
