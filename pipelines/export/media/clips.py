"""Writes the clips of an export: parts of videos, each cut out of its file as its shard is written."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, BinaryIO

from winnow.filters.image.decode.containers import Bytes
from winnow.filters.video.clips.cutting import CutClip
from winnow.filters.video.clips.options import ClipFile
from winnow.filters.video.decode.opening import UnwatchableError, VideoLimits
from winnow.filters.video.decode.wanted import Clip
from winnow.pipelines.decoding.isolation import CRASHED
from winnow.pipelines.decoding.videos.isolation import cut_isolated
from winnow.pipelines.export.media.fetching import Lacking
from winnow.pipelines.export.places.manifest import MEDIA_GONE, MEDIA_UNCHANGEABLE
from winnow.pipelines.media.references import UNREADABLE, MediaFinder, Unavailable
from winnow.pipelines.running.ledger.crashes import CrashedVideos

__all__ = ["write_clip"]


class _UnreadableError(Exception):
    """The video cannot be read; an OSError may also be of the file that is written."""


@dataclass(frozen=True)
class _Reading:
    """A video's bytes."""

    content: Bytes

    @property
    def size(self) -> int:
        return self.content.size

    def at(self, offset: int, count: int) -> bytes:
        try:
            return self.content.at(offset, count)
        except OSError as error:
            raise _UnreadableError from error


def write_clip(
    finder: MediaFinder, medium: Mapping[str, Any], limits: VideoLimits, crashed: CrashedVideos, out: BinaryIO
) -> CutClip | Lacking:
    """Writes a clip.

    Args:
        finder: Reads the video.
        medium: Its `sha256`, `mime` and `ref`, which also says which part of it is written, and how (`fetching.py`).
        limits: What reading it may cost.
        crashed: What is not to be watched again, and where more of it is noted.
        out: An empty file; worthless if there is no clip.
    """
    reference = medium["ref"]
    content = finder.open(medium)
    if isinstance(content, Unavailable):
        return Lacking(MEDIA_GONE, content.file, content.reason)
    part = reference["clip"]
    clip, options = Clip(part["start"], part["end"]), ClipFile(**part["file"])
    if crashed.has(medium["sha256"], clip):
        return Lacking(MEDIA_UNCHANGEABLE, reference["path"], CRASHED)
    try:
        return cut_isolated(_Reading(content), medium["mime"], clip, options, limits, out)
    except UnwatchableError as error:
        if error.reason == CRASHED and medium["sha256"] is not None:
            crashed.add_part(medium["sha256"], clip, error.detail)
        return Lacking(MEDIA_UNCHANGEABLE, reference["path"], error.reason)
    except _UnreadableError:
        return Lacking(MEDIA_GONE, reference["path"], UNREADABLE)
