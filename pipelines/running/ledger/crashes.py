"""Remembers the pictures that kill whatever decodes them, so that a rerun gives them the same status (law 9).

They are known by the hash of their bytes and the version of the decoder: the same file is condemned once, wherever it
is, and is tried again by another decoder.
"""

from dataclasses import dataclass
from typing import Final

from winnow.filters.image.decode.stills import DECODER
from winnow.pipelines.store import layout
from winnow.pipelines.store.facade import ObjectStore
from winnow.pipelines.store.integrity.sealed import put_record_if_absent

__all__ = ["CRASHED_PICTURES", "CrashedPicture", "CrashedPictures"]

CRASHED_PICTURES: Final = f"{layout.POISON}@pictures/{DECODER}/"  # no source has this name


@dataclass(frozen=True, slots=True)
class CrashedPicture:
    """A picture that no process has survived."""

    sha256: str
    decoder: int
    detail: str


class CrashedPictures:
    """Those of a store, as they are when this is made, and those added since."""

    def __init__(self, objects: ObjectStore) -> None:
        self._objects = objects
        self._known = {
            info.path.removeprefix(CRASHED_PICTURES).removesuffix(".json") for info in objects.list(CRASHED_PICTURES)
        }

    def __contains__(self, sha256: str) -> bool:
        return sha256 in self._known

    def __len__(self) -> int:
        return len(self._known)

    def add(self, sha256: str, detail: str) -> None:
        """Records a picture; it may be recorded already."""
        self._known.add(sha256)
        put_record_if_absent(
            self._objects,
            f"{CRASHED_PICTURES}{sha256}.json",
            CrashedPicture(sha256, DECODER, " ".join(detail.split())[:200]),
        )
