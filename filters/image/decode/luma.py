"""The luma of a picture, measured in one pass: how many pixels have each level, and the sums of its Laplacian.

Every line is read once. It is processed 32 pixels at a time: turned into levels, the squares of the line before are
added, and its levels are counted; counting waits for memory while the other two compute. Levels are counted in pairs,
as a counter takes as long for two pixels as for one, in two alternating tables, as a pair that repeats at once waits
for the table that it was counted in.

LLVM compiles the vectors for the processor at hand. All numbers are whole, so they are the same on any machine.
"""

from typing import Any, Final

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.extending import intrinsic
from numpy.typing import NDArray

from winnow.filters.simd import AHEAD, CACHE_LINE, prefetch
from winnow.schemas.kernels import kernel, leaf

_LANES: Final = 32
_STRETCH: Final = 1 << 15  # pixels of a line
_MOST_SQUARES: Final = 4128  # of 1020, for which a lane has room; a stretch gives it 2080 at most
_MOST_WORDS: Final = 32767  # of four pairs, two of them in each table, whose counters have 16 bits

_BYTE, _SHORT, _INT = ir.IntType(8), ir.IntType(16), ir.IntType(32)


def pair_tables() -> NDArray[np.uint16]:
    """The tables in which `luma_sums` counts pairs and which it leaves empty; reused, as they are large."""
    return np.zeros((2, 1 << 16), np.uint16)


@kernel
def luma_sums(pixels, tables):  # type: ignore[no-untyped-def]
    """The pixels of each level, and the sum and the sum of squares of the Laplacian, mirrored at borders.

    Args:
        pixels: Rows of red, green and blue.
        tables: `pair_tables`; None to count nothing, which leaves a third of the time.
    """
    height, width, _ = pixels.shape
    words = np.zeros((3, width // 8 + 3), np.uint64)  # the last lines, eight levels a word from the second word on
    grey = words.view(np.uint8)[:, 7 : 9 + width]  # and a mirrored one at the left and the right
    counts = np.zeros(256, np.uint32)  # a picture of more pixels has 13 GB
    lanes, squares = np.zeros(_LANES // 2, np.uint32), np.zeros(_LANES // 2, np.int64)
    chosen = np.zeros(2 * _LANES, np.int8)
    chosen[_LANES:] = -1
    total = _sums(pixels.reshape(height, 3 * width), grey, words, tables, counts, lanes, squares, chosen)
    return counts.astype(np.int64), total, squares.sum()


@leaf
def _sums(lines, grey, words, tables, counts, lanes, squares, chosen):  # type: ignore[no-untyped-def]
    """Count all levels and add all squares; returns the sum of the Laplacian."""
    height, width = len(lines), grey.shape[1] - 2
    total = np.int64(0)
    counted = summed = 0  # words in the tables, and at most so many squares in a lane
    _levels(lines[0], grey[0], 0, width)
    for y in range(1, height + 1):
        here = grey[(y - 1) % 3]
        here[0], here[width + 1] = here[min(2, width)], here[max(width - 1, 1)]  # the levels beside the line
        total += np.int64(here[2 if width > 1 else 1]) - here[1] + here[max(width - 1, 1)] - here[width]
        now = grey[y % 3]
        below = now if y < height else grey[max(y - 2, 0) % 3]
        above = grey[(y - 2) % 3] if y > 1 else below if height > 1 else here
        line = lines[min(y, height - 1)]  # behind the last line, one again, to where nobody looks
        for begin in range(0, width, _STRETCH):
            end = min(begin + _STRETCH, width)
            if tables is not None and counted + (end - begin) // 8 > _MOST_WORDS:
                _take_pairs(tables, counts)
                counted = 0
            more = (end - begin) // (_LANES // 2) + _LANES
            if summed + more > _MOST_SQUARES:
                _take_squares(lanes, squares)
                summed = 0
            counted += (end - begin) // 8
            summed += more
            _stretch(line, now, above, here, below, begin, end, words[(y - 1) % 3], tables, counts, lanes, chosen)
        if y == 1 or y == height:  # sums of neighbours cancel out, but for those of the first and the last line
            for x in range(1, width + 1):
                total += np.int64(below[x] if y == 1 else above[x]) - here[x]
    if tables is not None:
        _take_pairs(tables, counts)
    _take_squares(lanes, squares)
    return total


@leaf
def _stretch(  # type: ignore[no-untyped-def]
    line, now, above, here, below, begin, end, words, tables, counts, lanes, chosen
):
    """The levels of a part of a line; the squares and the counts of the line before."""
    rest = (end - begin) % _LANES
    for x in range(begin, end - rest, _LANES):
        prefetch(line, 3 * x + AHEAD)
        prefetch(line, 3 * x + AHEAD + CACHE_LINE)
        _take_levels(line, 3 * x, now, x + 1)
        _add_squares(above, here, below, x, lanes, chosen, _LANES)
        if tables is not None:
            first = np.uint64(x // 8 + 1)
            for at in range(_LANES // 8):
                _count_pairs(words[first + np.uint64(at)], tables)
    if rest and end >= _LANES:  # some pixels again: their levels are the same, their squares are left out
        _take_levels(line, 3 * (end - _LANES), now, end - _LANES + 1)
        _add_squares(above, here, below, end - _LANES, lanes, chosen, rest)
    elif rest:
        _levels(line, now, 0, end)
        for x in range(end):
            bend = np.int32(above[x + 1]) + np.int32(below[x + 1]) + np.int32(here[x]) + np.int32(here[x + 2])
            bend -= np.int32(4) * np.int32(here[x + 1])
            lanes[0] += np.uint32(bend * bend)
    if tables is not None:
        for at in range((end - rest) // 8 + 1, end // 8 + 1):
            _count_pairs(words[at], tables)
        for x in range(end & ~7, end):
            counts[here[x + 1]] += 1


@leaf
def _take_squares(lanes, squares):  # type: ignore[no-untyped-def]
    """Add the squares of all lanes, and empty them."""
    for lane in range(len(lanes)):
        squares[lane] += np.int64(lanes[lane])
        lanes[lane] = 0


@leaf
def _count_pairs(word, tables):  # type: ignore[no-untyped-def]
    """Count the pixels of a word."""
    pair, step = np.uint64(0xFFFF), np.uint16(1)
    tables[0, word & pair] += step
    tables[1, word >> np.uint64(16) & pair] += step
    tables[0, word >> np.uint64(32) & pair] += step
    tables[1, word >> np.uint64(48)] += step


@leaf
def _levels(line, levels, begin, end):  # type: ignore[no-untyped-def]
    """The luma of some pixels of a line."""
    for x in range(begin, end):
        levels[x + 1] = (
            np.int32(line[3 * x]) * np.int32(9798)
            + np.int32(line[3 * x + 1]) * np.int32(19235)
            + np.int32(line[3 * x + 2]) * np.int32(3735)
            + np.int32(16384)
        ) >> np.int32(15)


@leaf
def _take_pairs(tables, counts):  # type: ignore[no-untyped-def]
    """Count the pixels of all pairs, and empty the tables."""
    for first in range(256):
        even, odd = tables[0, 256 * first : 256 * first + 256], tables[1, 256 * first : 256 * first + 256]
        found = np.uint32(0)
        for second in range(256):
            pairs = np.uint32(even[second]) + np.uint32(odd[second])
            found += pairs
            counts[second] += pairs
        counts[first] += found
        for second in range(256):
            even[second] = odd[second] = 0


def _vector(kind: ir.Type, lanes: int = _LANES) -> ir.VectorType:
    return ir.VectorType(kind, lanes)


def _all(kind: ir.Type, value: int) -> ir.Constant:
    return ir.Constant(_vector(kind), [value] * _LANES)


def _every(builder: ir.IRBuilder, wide: ir.Value, first: int, step: int) -> ir.Value:
    """Every second or third number of a vector."""
    chosen = range(first, wide.type.count, step)
    places = ir.Constant(_vector(_INT, len(chosen)), list(chosen))
    return builder.shuffle_vector(wide, ir.Constant(wide.type, ir.Undefined), places)


def _vector_at(builder: ir.IRBuilder, data: ir.Value, at: ir.Value, kind: ir.Type, lanes: int = _LANES) -> ir.Value:
    return builder.bitcast(builder.gep(data, [at]), _vector(kind, lanes).as_pointer())


@intrinsic
def _take_levels(_context, line, _at, levels, _to):  # type: ignore[no-untyped-def]
    """Write 32 levels, with the weights of `_levels` in 16 bits: their high bytes, and what these lack or exceed.

    For any whole numbers, (256 high + low + 16384) >> 15 is (high + (low >> 8) + 64) >> 7. Positions are not checked.
    """

    def code(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> ir.Value:
        line, at, levels, to = arguments
        source = context.make_array(signature.args[0])(context, builder, line).data
        target = context.make_array(signature.args[2])(context, builder, levels).data
        pixels = builder.load(_vector_at(builder, source, at, _BYTE, 3 * _LANES))
        pixels.align = 1
        colours = [builder.zext(_every(builder, pixels, colour, 3), _vector(_SHORT)) for colour in range(3)]

        def weighted(*weights: int) -> ir.Value:
            red, green, blue = (
                builder.mul(one, _all(_SHORT, weight)) for one, weight in zip(colours, weights, strict=True)
            )
            return builder.add(builder.add(red, green), blue)

        low = builder.ashr(weighted(70, 35, -105), _all(_SHORT, 8))
        total = builder.add(builder.add(weighted(38, 75, 15), low), _all(_SHORT, 64))
        found = builder.trunc(builder.lshr(total, _all(_SHORT, 7)), _vector(_BYTE))
        stored = builder.store(found, _vector_at(builder, target, to, _BYTE))
        stored.align = 1
        return context.get_dummy_value()

    return types.void(line, types.intp, levels, types.intp), code


@intrinsic
def _add_squares(_context, above, here, below, _at, lanes, chosen, _of):  # type: ignore[no-untyped-def]
    """Add the squares of the Laplacian of 32 pixels, two of them to a lane, if they are chosen.

    Positions are not checked.
    """

    def code(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> ir.Value:
        at, of = arguments[3], arguments[6]
        up, middle, down, sums, those = (
            context.make_array(signature.args[number])(context, builder, arguments[number]).data
            for number in (0, 1, 2, 4, 5)
        )

        def levels(row: ir.Value, offset: int) -> ir.Value:
            place = builder.add(at, ir.Constant(at.type, offset))
            found = builder.load(_vector_at(builder, row, place, _BYTE))
            found.align = 1
            return builder.zext(found, _vector(_SHORT))

        beside = builder.add(levels(middle, 0), levels(middle, 2))
        around = builder.add(builder.add(levels(up, 1), levels(down, 1)), beside)
        bends = builder.sub(around, builder.shl(levels(middle, 1), _all(_SHORT, 2)))
        mask = builder.load(_vector_at(builder, those, of, _BYTE))
        mask.align = 1
        wide = builder.sext(builder.and_(bends, builder.sext(mask, _vector(_SHORT))), _vector(_INT))
        squares = builder.mul(wide, wide)
        halves = builder.add(_every(builder, squares, 0, 2), _every(builder, squares, 1, 2))
        place = builder.bitcast(sums, _vector(_INT, _LANES // 2).as_pointer())
        before = builder.load(place)
        before.align = 4
        stored = builder.store(builder.add(before, halves), place)
        stored.align = 4
        return context.get_dummy_value()

    return types.void(above, here, below, types.intp, lanes, chosen, types.intp), code
