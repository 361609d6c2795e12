"""Remembers the pictures and videos that kill whatever decodes them, so that a rerun gives them the same
status (law 9).

They are known by the hash of their bytes and the version of the decoder: the same file is condemned once, wherever it
is, and is tried again by another decoder.
"""

from dataclasses import dataclass
from typing import Final

from winnow.filters.image.decode.stills import DECODER
from winnow.filters.video.decode.facts import PASS
from winnow.pipelines.store import layout
from winnow.pipelines.store.facade import ObjectStore
from winnow.pipelines.store.integrity.sealed import put_record_if_absent

__all__ = ["CRASHED_PICTURES", "CRASHED_VIDEOS", "CrashedMedia", "CrashedMedium", "CrashedPictures", "CrashedVideos"]

CRASHED_PICTURES: Final = f"{layout.POISON}@pictures/{DECODER}/"  # no source has this name
CRASHED_VIDEOS: Final = f"{layout.POISON}@videos/{PASS}/"


@dataclass(frozen=True, slots=True)
class CrashedMedium:
    """A picture or video that no process has survived."""

    sha256: str
    decoder: int
    detail: str


class CrashedMedia:
    """Those of a store, as they are when this is made, and those added since.

    Args:
        objects: The store.
        folder: Where it remembers them.
        decoder: The version of what decodes them.
    """

    def __init__(self, objects: ObjectStore, folder: str, decoder: int) -> None:
        self._objects, self._folder, self._decoder = objects, folder, decoder
        self._known = {info.path.removeprefix(folder).removesuffix(".json") for info in objects.list(folder)}

    def __contains__(self, sha256: str | None) -> bool:
        return sha256 in self._known

    def __len__(self) -> int:
        return len(self._known)

    def add(self, sha256: str, detail: str) -> None:
        """Records one; it may be recorded already."""
        self._known.add(sha256)
        put_record_if_absent(
            self._objects,
            f"{self._folder}{sha256}.json",
            CrashedMedium(sha256, self._decoder, " ".join(detail.split())[:200]),
        )


class CrashedPictures(CrashedMedia):
    """The pictures among them."""

    def __init__(self, objects: ObjectStore) -> None:
        super().__init__(objects, CRASHED_PICTURES, DECODER)


class CrashedVideos(CrashedMedia):
    """The videos among them."""

    def __init__(self, objects: ObjectStore) -> None:
        super().__init__(objects, CRASHED_VIDEOS, PASS)
