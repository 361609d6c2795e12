"""The messages between the process that watches videos and its caller, over a socket.

The caller sends a task, and then the ranges of the file that the process requests: the file may be a member of a tar,
or in a bucket. The process sends signals as they come, and finally the facts, or why there are none. Neither side
trusts a length: each has a limit.
"""

import struct
from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import Any, Final

import msgspec
import pyarrow as pa

from winnow.filters.video.clips.cutting import CutClip
from winnow.filters.video.clips.options import ClipFile
from winnow.filters.video.decode.facts import VideoFacts
from winnow.filters.video.decode.opening import VideoLimits
from winnow.filters.video.decode.signal_requests import Clip, Signal
from winnow.filters.video.decode.signals import SCHEMAS
from winnow.schemas.typed_json import read_json

__all__ = [
    "CLIP",
    "FACTS",
    "FAILED",
    "HEAD",
    "LENGTH",
    "MOST_BYTES",
    "PIECE",
    "READ",
    "REFUSED",
    "SIGNAL",
    "VideoTask",
    "read_batch",
    "read_clip",
    "read_facts",
    "read_limits",
    "write_clip",
    "write_facts",
]

HEAD: Final = struct.Struct("<cqq")
"""Each message of the watching process: what it is, and two numbers."""

LENGTH: Final = struct.Struct("<q")
"""What stands before each message of the asking process."""

READ: Final = b"R"  # wants a range: where it begins, and its length
PIECE: Final = b"P"  # the next bytes of a clip's file, whose length stands in the second number, as for all below
CLIP: Final = b"C"  # what is known of the clip's file, behind its last piece
SIGNAL: Final = b"S"  # the number of the signal, and the length of the batch that follows
FACTS: Final = b"F"
REFUSED: Final = b"U"  # the reason and the detail, on two lines
FAILED: Final = b"E"  # what went wrong there: a defect of ours

MOST_BYTES: Final = 1 << 30  # of a message


@dataclass(frozen=True, slots=True)
class VideoTask:
    """One video, and what is wanted of it."""

    size: int  # in bytes
    mime: str
    signals: tuple[Signal, ...]
    clip: Clip | None = None  # all of it if none
    file: ClipFile | None = None  # as which the clip is written, if it is

    def to_json(self) -> bytes:
        """The task as it is sent."""
        return msgspec.json.encode(asdict(self))

    @classmethod
    def from_json(cls, raw: bytes) -> "VideoTask":
        """The task as it was received."""
        return read_json(cls, raw)


def read_limits(raw: str) -> VideoLimits:
    """The limits, as `msgspec.json.encode` wrote them."""
    return read_json(VideoLimits, raw.encode())


def write_facts(facts: VideoFacts) -> bytes:
    """Facts as JSON."""
    return msgspec.json.encode(facts, enc_hook=str)


def read_facts(raw: bytes | memoryview) -> VideoFacts:
    """Facts that `write_facts` wrote."""
    return msgspec.json.decode(raw, type=VideoFacts, dec_hook=_fraction)


def write_clip(found: CutClip) -> bytes:
    """What is known of a clip's file, as JSON."""
    return msgspec.json.encode(asdict(found))


def read_clip(raw: bytes | memoryview) -> CutClip:
    """What `write_clip` wrote."""
    return read_json(CutClip, bytes(raw))


def read_batch(raw: bytes | memoryview, signal: Signal) -> pa.RecordBatch:
    """A batch of a signal, sent without its schema."""
    return pa.ipc.read_record_batch(pa.py_buffer(raw), SCHEMAS[signal.kind])


def _fraction(kind: type[Any], value: Any) -> Any:
    assert kind is Fraction
    return Fraction(value)
