"""Measures media while ingest has their bytes in hand: hash, length, and what an image's header says."""

import hashlib
from dataclasses import dataclass
from typing import BinaryIO

from winnow.filters.image.decode.containers import Bytes, HeldBytes
from winnow.filters.image.decode.frames import image_frames
from winnow.filters.image.decode.headers import image_size
from winnow.filters.image.decode.orientation import orientation_of
from winnow.pipelines.ingest.files import read_range
from winnow.pipelines.media.file_bytes import FileBytes

_COPY_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class Probe:
    """What is known of a medium; all of it is unknown for one whose bytes were not read."""

    bytes: int | None = None
    sha256: str | None = None
    width: int | None = None
    height: int | None = None
    orientation: int | None = None
    frames: int | None = None


def probe_bytes(content: bytes, mime: str) -> Probe:
    """Measures a medium that is in memory.

    Args:
        content: All its bytes.
        mime: Their sniffed type.
    """
    return _probe(HeldBytes(content), hashlib.sha256(content).hexdigest(), mime)


def probe_file(stream: BinaryIO, size: int, mime: str, start: int = 0) -> Probe:
    """Measures a file of any size, or a range of one, in little memory; reads it whole, once."""
    state = hashlib.sha256()
    at = 0
    while piece := read_range(stream, start + at, min(_COPY_BYTES, size - at)):
        state.update(piece)
        at += len(piece)
    return _probe(FileBytes(stream, at, start), state.hexdigest(), mime)


def _probe(content: Bytes, sha256: str, mime: str) -> Probe:
    found = image_size(content, mime)
    if found is None:
        return Probe(content.size, sha256)
    oriented, frames = orientation_of(content, mime), image_frames(content, mime)
    return Probe(content.size, sha256, found.width, found.height, oriented, frames)
