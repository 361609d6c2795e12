"""Fits the model: the n-grams that it knows, a vector for each, and a vector for each label.

A text is the mean of its n-grams' vectors; a label's probability is a softmax over the labels that are written in the
text's script. Learnt by stochastic gradient descent in one thread, so that the same examples give the same weights.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from numba import njit

from tools.language_model.ngrams import word_ngrams
from winnow.filters.language.identification.own.ngrams import LONGEST, WORD, folding
from winnow.filters.language.kernels.hashes import find

Numbers = npt.NDArray[np.int32]
Hashes = npt.NDArray[np.uint32]
Weights = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Bags:
    """The n-grams of examples, one after the other."""

    values: Hashes | Numbers
    offsets: npt.NDArray[np.int64]


def hashed(texts: list[str]) -> Bags:
    """The hashes of the n-grams of texts."""
    data = "".join(texts).encode()
    buffer = np.frombuffer(data, np.uint8)
    ends = np.cumsum([len(text.encode()) for text in texts])
    starts = np.concatenate([[0], ends[:-1]])
    values, offsets = _hash_all(buffer, starts, ends, folding())
    return Bags(values, offsets)


@njit(cache=True)
def _hash_all(buffer, starts, ends, fold):  # type: ignore[no-untyped-def]
    room = np.zeros(WORD, np.int32)
    out = np.empty(LONGEST * WORD, np.uint32)
    values = np.empty(LONGEST * (len(buffer) + 2 * len(starts)) + len(out), np.uint32)
    offsets = np.zeros(len(starts) + 1, np.int64)
    for text in range(len(starts)):
        at, place = offsets[text], starts[text]
        while place < ends[text]:
            count, place = word_ngrams(buffer, place, ends[text], fold, room, out)
            values[at : at + count] = out[:count]
            at += count
        offsets[text + 1] = at
    return values[: offsets[-1]].copy(), offsets


def frequent(bags: Bags, most: int, least: int) -> Hashes:
    """The n-grams that appear most often, sorted by hash."""
    values = np.sort(bags.values)
    begins = np.flatnonzero(np.concatenate([[True], values[1:] != values[:-1]]))
    counts = np.diff(np.concatenate([begins, [len(values)]]))
    distinct = values[begins]
    order = np.lexsort((distinct, -counts))
    order = order[: min(most, int((counts >= least).sum()))]
    return np.sort(distinct[order])


def known(bags: Bags, vocabulary: Hashes) -> Bags:
    """The numbers of those n-grams that are in a vocabulary."""
    places, offsets = _known(bags.values, bags.offsets, vocabulary, _index(vocabulary))
    return Bags(places, offsets)


def _index(vocabulary: Hashes) -> npt.NDArray[np.int64]:
    """Where the hashes with each first 20 bits begin."""
    return np.searchsorted(vocabulary, np.arange(0, (1 << 32) + 1, 1 << 12, dtype=np.uint64)).astype(np.int64)


@njit(cache=True)
def _known(values, offsets, vocabulary, index):  # type: ignore[no-untyped-def]
    places = np.empty(len(values), np.int32)
    found = np.zeros(len(offsets), np.int64)
    count = 0
    for text in range(len(offsets) - 1):
        for at in range(offsets[text], offsets[text + 1]):
            value = values[at]
            first = index[value >> 12]
            place = find(vocabulary[first : index[(value >> 12) + 1]], value)
            if place >= 0:
                places[count] = first + place
                count += 1
        found[text + 1] = count
    return places[:count].copy(), found


@njit(cache=True, fastmath=True)
def fit(places, offsets, labels, firsts, lasts, rows, outputs, epochs, rate, seed, learn_rows):  # type: ignore[no-untyped-def]
    """Learn from examples in an order that the seed decides; changes rows and outputs in place.

    Args:
        places: The numbers of the examples' n-grams.
        offsets: Where each example begins.
        labels: The label of each.
        firsts: The first label that each may have, by its script.
        lasts: The end of these labels.
        rows: [n-grams, dimension]
        outputs: [labels, dimension]
        epochs: How often every example is seen.
        rate: At the beginning; it falls to nothing.
        seed: Of the order.
        learn_rows: Whether the n-grams' vectors change as well.
    """
    np.random.seed(seed)
    dimension = rows.shape[1]
    hidden = np.zeros(dimension, np.float32)
    change = np.zeros(dimension, np.float32)
    scores = np.zeros(len(outputs), np.float32)
    order = np.arange(len(labels))
    step, steps = 0, epochs * len(labels)
    loss, seen = 0.0, 0
    for _ in range(epochs):
        np.random.shuffle(order)
        for example in order:
            step += 1
            begin, end = offsets[example], offsets[example + 1]
            if end == begin:
                continue
            now = np.float32(rate * (1.0 - step / steps))
            hidden[:] = 0
            for at in range(begin, end):
                row = places[at]
                for axis in range(dimension):
                    hidden[axis] += rows[row, axis]
            part = np.float32(1.0 / (end - begin))
            for axis in range(dimension):
                hidden[axis] *= part
            first, last = firsts[example], lasts[example]
            most = np.float32(-1e30)
            for label in range(first, last):
                total = np.float32(0)
                for axis in range(dimension):
                    total += outputs[label, axis] * hidden[axis]
                scores[label] = total
                most = max(most, total)
            total = np.float32(0)
            for label in range(first, last):
                scores[label] = np.exp(scores[label] - most)
                total += scores[label]
            change[:] = 0
            for label in range(first, last):
                wrong = scores[label] / total
                if label == labels[example]:
                    loss -= np.log(wrong + 1e-9)
                    wrong -= np.float32(1)
                factor = -now * wrong
                if abs(factor) < 1e-7:
                    continue
                for axis in range(dimension):
                    change[axis] += factor * outputs[label, axis]
                    outputs[label, axis] += factor * hidden[axis]
            seen += 1
            if learn_rows:
                for axis in range(dimension):
                    change[axis] *= part
                for at in range(begin, end):
                    row = places[at]
                    for axis in range(dimension):
                        rows[row, axis] += change[axis]
    return loss / max(seen, 1)


def kept(bags: Bags, rows: npt.NDArray[np.int64], count: int) -> Bags:
    """The same examples with some of the n-grams alone, under new numbers."""
    numbers = np.full(count, -1, np.int32)
    numbers[rows] = np.arange(len(rows))
    values = numbers[bags.values]
    known = values >= 0
    return Bags(values[known], np.concatenate([[0], np.cumsum(known)])[bags.offsets])
