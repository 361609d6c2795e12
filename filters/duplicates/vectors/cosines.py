"""Pairs of integer vectors with a high cosine, found by matrix products.

Vectors are scaled to length 4096 and rounded. So the product of any two is a sum of integers below 2^24, which 32-bit
floats represent exactly in any order of summation: the cosines of the rounded vectors are the same with any library of
matrix products, any number of threads and any blocks. Rounding changes a cosine by about 0.0001.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from winnow.filters.duplicates.components import Edges, Forest
from winnow.schemas.kernels import kernel

MAX_DIMENSIONS: Final = 16_384
_ONE: Final = 4096
_LINES, _COLUMNS = 1024, 4096  # of a block of products: 16 MiB

Vectors = NDArray[np.int16]
Positions = NDArray[np.int64]
_ROUNDED = 256


@dataclass(frozen=True, slots=True)
class NearVectors:
    """Some pairs: positions of vectors, the lesser first, and their cosines."""

    first: Positions
    second: Positions
    cosine: NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class CosineJoin:
    """The vectors that have others close to them; all are positions."""

    matched: Positions
    nearest: Positions  # for each matched one the closest, or the first of several
    cosine: NDArray[np.float64]  # to it
    forest: Edges  # the smallest of each tree, and another


def rounded(vectors: NDArray[np.float32]) -> tuple[Vectors, NDArray[np.bool_]]:
    """Vectors rounded to integers, and which of them have a direction; the others become zeros.

    A vector with a number that is not finite, or of zeros alone, has no direction.
    """
    scale = _ONE - 1 - math.ceil(math.sqrt(vectors.shape[1]) / 2)  # lengths stay below 4096 after rounding
    whole, known = np.empty(vectors.shape, np.int16), np.empty(len(vectors), np.bool_)
    for begin in range(0, len(vectors), _ROUNDED):  # in parts that fit into caches
        part = slice(begin, begin + _ROUNDED)
        exact = vectors[part].astype(np.float64)
        finite = np.isfinite(exact).all(axis=1)
        exact[~finite] = 0
        largest = np.abs(exact).max(axis=1, initial=0)
        known[part] = directed = finite & (largest > 0)
        exact /= np.where(directed, largest, 1)[:, None]  # squares of large numbers would overflow
        lengths = np.sqrt(np.square(exact).sum(axis=1))
        exact *= np.where(directed, scale / np.where(directed, lengths, 1), 0)[:, None]
        whole[part] = np.rint(exact)
    return whole, known


def whole_lengths(vectors: Vectors) -> NDArray[np.float64]:
    """The lengths of vectors."""
    found: NDArray[np.float64] = np.sqrt(np.einsum("ij,ij->i", vectors, vectors, dtype=np.int64).astype(np.float64))
    return found


def cosine_pairs(vectors: Vectors, min_cosine: float) -> Iterator[NearVectors]:
    """Each pair with at least this cosine, once; memory does not depend on the number of pairs."""
    lengths = whole_lengths(vectors)
    for begin in range(0, len(vectors), _LINES):
        lines = vectors[begin : begin + _LINES].astype(np.float32)
        for start in range(begin, len(vectors), _COLUMNS):
            products = lines @ vectors[start : start + _COLUMNS].astype(np.float32).T
            for found in _above(products, lengths[begin:], lengths[start:], min_cosine, start - begin):
                yield NearVectors(found.first + begin, found.second + start, found.cosine)


def join_cosines(vectors: Vectors, min_cosine: float) -> CosineJoin:
    """Join vectors, in any order; of several equally close ones, the first is the nearest."""
    best = np.full(len(vectors), -1.0)
    nearest = np.full(len(vectors), len(vectors))
    forest = Forest(len(vectors))
    for found in cosine_pairs(vectors, min_cosine):
        _keep_best(best, nearest, found.first, found.second, found.cosine)
        forest.join(found.first, found.second)
    matched = np.flatnonzero(best >= 0)
    return CosineJoin(matched, nearest[matched], best[matched], forest.edges)


def _above(
    products: NDArray[np.float32],
    lines: NDArray[np.float64],
    columns: NDArray[np.float64],
    min_cosine: float,
    ahead: int,
) -> Iterator[NearVectors]:
    """The pairs of a block of products above its diagonal, at most those of one block of 2^20 at once."""
    room = max(1 << 20, products.shape[1])
    first, second = np.empty(room, np.int64), np.empty(room, np.int64)
    cosine = np.empty(room)
    line = 0
    while line < len(products):
        line, count = _scan(products, lines, columns, min_cosine, ahead, line, first, second, cosine)
        if count:
            yield NearVectors(first[:count].copy(), second[:count].copy(), cosine[:count].copy())


@kernel
def _scan(products, lines, columns, min_cosine, ahead, line, first, second, cosine):  # type: ignore[no-untyped-def]
    """Fill the buffers with pairs, from a line on; return the line to go on with, and the number of pairs."""
    count = 0
    width = products.shape[1]
    shortest = columns[0]
    for column in range(width):
        shortest = min(shortest, columns[column])
    while line < len(products):
        if count + width > len(first):
            break
        bound = np.float32(min_cosine * lines[line] * shortest * 0.999999)
        for column in range(max(0, line - ahead + 1), width):
            if products[line, column] >= bound:
                found = min(np.float64(products[line, column]) / (lines[line] * columns[column]), 1.0)
                if found >= min_cosine:
                    first[count], second[count], cosine[count] = line, column, found
                    count += 1
        line += 1
    return line, count


@kernel
def _keep_best(best, nearest, first, second, cosine):  # type: ignore[no-untyped-def]
    """Take each end of each pair for the other's nearest if it is closer, or as close and earlier."""
    for at in range(len(first)):
        one, other, close = first[at], second[at], cosine[at]
        if close > best[one] or (close == best[one] and other < nearest[one]):
            best[one], nearest[one] = close, other
        if close > best[other] or (close == best[other] and one < nearest[other]):
            best[other], nearest[other] = close, one
