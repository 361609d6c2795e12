"""Shrinks the planes of a decoded frame where they lie, and measures its luma.

Cells of a small plane tile the picture, each the mean of its pixels on the lines that are read: all of a small picture,
every fourth of 1080, as reading all would cost a tenth of decoding. Levels are those of the full range, 0 for black
and 255 for white, whether the stream keeps 16 to 235 or 0 to 255, and whatever its depth.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from winnow.filters.video.decode.signals import CHROMA_COLUMNS, CHROMA_ROWS, LUMA_COLUMNS, LUMA_ROWS
from winnow.schemas.kernels import arithmetic

if TYPE_CHECKING:
    from av.video.frame import VideoFrame

__all__ = ["LumaLines", "Planes", "planes_of", "shrink_chroma", "shrink_luma"]

_READ_LINES: Final = 120  # of luma, at least, where there are as many
_MAX_STEP: Final = 4

_DARK: Final = 0.1  # of the range above black; FFmpeg's blackdetect: pixel_black_th
_FULL_RANGE: Final = 2  # AVCOL_RANGE_JPEG


@dataclass(frozen=True, slots=True)
class Planes:
    """Views of a frame's planes: lines of samples, of which only the first `width` are pixels.

    They are valid for as long as the frame that they are of is held.
    """

    luma: NDArray[Any]
    cb: NDArray[Any] | None  # None for grey pictures
    cr: NDArray[Any] | None
    width: int
    chroma_width: int
    depth: int  # bits of a sample
    full_range: bool
    frame: "VideoFrame"


@dataclass(frozen=True, slots=True)
class _Layout:
    depth: int
    planes: int
    full_range: bool


_layouts: dict[str, _Layout | None] = {}


def planes_of(frame: "VideoFrame") -> Planes:
    """The planes of a frame, without a copy where it is YUV in planes; else converted."""
    name = frame.format.name
    if name not in _layouts:
        _layouts[name] = _layout(frame)
    layout = _layouts[name]
    planes = frame.planes
    if layout is None or any(plane.line_size <= 0 for plane in planes):  # a picture upside down has its lines backwards
        frame = frame.reformat(format="yuv420p")
        planes = frame.planes
        layout = _Layout(8, 3, False)
    kind: Any = np.uint8 if layout.depth == 8 else np.uint16
    views = [
        np.frombuffer(memoryview(plane), kind).reshape(plane.height, plane.line_size // kind().itemsize)
        for plane in planes[: layout.planes]
    ]
    coloured = layout.planes == 3
    return Planes(
        views[0],
        views[1] if coloured else None,
        views[2] if coloured else None,
        frame.width,
        planes[1].width if coloured else 0,
        layout.depth,
        layout.full_range or frame.color_range == _FULL_RANGE,
        frame,
    )


def _layout(frame: "VideoFrame") -> _Layout | None:
    """How the format of a frame lies in memory; None if it has to be converted."""
    form = frame.format
    if form.is_rgb or form.has_palette or form.is_bit_stream or form.is_big_endian or not 0 < len(form.components) <= 4:
        return None
    depths = {component.bits for component in form.components}
    (depth,) = depths if len(depths) == 1 else (0,)
    if form.name.startswith("gray") and 8 <= depth <= 16 and not form.name.startswith("grayf"):
        return _Layout(depth, 1, True)
    if form.name.startswith(("yuv", "yuva")) and "p" in form.name[6:] and 8 <= depth <= 16 and form.is_planar:
        return _Layout(depth, 3, form.name.startswith("yuvj"))
    return None


class LumaLines:
    """The lines of the last frame that were read."""

    def __init__(self) -> None:
        self.lines: NDArray[np.uint8] = np.empty((0, 0), np.uint8)

    def fit(self, lines: int, width: int) -> bool:
        """Makes room for frames of a size; whether there is a last frame of this size."""
        size = (lines, width)
        if self.lines.shape == size:
            return True
        self.lines = np.empty(size, np.uint8)
        return False


def shrink_luma(planes: Planes, last: LumaLines, cells: NDArray[np.uint8], found: NDArray[np.float32]) -> None:
    """Fills a small plane, and `found` with the mean, deviation, dark share and change of the luma.

    Args:
        planes: Of a frame.
        last: Of the frame before; then of this one.
        cells: `LUMA_ROWS` x `LUMA_COLUMNS` of them, flat.
        found: Four numbers; the change is NaN where the last frame has another size.
    """
    low, span = _range(planes)
    step = _step(planes.luma, _READ_LINES)
    known = last.fit(-(-len(planes.luma) // step), planes.width)
    _luma(planes.luma, planes.width, step, planes.depth - 8, low, span, last.lines, known, cells, found)


def shrink_chroma(planes: Planes, cb: NDArray[np.uint8], cr: NDArray[np.uint8]) -> None:
    """Fills two small planes of `CHROMA_ROWS` x `CHROMA_COLUMNS` cells, flat; with 128 for grey pictures."""
    if planes.cb is None or planes.cr is None:
        cb[:] = 128
        cr[:] = 128
        return
    step, unit = _step(planes.cb, _READ_LINES // 2), 1.0 / (1 << (planes.depth - 8))
    scale = 1.0 if planes.full_range else 255.0 / 224.0
    for plane, cells in ((planes.cb, cb), (planes.cr, cr)):
        _shrink(plane, planes.chroma_width, step, CHROMA_ROWS, CHROMA_COLUMNS, unit, 128.0, scale, 128.0, cells)


def _step(lines: NDArray[Any], wanted: int) -> int:
    return min(max(len(lines) // wanted, 1), _MAX_STEP)


def _range(planes: Planes) -> tuple[float, float]:
    return (0.0, 255.0) if planes.full_range else (16.0, 219.0)


# Sums are cast after each step: numba would widen them to 64 bits, and a quarter as many fit into a vector.
@arithmetic
def _luma(lines, width, step, shift, low, span, last, known, cells, found):  # type: ignore[no-untyped-def]
    height = lines.shape[0]
    threshold = np.uint8(low + _DARK * span)
    now = np.empty(width, np.uint8)
    total = dark = squares = differences = np.int64(0)
    for y in range(0, height, step):
        line, before = lines[y, :width], last[y // step]
        if shift:
            for x in range(width):
                now[x] = np.uint8(line[x] >> shift)
        else:
            for x in range(width):
                now[x] = np.uint8(line[x])
        of_line = of_squares = few = changed = np.int32(0)
        for x in range(width):
            level = np.int32(now[x])
            of_line = np.int32(of_line + level)
            of_squares = np.int32(of_squares + np.int32(level * level))
        for x in range(width):
            few = np.int32(few + np.int32(now[x] <= threshold))
        if known:
            for x in range(width):
                changed = np.int32(changed + np.int32(abs(np.int32(np.int32(now[x]) - np.int32(before[x])))))
        for x in range(width):  # numba's copies of slices are six times as slow
            before[x] = now[x]
        total += of_line
        squares += of_squares
        dark += few
        differences += changed
    count = -(-height // step) * width
    mean = total / count
    found[0] = min(max((mean - low) * 255.0 / span, 0.0), 255.0)
    found[1] = np.sqrt(max(squares / count - mean * mean, 0.0)) * 255.0 / span
    found[2] = dark / count
    found[3] = differences * 255.0 / span / count if known else np.nan
    _shrink(lines, width, step, LUMA_ROWS, LUMA_COLUMNS, 1.0 / (1 << shift), low, 255.0 / span, 0.0, cells)


@arithmetic
def _shrink(lines, width, step, rows, columns, unit, low, scale, zero, cells):  # type: ignore[no-untyped-def]
    height = lines.shape[0]
    sums = np.empty(width, np.uint32)
    lefts = np.empty(columns, np.int64)
    rights = np.empty(columns, np.int64)
    for column in range(columns):
        lefts[column] = column * width // columns
        rights[column] = max((column + 1) * width // columns, lefts[column] + 1)
    for row in range(rows):
        top = -(-(row * height // rows) // step) * step
        bottom = max((row + 1) * height // rows, top + 1)
        for x in range(width):
            sums[x] = np.uint32(0)
        for y in range(top, bottom, step):
            line = lines[y, :width]
            for x in range(width):
                sums[x] = np.uint32(sums[x] + np.uint32(line[x]))
        taken = unit / ((bottom - top + step - 1) // step)
        for column in range(columns):
            of_cell = np.uint32(0)
            for x in range(lefts[column], rights[column]):
                of_cell = np.uint32(of_cell + sums[x])
            level = (of_cell * taken / (rights[column] - lefts[column]) - low) * scale + zero + 0.5
            cells[row * columns + column] = np.uint8(min(max(level, 0.0), 255.0))
