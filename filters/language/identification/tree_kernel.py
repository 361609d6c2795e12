"""What a quantised fastText model with a tree of labels says of lines, bit by bit, in a third of fastText's time.

Every number is computed in fastText's order and width: weights are added in the order of a line's words and n-grams,
then the tree is searched from its root. fastText keeps the best labels in a heap, whose order says nothing of equal
scores: lines with such are left to fastText itself.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numba import float32, float64, uint8, uint32
from numpy.typing import NDArray

from winnow.filters.language.identification.fasttext_tree import FastTextTree
from winnow.filters.language.kernels.lookup import find
from winnow.schemas.kernels import kernel, leaf

_OFFSET, _PRIME = uint32(2_166_136_261), uint32(16_777_619)  # FNV-1a, of signed bytes
_SIGNS = uint32(0xFFFFFF00)
_LITTLE = 1e-5  # what fastText adds before it takes a logarithm
_LABEL = np.frombuffer(b"__label__", np.uint8).copy()
_ENDING = np.frombuffer(b"</s>", np.uint8).copy()
_OPEN, _CLOSE = uint8(ord("<")), uint8(ord(">"))  # around a word
_LEFT = -1


class BestLabels(NamedTuple):
    """The likeliest labels of lines."""

    counts: NDArray[np.int32]  # of each line; -1 of those left to fastText
    labels: NDArray[np.int32]  # by line, the likeliest first
    scores: NDArray[np.float32]

    @classmethod
    def unknown(cls, lines: int, most: int) -> "BestLabels":
        """Of lines that only fastText can judge."""
        return cls(
            np.full(lines, _LEFT, np.int32), np.zeros((lines, most), np.int32), np.zeros((lines, most), np.float32)
        )


def best_labels(tree: FastTextTree, lines: Sequence[bytes], most: int, least: float) -> BestLabels:
    """At most so many labels of each line, those with the least score at least."""
    buffer = np.frombuffer(b"".join(lines) or b"\n", np.uint8)
    ends = np.cumsum([0, *map(len, lines)], dtype=np.int64)
    found = BestLabels.unknown(len(lines), min(most, len(tree.nodes)))
    _judge_all(tree, buffer, ends, np.float32(least), *found)
    return found


@kernel
def _judge_all(tree, buffer, ends, least, counts, labels, scores):  # type: ignore[no-untyped-def]
    mean = np.zeros(tree.weights.shape[1], np.float32)
    nodes, sums = np.zeros(2 * len(tree.nodes), np.int32), np.zeros(2 * len(tree.nodes), np.float32)
    for line in range(len(counts)):
        counts[line] = 0
        if _average(tree, buffer, ends[line], ends[line + 1], mean):
            counts[line] = _search(tree, mean, _logarithm(least), labels[line], scores[line], nodes, sums)


@leaf
def _step(value, byte):  # type: ignore[no-untyped-def]
    signed = uint32(byte) | _SIGNS if byte >= 128 else uint32(byte)
    return uint32((value ^ signed) * _PRIME)


@leaf
def _ends_word(byte):  # type: ignore[no-untyped-def]
    return byte == 32 or 9 <= byte <= 13 or byte == 0


@leaf
def _begins(buffer, start, end, text):  # type: ignore[no-untyped-def]
    if end - start < len(text):
        return False
    for at in range(len(text)):  # noqa: SIM110, numba knows no generators here
        if buffer[start + at] != text[at]:
            return False
    return True


@leaf
def _add(weights, row, mean):  # type: ignore[no-untyped-def]
    for at in range(len(mean)):
        mean[at] += weights[row, at]


@leaf
def _average(tree, buffer, start, end, mean):  # type: ignore[no-untyped-def]
    """The mean weights of a line's words and n-grams; returns how many these are."""
    mean[:] = 0
    count = 0
    while start < end:
        if _ends_word(buffer[start]):
            if buffer[start] == 10:
                break
            start += 1
            continue
        first = start
        while start < end and not _ends_word(buffer[start]):
            start += 1
        if start - first == len(_ENDING) and _begins(buffer, first, start, _ENDING):
            break
        if _begins(buffer, first, start, _LABEL):
            continue
        word = find(tree.words, tree.octets, 0, buffer, first, start)
        if word >= 0:
            _add(tree.weights, word, mean)
            count += 1
        count += _add_grams(tree, buffer, first, start, mean)
    if tree.ending >= 0:
        _add(tree.weights, tree.ending, mean)
        count += 1
    if count:
        share = float32(1.0 / count)
        for at in range(len(mean)):
            mean[at] *= share
    return count


@leaf
def _add_grams(tree, buffer, first, last, mean):  # type: ignore[no-untyped-def]
    """Add the weights of the kept n-grams of `<word>`; returns how many these are."""
    count = 0
    buckets = uint32(len(tree.rows))
    size = last - first + 2
    for begin in range(size):
        if begin > 0 and begin < size - 1 and (buffer[first + begin - 1] & 0xC0) == 0x80:
            continue
        value, at = _OFFSET, begin
        for length in range(1, tree.longest + 1):
            if at >= size:
                break
            value = _step(value, _OPEN if at == 0 else (_CLOSE if at == size - 1 else buffer[first + at - 1]))
            at += 1
            while at < size - 1 and (buffer[first + at - 1] & 0xC0) == 0x80:
                value = _step(value, buffer[first + at - 1])
                at += 1
            if length >= tree.shortest and not (length == 1 and (begin == 0 or at == size)):
                bucket = value % buckets
                if (tree.kept[bucket >> uint32(3)] >> (bucket & uint32(7))) & 1:
                    _add(tree.weights, tree.rows[bucket], mean)
                    count += 1
    return count


@leaf
def _logarithm(value):  # type: ignore[no-untyped-def]
    return float32(math.log(float64(value) + _LITTLE))


@leaf
def _search(tree, mean, least, labels, scores, nodes, sums):  # type: ignore[no-untyped-def]
    """Fill in the best labels and their scores; returns how many these are, or -1 if some are equal."""
    inner = len(tree.nodes)
    held, waiting, tied = 0, 1, False
    nodes[0], sums[0] = 2 * inner - 2, float32(0)
    while waiting:
        waiting -= 1
        node, score = nodes[waiting], sums[waiting]
        if score < least or (held == len(labels) and score < scores[held - 1]):
            continue
        if tree.left[node] < 0:
            tied |= held == len(labels) and scores[held - 1] == score
            held = min(held + 1, len(labels))
            at = held - 1
            while at > 0 and scores[at - 1] < score:
                scores[at], labels[at] = scores[at - 1], labels[at - 1]
                at -= 1
            tied |= at > 0 and scores[at - 1] == score
            scores[at], labels[at] = score, node
            continue
        value = float32(0)
        for at in range(len(mean)):
            value += tree.nodes[node - inner, at] * mean[at]
        share = float32(1.0 / float64(float32(1) + math.exp(-value)))
        nodes[waiting], sums[waiting] = tree.right[node], score + _logarithm(share)
        nodes[waiting + 1] = tree.left[node]
        sums[waiting + 1] = score + _logarithm(float32(1.0 - float64(share)))
        waiting += 2
    for at in range(held):
        scores[at] = math.exp(scores[at])
    return _LEFT if tied else held
