"""Collects rows of signals from decoded frames, and gives them in batches."""

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from winnow.filters.duplicates.perceptual.pdq import Pdq, pdq
from winnow.filters.image.decode.batches import batch_of
from winnow.filters.image.decode.stills import Still, sized
from winnow.filters.video.decode.clock import shown_at
from winnow.filters.video.decode.cues import cue_text
from winnow.filters.video.decode.pictures import grey_of, picture_of
from winnow.filters.video.decode.planes import FrameReader
from winnow.filters.video.decode.signal_requests import Kind, Signal
from winnow.filters.video.decode.signals import CHROMA_COLUMNS, CHROMA_ROWS, LUMA_COLUMNS, LUMA_ROWS, SCHEMAS
from winnow.filters.video.decode.vectors import Anchors, Motion

if TYPE_CHECKING:
    from av import Packet
    from av.video.frame import VideoFrame

_BATCH_ROWS: Final = 256
_BATCH_STILL_BYTES: Final = 16 << 20
_SECONDS: Final = 0.25  # between hashes: the frames of a copy that begins in between are an eighth away
_MOST_CUE_BYTES: Final = 4 << 20  # of the packets of all subtitles; those of a film have about 100 kB


class Packets:
    """Packets of pictures."""

    def __init__(self) -> None:
        self._rows: list[tuple[int, float, int, int, bool]] = []

    def add(self, packet: "Packet[Any]", ticks: int, seconds: float) -> None:
        """Add the next packet."""
        self._rows.append((ticks, seconds, packet.duration or 0, packet.size, packet.is_keyframe))

    def batch(self, *, end: bool = False) -> pa.RecordBatch | None:
        """The rows collected if there are enough; at the end all."""
        if not self._rows or (len(self._rows) < _BATCH_ROWS * 16 and not end):
            return None
        rows, self._rows = self._rows, []
        return _of_rows("packets", rows)


class Frames:
    """Small planes of every frame, and statistics of its luma."""

    def __init__(self) -> None:
        self._reader = FrameReader()
        self._full: list[pa.RecordBatch] = []
        self._new()

    def _new(self) -> None:
        self._rows: list[tuple[int, float, int, bool, int, int]] = []
        self._measures = np.empty((_BATCH_ROWS, 4), np.float32)
        self._luma = np.empty((_BATCH_ROWS, LUMA_ROWS * LUMA_COLUMNS), np.uint8)
        self._cb = np.empty((_BATCH_ROWS, CHROMA_ROWS * CHROMA_COLUMNS), np.uint8)
        self._cr = np.empty((_BATCH_ROWS, CHROMA_ROWS * CHROMA_COLUMNS), np.uint8)

    def add(self, frame: "VideoFrame", ticks: int, seconds: float) -> None:
        """Add the next frame."""
        rows = self._rows
        self._reader.read(frame, len(rows), self._luma, self._cb, self._cr, self._measures)
        rows.append((ticks, seconds, frame.duration or 0, frame.key_frame, frame.width, frame.height))
        if len(rows) == _BATCH_ROWS:  # one packet, and the end, may give several frames
            self._full.append(self._made())

    def batch(self, *, end: bool = False) -> pa.RecordBatch | None:
        """The rows collected if there are enough; at the end all."""
        if self._full:
            return self._full.pop(0)
        return self._made() if end and self._rows else None

    def _made(self) -> pa.RecordBatch:
        count = len(self._rows)
        schema = SCHEMAS["frames"]
        columns = [pa.array(one, schema.types[at]) for at, one in enumerate(zip(*self._rows, strict=True))]
        mean, deviation, dark, change = (np.ascontiguousarray(one) for one in self._measures[:count].T)
        columns += [pa.array(mean), pa.array(deviation), pa.array(dark), pa.array(change, from_pandas=True)]
        columns += [_fixed(one[:count]) for one in (self._luma, self._cb, self._cr)]
        self._new()
        return pa.RecordBatch.from_arrays(columns, schema=schema)


class Vectors:
    """Motion vectors from the codec."""

    def __init__(self) -> None:
        self._anchors = Anchors()
        self._rows: list[tuple[int, float, Motion]] = []

    def add(self, frame: "VideoFrame", ticks: int, seconds: float) -> None:
        """Add the next frame."""
        found = self._anchors.motion(frame, seconds)
        if found is not None:
            self._rows.append((ticks, seconds, found))

    def batch(self, *, end: bool = False) -> pa.RecordBatch | None:
        """The rows collected if there are enough; at the end all."""
        if not self._rows or (len(self._rows) < _BATCH_ROWS and not end):
            return None
        rows, self._rows = self._rows[:_BATCH_ROWS], self._rows[_BATCH_ROWS:]  # sums of batches depend on their lengths
        schema = SCHEMAS["vectors"]
        patches = np.concatenate([motion.patches.reshape(-1) for _, _, motion in rows])
        numbers = [(at, when, one.covered, one.speed, one.right, one.down) for at, when, one in rows]
        columns = [pa.array(one, schema.types[at]) for at, one in enumerate(zip(*numbers, strict=True))]
        columns.append(pa.FixedSizeListArray.from_arrays(pa.array(patches), type=schema.types[-1]))
        return pa.RecordBatch.from_arrays(columns, schema=schema)


class Hashes:
    """The PDQ hash of the first frame of every quarter of a second."""

    def __init__(self, orientation: int) -> None:
        self._due = RegularFrames(_SECONDS)
        self._orientation = orientation
        self._rows: list[tuple[int, float, Pdq]] = []

    def add(self, frame: "VideoFrame", ticks: int, seconds: float) -> None:
        """Add the next frame."""
        if self._due.at(seconds):
            self._rows.append((ticks, seconds, pdq(grey_of(frame, self._orientation))))

    def batch(self, *, end: bool = False) -> pa.RecordBatch | None:
        """The rows collected if there are enough; at the end all."""
        if not self._rows or (len(self._rows) < _BATCH_ROWS and not end):
            return None
        rows, self._rows = self._rows, []
        return _of_rows("hashes", [(at, when, one.bits, one.quality) for at, when, one in rows])


class Cues:
    """The texts of subtitle streams."""

    def __init__(self, start: Fraction) -> None:
        self._start = start  # seconds
        self._left = _MOST_CUE_BYTES
        self._rows: list[tuple[int, bool, str | None, float, float, str]] = []

    def add(self, packet: "Packet[Any]") -> None:
        """Add the next packet of any stream, unless it has pictures or no time, or exceeds 4 MiB in all."""
        stream: Any = packet.stream
        context, time = stream.codec_context, shown_at(packet)
        if context is None or time is None or packet.time_base is None or packet.size > self._left:
            return
        self._left -= packet.size
        text = cue_text(context.codec.canonical_name, bytes(packet))
        if text:
            begin = float(time * packet.time_base - self._start)
            end = begin + float((packet.duration or 0) * packet.time_base)
            is_default = bool(int(stream.disposition) & 1)
            self._rows.append((stream.index, is_default, stream.metadata.get("language"), begin, end, text))

    def batch(self, *, end: bool = False) -> pa.RecordBatch | None:
        """The rows collected, at the end."""
        if not self._rows or not end:
            return None
        rows, self._rows = self._rows, []
        return _of_rows("subtitles", rows)


class Stills:
    """Frames as pictures: every keyframe given, or one per so many seconds."""

    def __init__(self, signal: Signal, mime: str, orientation: int) -> None:
        self._due = None if signal.seconds is None else RegularFrames(signal.seconds)
        self._side, self._mime, self._orientation = signal.side, mime, orientation
        self._rows: list[tuple[int, float, int, Still]] = []
        self._room = np.empty(0, np.uint8)  # pictures are adjacent here, so that a batch needs no copy
        self._held = 0

    def add(self, frame: "VideoFrame", ticks: int, seconds: float, size: int) -> None:
        """Add the next frame, with the bytes of its packet."""
        if self._due is not None and not self._due.at(seconds):
            return
        pixels = picture_of(frame, self._orientation)
        still = sized(Still(pixels, *pixels.shape[:2]), self._side)
        self._rows.append((ticks, seconds, size, self._placed(still)))

    def _placed(self, still: Still) -> Still:
        """The picture moved to the buffer; unchanged if that is full."""
        end = self._held + still.pixels.nbytes
        if not self._held:
            self._room = np.empty(_BATCH_STILL_BYTES + still.pixels.nbytes, np.uint8)
        start, self._held = self._held, end
        if end > len(self._room):
            return still
        pixels = self._room[start:end].reshape(still.pixels.shape)
        pixels[:] = still.pixels
        return Still(pixels, still.height, still.width)

    def batch(self, *, end: bool = False) -> pa.RecordBatch | None:
        """The rows collected if there are enough; at the end all."""
        if not self._rows or (self._held < _BATCH_STILL_BYTES and not end):
            return None
        rows, self._rows, self._held = self._rows, [], 0
        ticks, seconds, sizes, stills = zip(*rows, strict=True)
        images = batch_of([self._mime] * len(rows), sizes, [None] * len(rows), stills)
        columns = [pa.array(ticks, pa.int64()), pa.array(seconds, pa.float64()), *images.columns]
        return pa.RecordBatch.from_arrays(columns, schema=SCHEMAS["stills"])


class RegularFrames:
    """Picks the first frame at or after each multiple of an interval."""

    def __init__(self, seconds: float) -> None:
        self._step, self._next = seconds, -math.inf

    def at(self, seconds: float) -> bool:
        """Whether the next frame is picked."""
        if seconds < self._next:
            return False
        self._next = (math.floor(seconds / self._step + 1e-9) + 1) * self._step - 1e-9
        return True


def _fixed(cells: NDArray[np.uint8]) -> pa.Array:
    kind = pa.binary(cells.shape[1])
    return pa.FixedSizeBinaryArray.from_buffers(kind, len(cells), [None, pa.py_buffer(cells)])


def _of_rows(kind: Kind, rows: Sequence[tuple[Any, ...]]) -> pa.RecordBatch:
    schema = SCHEMAS[kind]
    columns = [pa.array(one, form.type) for one, form in zip(zip(*rows, strict=True), schema, strict=True)]
    return pa.RecordBatch.from_arrays(columns, schema=schema)
