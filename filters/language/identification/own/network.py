"""The network of winnow's own model: the sum of its n-grams' vectors, and a vector for each label.

All weights are whole numbers, so that sums are the same on every machine and in every order. A row of the table is a
code for each pair of its numbers and a scale, as `tools.language_model` wrote them; tables are made when it is read.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import as_file, files
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from winnow.filters.language.identification.own.ngrams import (
    LONGEST,
    WORD,
    folding,
    mixed,
    ngrams_of_word,
    read_word,
)
from winnow.schemas.kernels import inlined, kernel
from winnow.schemas.languages import NO_LANGUAGE, UNKNOWN

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

SCALE_STEPS = 12.0
"""Scales are powers of two, in steps of this part of an octave."""
_KEPT_BITS = 15
"""So many words of the texts at hand keep their sums, by a hash: most words of a text are words of other texts."""
_KEPT_WORD = 24  # characters, with edges, of a word that keeps its sum
_NGRAMS = 60_000  # with those of one more word, their sum fits into 32 bits
_FREE = np.uint32(0)


class Table(NamedTuple):
    """An open table of n-grams, and each one's row."""

    hashes: npt.NDArray[np.uint32]  # 0 for a free place
    numbers: npt.NDArray[np.int32]
    rows: npt.NDArray[np.int16]  # [n-grams, dimension]
    shift: int  # of a hash, to its first place


@dataclass(frozen=True, slots=True)
class Network:
    """Everything that the file of weights holds."""

    labels: tuple[str, ...]  # a script and a language, such as `Latn eng`; those of a script stand together
    scripts: Mapping[str, Integers]  # the labels of each
    are_languages: npt.NDArray[np.bool_]  # the labels that stand for one
    table: Table
    outputs: npt.NDArray[np.int16]  # [labels, dimension]
    unit: float  # what a product of a row and an output counts
    usual_fit: Floats  # what the score of each label usually is for texts of it
    sureness: Floats  # of a logistic regression: how likely the best label is right

    def of_script(self, script: str) -> Integers:
        """The labels of a script."""
        return self.scripts.get(script, np.zeros(0, np.int64))

    def languages_among(self, labels: Integers) -> Integers:
        """Those labels that stand for a language."""
        return labels[self.are_languages[labels]]

    def sums(
        self, buffer: npt.NDArray[np.uint8], starts: Integers, ends: Integers
    ) -> tuple[Integers, npt.NDArray[np.int32]]:
        """The sum of the vectors of each text's known n-grams; how many it has, and how many are known."""
        sums, counts = _sums(buffer, starts, ends, folding(), *self.table)
        return sums, counts

    def logits(self, sums: Integers, known: npt.NDArray[np.int32], labels: npt.NDArray[np.int32]) -> Floats:
        """The score of each of some labels for each text, before they become probabilities."""
        # Whole numbers below 2^53: floats are exact.
        products = sums.astype(np.float64) @ self.outputs[labels].T.astype(np.float64)
        return np.asarray(products * (self.unit / np.maximum(known, 1))[:, np.newaxis])


@lru_cache(maxsize=1)
def network() -> Network:
    """The model of this package."""
    with as_file(files(__package__) / "weights" / "model.npz") as path, np.load(path, allow_pickle=False) as arrays:
        return read_network(arrays)


def read_network(arrays: Any) -> Network:
    """The network in the arrays of a file."""
    hashes = np.cumsum(arrays["hash_steps_low"] + (arrays["hash_steps_high"].astype(np.int64) << 16)).astype(np.uint32)
    pairs = arrays["pairs"].astype(np.float64)  # [places, codes, 2]
    codes = arrays["codes"]  # [n-grams, places]
    scales = 2.0 ** (arrays["scales"].astype(np.float64) / SCALE_STEPS)
    rows = np.concatenate([pairs[place][codes[:, place]] for place in range(len(pairs))], axis=1)
    rows = np.rint(rows * scales[:, np.newaxis]).astype(np.int16)
    labels = tuple(arrays["labels"].tobytes().decode().split("\n"))
    of_script: dict[str, list[int]] = {}
    for number, label in enumerate(labels):
        of_script.setdefault(label.partition(" ")[0], []).append(number)
    return Network(
        labels,
        {script: np.array(numbers, np.int64) for script, numbers in of_script.items()},
        np.array([label.partition(" ")[2] not in (UNKNOWN, NO_LANGUAGE) for label in labels], np.bool_),
        _table(hashes, rows),
        arrays["outputs"],
        float(arrays["unit"]),
        arrays["usual_fit"].astype(np.float64),
        arrays["sureness"],
    )


def _table(hashes: npt.NDArray[np.uint32], rows: npt.NDArray[np.int16]) -> Table:
    bits = max(4, (2 * len(hashes)).bit_length())
    places, numbers = np.zeros(1 << bits, np.uint32), np.zeros(1 << bits, np.int32)
    _put_all(places, numbers, hashes, 32 - bits)
    return Table(places, numbers, np.ascontiguousarray(rows), 32 - bits)


@kernel
def _put_all(places, numbers, hashes, shift):  # type: ignore[no-untyped-def]
    for number in range(len(hashes)):
        place = _place(places, hashes[number], shift)
        places[place], numbers[place] = hashes[number], number


@inlined
def _place(places, hashed, shift):  # type: ignore[no-untyped-def]
    place = np.int64(hashed >> np.uint32(shift))
    while places[place] != _FREE and places[place] != hashed:
        place = np.int64(place + 1 if place + 1 < len(places) else 0)
    return place


@kernel
def _sums(buffer, starts, ends, fold, places, numbers, rows, shift):  # type: ignore[no-untyped-def]
    dimension = rows.shape[1]
    sums = np.zeros((len(starts), dimension), np.int64)
    counts = np.zeros((len(starts), 2), np.int32)
    room = np.zeros(WORD, np.int32)
    hashes = np.empty(LONGEST * WORD, np.uint32)
    words = np.empty((1 << _KEPT_BITS, _KEPT_WORD), np.int32)  # those kept, to be sure that a word is one of them
    lengths = np.full(1 << _KEPT_BITS, -1, np.int32)
    parts = np.empty(((1 << _KEPT_BITS) + 1, dimension), np.int32)  # the last: of a word that is not kept
    totals = np.empty(((1 << _KEPT_BITS) + 1, 2), np.int32)
    some = np.zeros(dimension, np.int32)  # of a few words: the sum of all could be larger
    held = 0
    for text in range(len(starts)):
        at = starts[text]
        while at < ends[text]:
            length, at = read_word(buffer, at, ends[text], fold, room)
            slot = np.int64(1 << _KEPT_BITS)
            is_kept = False
            if length <= _KEPT_WORD:
                hashed = np.uint32(length)
                for index in range(length):
                    hashed = (hashed ^ np.uint32(room[index])) * np.uint32(0x01000193)
                slot = np.int64(mixed(hashed) & np.uint32((1 << _KEPT_BITS) - 1))
                is_kept = lengths[slot] == length
                for index in range(length):
                    is_kept &= words[slot, index] == room[index]
            if not is_kept:
                count = ngrams_of_word(room, length, hashes, 0)
                part, known = parts[slot], 0
                part[:] = 0
                for index in range(count):
                    place = _place(places, hashes[index], shift)
                    if places[place] == _FREE:
                        continue
                    known += 1
                    row = rows[numbers[place]]
                    for axis in range(dimension):
                        part[axis] += row[axis]
                totals[slot, 0], totals[slot, 1] = count, known
                if length <= _KEPT_WORD:
                    lengths[slot] = length
                    words[slot, :length] = room[:length]
            kept = parts[slot]
            counts[text, 0] += totals[slot, 0]
            counts[text, 1] += totals[slot, 1]
            for axis in range(dimension):
                some[axis] += kept[axis]
            held += totals[slot, 0]
            if held >= _NGRAMS or at >= ends[text]:
                for axis in range(dimension):
                    sums[text, axis] += some[axis]
                some[:] = 0
                held = 0
    return sums, counts
