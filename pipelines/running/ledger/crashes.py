"""Remembers pictures and videos that kill their decoder, so that a rerun gives them the same status (law 9).

They are known by the hash of their bytes and the version of the decoder: a file is recorded once, wherever it is, and
is tried again by another version. A clip is recorded alone; a whole video is recorded with all its clips.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Final

from winnow.filters.image.decode.stills import DECODER
from winnow.filters.video.decode.facts import PASS
from winnow.filters.video.decode.signal_requests import Clip
from winnow.pipelines.store import layout
from winnow.pipelines.store.facade import ObjectStore
from winnow.pipelines.store.integrity.sealed import put_record_if_absent

__all__ = ["CRASHED_PICTURES", "CRASHED_VIDEOS", "CrashedMedia", "CrashedMedium", "CrashedPictures", "CrashedVideos"]

CRASHED_PICTURES: Final = f"{layout.POISON}@pictures/{DECODER}/"  # no source has this name
CRASHED_VIDEOS: Final = f"{layout.POISON}@videos/{PASS}/"


@dataclass(frozen=True, slots=True)
class CrashedMedium:
    """A picture or video that crashes its decoder every time."""

    sha256: str
    decoder: int
    detail: str
    clip: tuple[int, int] | None = None  # the ticks of the part that crashes its decoder; None for all of it


class CrashedMedia:
    """The crashed media of a store: those recorded when this is first used, and those added since.

    `folder`: where the store records them; `decoder`: the version of their decoder.
    """

    def __init__(self, objects: ObjectStore, folder: str, decoder: int) -> None:
        self._objects, self._folder, self._decoder = objects, folder, decoder

    @cached_property
    def _known(self) -> set[str]:
        listed = self._objects.list(self._folder)
        return {info.path.removeprefix(self._folder).removesuffix(".json") for info in listed}

    def __contains__(self, sha256: str | None) -> bool:
        return sha256 in self._known

    def __len__(self) -> int:
        return len(self._known)

    def add(self, sha256: str, detail: str) -> None:
        """Records one, unless it is recorded already."""
        self._record(sha256, CrashedMedium(sha256, self._decoder, _short(detail)))

    def _record(self, name: str, medium: CrashedMedium) -> None:
        self._known.add(name)
        put_record_if_absent(self._objects, f"{self._folder}{name}.json", medium)


class CrashedPictures(CrashedMedia):
    """The pictures among them."""

    def __init__(self, objects: ObjectStore) -> None:
        super().__init__(objects, CRASHED_PICTURES, DECODER)


class CrashedVideos(CrashedMedia):
    """The videos among them."""

    def __init__(self, objects: ObjectStore) -> None:
        super().__init__(objects, CRASHED_VIDEOS, PASS)

    def has(self, sha256: str | None, clip: Clip | None) -> bool:
        """Whether a video, or this part of it, is not to be watched again."""
        return sha256 is not None and (sha256 in self or (clip is not None and _part(sha256, clip) in self))

    def add_part(self, sha256: str, clip: Clip | None, detail: str) -> None:
        """Records a part of a video; without one, all of it."""
        if clip is None:
            self.add(sha256, detail)
            return
        part = CrashedMedium(sha256, self._decoder, _short(detail), (clip.start, clip.end))
        self._record(_part(sha256, clip), part)


def _part(sha256: str, clip: Clip) -> str:
    return f"{sha256}.{clip.start}.{clip.end}"


def _short(detail: str) -> str:
    return " ".join(detail.split())[:200]
