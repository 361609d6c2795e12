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
    name: str
    depth: int
    planes: int
    full_range: bool


_CONVERTED: Final = _Layout("yuv420p", 8, 3, False)
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
        return _Layout(form.name, depth, 1, True)
    if form.name.startswith(("yuv", "yuva")) and "p" in form.name[6:] and 8 <= depth <= 16 and form.is_planar:
        return _Layout(form.name, depth, 3, form.name.startswith("yuvj"))
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
        form = (layout, frame.width, frame.height, frame.color_range, lines)
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


_MEASURED: Final = 8192  # levels at a time; the squares of four times as many add up to less than 2 ** 31
_UPPER: Final = np.uint64(32)
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
    """Some lines at a time, put together so that loops are long, and measured while they are in the nearest cache."""
    stride, height, width, step = plane[0], plane[1], plane[2], plane[3]
    threshold = np.uint8(low + _DARK * span)
    lines, together = -(-height // step), max(_MEASURED // width, 1)
    now = np.empty(together * width, np.uint8)
    before = last.ravel()
    total = dark = squares = differences = np.int64(0)
    for first in range(0, lines, together):
        count = min(together, lines - first)
        for line in range(count):
            start = (first + line) * step * stride
            _levels(samples[start : start + width], shift, now[line * width : (line + 1) * width])
        for start in range(0, count * width, _MEASURED):
            end = min(start + _MEASURED, count * width)
            levels, old = now[start:end], before[first * width + start : first * width + end]
            of_levels, of_squares = _sums(levels)
            total += of_levels
            squares += of_squares
            dark += _few(levels, threshold)
            if known:
                differences += _changed(levels, old)
            _copy(levels, old)
    count = lines * width
    mean = total / count
    found[0] = min(max((mean - low) * 255.0 / span, 0.0), 255.0)
    found[1] = np.sqrt(max(squares / count - mean * mean, 0.0)) * 255.0 / span
    found[2] = dark / count
    found[3] = differences * 255.0 / span / count if known else np.nan


@leaf
def _levels(line, shift, levels):  # type: ignore[no-untyped-def]
    if shift:
        for x in range(len(levels)):
            levels[x] = np.uint8(line[x] >> shift)
    else:
        for x in range(len(levels)):
            levels[x] = np.uint8(line[x])


@leaf
def _sums(levels):  # type: ignore[no-untyped-def]
    total = squares = np.int32(0)
    for at in range(len(levels)):
        level = np.int32(levels[at])
        total = np.int32(total + level)
        squares = np.int32(squares + np.int32(level * level))
    return total, squares


@leaf
def _few(levels, threshold):  # type: ignore[no-untyped-def]
    found = np.int32(0)
    for at in range(len(levels)):
        found = np.int32(found + np.int32(levels[at] <= threshold))
    return found


@leaf
def _changed(levels, before):  # type: ignore[no-untyped-def]
    found = np.int32(0)
    for at in range(len(levels)):
        found = np.int32(found + np.int32(abs(np.int32(np.int32(levels[at]) - np.int32(before[at])))))
    return found


@leaf
def _copy(levels, before):  # type: ignore[no-untyped-def]
    for at in range(len(levels)):  # numba's copies of slices are six times as slow
        before[at] = levels[at]


@arithmetic
def _shrink(samples, plane, rows, columns, unit, low, scale, zero, cells):  # type: ignore[no-untyped-def]
    """Six rows of cells at a time: two share a number, and three sums along lines each wait for their own last term."""
    stride, height, width, step = plane[0], plane[1], plane[2], plane[3]
    by = step * stride
    sums = np.empty((6, width), np.uint32)  # of the lines of a row
    pairs = np.empty((3, width // 2), np.uint64)  # of pixels of these, of two rows
    runs = np.zeros((3, width // 2 + 1), np.uint64)  # of the pairs up to each one
    edges = np.empty(columns + 1, np.int64)
    widths = np.empty(columns, np.float64)
    totals = np.empty((6, columns), np.uint32)
    counts = np.empty(6, np.int64)
    for column in range(columns + 1):
        edges[column] = column * width // columns
    for column in range(columns):
        widths[column] = max(edges[column + 1] - edges[column], 1)
    for first in range(0, rows, 6):
        for some in range(6):
            row = first + some
            top = -(-(row * height // rows) // step) * step
            bottom = max((row + 1) * height // rows, top + 1)
            counts[some] = (bottom - top + step - 1) // step
            _add_lines(samples[top * stride :], by, counts[some], sums[some])
        if width < columns:
            for some in range(6):
                for column in range(columns):
                    totals[some, column] = sums[some, edges[column]]
        else:
            for two in range(3):
                _add_pairs(sums[2 * two], sums[2 * two + 1], pairs[two])
            _add_up(pairs, runs)
            for two in range(3):
                one, other = 2 * two, 2 * two + 1
                _split(runs[two], sums[one], sums[other], edges, totals[one], totals[other])
        for some in range(6):
            taken, of_cells = unit / counts[some], totals[some]
            out = cells[(first + some) * columns : (first + some + 1) * columns]
            for column in range(columns):
                level = (of_cells[column] * taken / widths[column] - low) * scale + zero + 0.5
                out[column] = np.uint8(np.int32(min(max(level, 0.0), 255.0)))


@leaf
def _add_lines(samples, by, count, sums):  # type: ignore[no-untyped-def]
    """The sums of lines: four at a time, then two, then one, as each sum is read and written again."""
    width = len(sums)
    for x in range(width):
        sums[x] = 0
    at = 0
    while count >= 4:
        one, two, three = samples[at:], samples[at + by :], samples[at + 2 * by :]
        four = samples[at + 3 * by :]
        for x in range(width):
            some = np.uint32(np.uint32(one[x]) + np.uint32(two[x]))
            others = np.uint32(np.uint32(three[x]) + np.uint32(four[x]))
            sums[x] = np.uint32(sums[x] + np.uint32(some + others))
        at, count = at + 4 * by, count - 4
    if count >= 2:
        one, two = samples[at:], samples[at + by :]
        for x in range(width):
            sums[x] = np.uint32(sums[x] + np.uint32(np.uint32(one[x]) + np.uint32(two[x])))
        at, count = at + 2 * by, count - 2
    if count:
        one = samples[at:]
        for x in range(width):
            sums[x] = np.uint32(sums[x] + np.uint32(one[x]))


@leaf
def _add_pairs(one, other, pairs):  # type: ignore[no-untyped-def]
    """The sums of two pixels, of one row in the lower half of a number, of another in the upper half."""
    for at in range(len(pairs)):
        lower = np.uint64(np.uint32(one[2 * at] + one[2 * at + 1]))
        pairs[at] = lower | np.uint64(np.uint64(np.uint32(other[2 * at] + other[2 * at + 1])) << _UPPER)


@leaf
def _add_up(pairs, runs):  # type: ignore[no-untyped-def]
    one = two = three = np.uint64(0)
    first, second, third = pairs[0], pairs[1], pairs[2]
    of_first, of_second, of_third = runs[0], runs[1], runs[2]
    for at in range(len(first)):
        one, two, three = one + first[at], two + second[at], three + third[at]
        of_first[at + 1], of_second[at + 1], of_third[at + 1] = one, two, three


@leaf
def _split(runs, one, other, edges, of_one, of_other):  # type: ignore[no-untyped-def]
    """The sums of two rows' cells; what a run carries into its upper half is gone from the difference of two."""
    before = np.uint64(0)
    for column in range(len(of_one)):
        edge = edges[column + 1]
        run = runs[edge >> 1]
        if edge & 1:
            run += np.uint64(one[edge - 1]) | np.uint64(np.uint64(other[edge - 1]) << _UPPER)
        of_one[column] = np.uint32(run - before)
        of_other[column] = np.uint32((run - before) >> _UPPER)
        before = run
