"""Measures media while ingest holds their bytes: hash, length, an image's header, a video's packets."""

import hashlib
from dataclasses import dataclass
from typing import BinaryIO

from winnow.filters.image.decode.containers import Bytes, InMemoryBytes
from winnow.filters.image.decode.frames import MOST_FRAMES, image_frames
from winnow.filters.image.decode.headers import image_size
from winnow.filters.image.decode.orientation import orientation_of
from winnow.filters.video.decode.opening import UnwatchableError, VideoLimits
from winnow.pipelines.decoding.file_bytes import FileBytes
from winnow.pipelines.decoding.videos.isolation import probe_isolated

_COPY_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class Probe:
    """Facts about a medium; all unknown if its bytes were not read."""

    bytes: int | None = None
    sha256: str | None = None
    width: int | None = None
    height: int | None = None
    orientation: int | None = None
    frames: int | None = None
    seconds: float | None = None


def probe_bytes(content: bytes, mime: str, videos: VideoLimits | None = None) -> Probe:
    """Measures a medium in memory; `mime` is the sniffed type. `videos`: the limits of a video; None: only hash
    videos."""
    return _probe(InMemoryBytes(content), hashlib.sha256(content).hexdigest(), mime, videos)


def probe_file(stream: BinaryIO, size: int, mime: str, start: int = 0, videos: VideoLimits | None = None) -> Probe:
    """Measures a file of any size, or a range of one, in little memory; reads it whole, a video twice."""
    content = FileBytes(stream, size, start)
    sha256, content.size = _hashed(content)
    return _probe(content, sha256, mime, videos)


def probe_content(content: Bytes, mime: str, videos: VideoLimits | None = None, sha256: str | None = None) -> Probe:
    """Measures a medium of any size, whose hash may be known, in little memory."""
    return _probe(content, sha256 or _hashed(content)[0], mime, videos)


def _hashed(content: Bytes) -> tuple[str, int]:
    """The hash of all its bytes, and how many there are."""
    state = hashlib.sha256()
    at = 0
    while piece := content.at(at, min(_COPY_BYTES, content.size - at)):
        state.update(piece)
        at += len(piece)
    return state.hexdigest(), at


def _probe(content: Bytes, sha256: str, mime: str, videos: VideoLimits | None) -> Probe:
    if mime.startswith("video/"):
        return _probe_video(content, sha256, mime, videos)
    found = image_size(content, mime)
    if found is None:
        return Probe(content.size, sha256)
    oriented, frames = orientation_of(content, mime), image_frames(content, mime)
    return Probe(content.size, sha256, found.width, found.height, oriented, frames)


def _probe_video(content: Bytes, sha256: str, mime: str, limits: VideoLimits | None) -> Probe:
    """The facts counted in a video; none if it cannot be watched: layers say why."""
    if limits is None:
        return Probe(content.size, sha256)
    try:
        facts = probe_isolated(content, mime, limits)
    except UnwatchableError:
        return Probe(content.size, sha256)
    return Probe(
        content.size,
        sha256,
        facts.width,
        facts.height,
        facts.orientation,
        min(facts.frames, MOST_FRAMES),
        facts.evident_seconds,
    )
