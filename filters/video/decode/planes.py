"""Shrinks the planes of a decoded frame where they lie, and measures its luma.

Cells of a small plane tile the picture, each the mean of its pixels on the lines that are read: all of a small picture,
every fourth of 1080, as reading all would cost a tenth of decoding. Levels are those of the full range, 0 for black
and 255 for white, whether the stream keeps 16 to 235 or 0 to 255, and whatever its depth.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from winnow.filters.video.decode.signals import CHROMA_COLUMNS, CHROMA_ROWS, LUMA_COLUMNS, LUMA_ROWS
from winnow.schemas.kernels import arithmetic, leaf

if TYPE_CHECKING:
    from av.video.frame import VideoFrame
    from av.video.plane import VideoPlane

__all__ = ["FrameReader", "Planes", "planes_of"]

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


_CONVERTED: Final = _Layout(8, 3, False)
_layouts: dict[str, _Layout | None] = {}


def _raw(frame: "VideoFrame") -> "tuple[VideoFrame, _Layout, tuple[VideoPlane, ...], list[int]]":
    """A frame as it is where it is YUV in planes or grey, else converted; how it lies in memory, planes and lines."""
    name = frame.format.name
    if name not in _layouts:
        _layouts[name] = _layout(frame)
    layout, planes = _layouts[name], frame.planes
    lines = [plane.line_size for plane in planes]
    if layout is None or min(lines, default=0) <= 0:  # of a picture upside down they lie backwards
        frame = frame.reformat(format="yuv420p")
        layout, planes = _CONVERTED, frame.planes
        lines = [plane.line_size for plane in planes]
    return frame, layout, planes, lines


def planes_of(frame: "VideoFrame") -> Planes:
    """The planes of a frame, without a copy where it is YUV in planes; else converted."""
    frame, layout, planes, _ = _raw(frame)
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


class FrameReader:
    """Shrinks the frames of a stream, one after the other."""

    def __init__(self) -> None:
        self._lines = np.empty((0, 0), np.uint8)  # of luma, that were read of the last frame
        self._known: tuple[object, ...] = ()
        self._sizes = np.empty(0, np.int64)
        self._range = 0.0, 255.0

    def read(
        self,
        frame: "VideoFrame",
        at: int,
        luma: NDArray[np.uint8],
        cb: NDArray[np.uint8],
        cr: NDArray[np.uint8],
        found: NDArray[np.float32],
    ) -> None:
        """Fills small planes, of 128 in those of chroma for grey pictures, and what the luma is like.

        Args:
            frame: The next one.
            at: Which row of the following is filled.
            luma: Rows of `LUMA_ROWS` x `LUMA_COLUMNS` cells.
            cb: Rows of `CHROMA_ROWS` x `CHROMA_COLUMNS` cells.
            cr: The same.
            found: Rows of mean, deviation, dark share and change of the luma; the last is NaN where the frame before
                has another size.
        """
        frame, layout, planes, lines = _raw(frame)
        kind: Any = np.uint8 if layout.depth == 8 else np.uint16
        buffers: tuple[Any, ...] = planes  # which PyAV's published types do not say
        of_luma: NDArray[Any] = np.frombuffer(buffers[0], kind)
        of_cb = of_cr = of_luma[:0]
        if layout.planes == 3:
            of_cb, of_cr = np.frombuffer(buffers[1], kind), np.frombuffer(buffers[2], kind)
        form = (frame.format.name, layout, frame.width, frame.height, frame.color_range, lines)
        if form != self._known:
            self._known = form
            self._fit(frame, layout, planes)
        low, span = self._range
        _read(of_luma, of_cb, of_cr, self._sizes, low, span, self._lines, at, luma, cb, cr, found)
        self._sizes[_IS_KNOWN] = 1

    def _fit(self, frame: "VideoFrame", layout: _Layout, planes: "Sequence[VideoPlane]") -> None:
        """Makes room for frames of another form."""
        full_range = layout.full_range or frame.color_range == _FULL_RANGE
        self._range = (0.0, 255.0) if full_range else (16.0, 219.0)
        item = 1 if layout.depth == 8 else 2
        sizes = [0, layout.depth - 8, int(full_range)]
        for number in range(3):
            if number >= layout.planes:
                sizes += [0, 0, 0, 1]
                continue
            plane = planes[number]
            step = min(max(plane.height // (_READ_LINES if number == 0 else _READ_LINES // 2), 1), _MAX_STEP)
            sizes += [plane.line_size // item, plane.height, plane.width, step]
        _, height, _, step = sizes[_PLANES : _PLANES + _OF_PLANE]
        sizes[_PLANES + 2] = frame.width
        lines = (-(-height // step), frame.width)
        if self._lines.shape == lines:
            sizes[_IS_KNOWN] = 1
        else:
            self._lines = np.empty(lines, np.uint8)
        self._sizes = np.array(sizes, np.int64)


_IS_KNOWN, _SHIFT, _IS_FULL_RANGE, _PLANES, _OF_PLANE = 0, 1, 2, 3, 4
"""Places of the numbers that describe a frame: flags, and for each plane its line's samples, height, width and step."""


@arithmetic
def _read(luma, cb, cr, sizes, low, span, last, at, luma_cells, cb_cells, cr_cells, found):  # type: ignore[no-untyped-def]
    unit = 1.0 / (1 << sizes[_SHIFT])
    _luma(luma, sizes[_PLANES:], sizes[_SHIFT], low, span, last, sizes[_IS_KNOWN] == 1, found[at])
    _shrink(luma, sizes[_PLANES:], LUMA_ROWS, LUMA_COLUMNS, unit, low, 255.0 / span, 0.0, luma_cells[at])
    if len(cb) == 0:
        cb_cells[at, :] = 128
        cr_cells[at, :] = 128
        return
    scale = 1.0 if sizes[_IS_FULL_RANGE] == 1 else 255.0 / 224.0
    _shrink(cb, sizes[_PLANES + _OF_PLANE :], CHROMA_ROWS, CHROMA_COLUMNS, unit, 128.0, scale, 128.0, cb_cells[at])
    _shrink(cr, sizes[_PLANES + 2 * _OF_PLANE :], CHROMA_ROWS, CHROMA_COLUMNS, unit, 128.0, scale, 128.0, cr_cells[at])


# Sums are cast after each step: numba would widen them to 64 bits, and a quarter as many fit into a vector.
@arithmetic
def _luma(samples, plane, shift, low, span, last, known, found):  # type: ignore[no-untyped-def]
    stride, height, width, step = plane[0], plane[1], plane[2], plane[3]
    threshold = np.uint8(low + _DARK * span)
    now = np.empty(width, np.uint8)
    total = dark = squares = differences = np.int64(0)
    for y in range(0, height, step):
        line, before = samples[y * stride : y * stride + width], last[y // step]
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


@arithmetic
def _shrink(samples, plane, rows, columns, unit, low, scale, zero, cells):  # type: ignore[no-untyped-def]
    """Three rows of cells at a time, as each sum along a line waits for its own last term."""
    stride, height, width, step = plane[0], plane[1], plane[2], plane[3]
    sums = np.empty((3, width), np.uint32)  # of the lines of a row
    runs = np.zeros((3, width + 1), np.uint32)  # of the pixels of these up to each one
    lefts = np.empty(columns, np.int64)
    rights = np.empty(columns, np.int64)
    widths = np.empty(columns, np.float64)
    totals = np.empty((3, columns), np.float64)
    counts = np.empty(3, np.int64)
    for column in range(columns):
        lefts[column] = column * width // columns
        rights[column] = max((column + 1) * width // columns, lefts[column] + 1)
        widths[column] = rights[column] - lefts[column]
    for first in range(0, rows, 3):
        for some in range(3):
            row = first + some
            top = -(-(row * height // rows) // step) * step
            bottom = max((row + 1) * height // rows, top + 1)
            counts[some] = (bottom - top + step - 1) // step
            of_row = sums[some]
            of_row[:] = 0
            for y in range(top, bottom, step):
                _add_line(samples[y * stride : y * stride + width], of_row)
        _add_up(sums, runs)
        for column in range(columns):
            left, right = lefts[column], rights[column]
            for some in range(3):
                totals[some, column] = np.uint32(runs[some, right] - runs[some, left])
        for some in range(3):
            taken, of_cells = unit / counts[some], totals[some]
            out = cells[(first + some) * columns : (first + some + 1) * columns]
            for column in range(columns):
                level = (of_cells[column] * taken / widths[column] - low) * scale + zero + 0.5
                out[column] = np.uint8(np.int32(min(max(level, 0.0), 255.0)))


@leaf
def _add_line(line, sums):  # type: ignore[no-untyped-def]
    for x in range(len(sums)):
        sums[x] = np.uint32(sums[x] + np.uint32(line[x]))


@leaf
def _add_up(sums, runs):  # type: ignore[no-untyped-def]
    one = two = three = np.uint32(0)
    first, second, third = sums[0], sums[1], sums[2]
    of_first, of_second, of_third = runs[0], runs[1], runs[2]
    for x in range(len(first)):
        one, two, three = np.uint32(one + first[x]), np.uint32(two + second[x]), np.uint32(three + third[x])
        of_first[x + 1], of_second[x + 1], of_third[x + 1] = one, two, three
