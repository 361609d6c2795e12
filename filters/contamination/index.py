"""An index of the n-grams of evaluation sets, and the search of texts for them.

Words are those of `filters/duplicates`: no case, no width, no punctuation, one form of Unicode; a character of a script
without spaces is a word. Digits of all scripts are equal here: ٣ and ３ are 3. An n-gram is known by 64 bits: with ten
million n-grams, a hundred billion words of text meet a wrong one 0.05 times.

The n-grams of an item are as long as its question, but at most `max_ngram_words`: so a question of six words is found
whole. Where `parts` leave the question out, or it has fewer than `min_item_words`, they are as long as all of the item.
One of fewer than `min_item_words` is not searched for.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Literal, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from winnow.filters.contamination.sets import EvaluationSet
from winnow.filters.duplicates.normal_form import numeral_forms
from winnow.filters.duplicates.shingle_hashes import DONE, PLACES, RING, ROOM, SUMS, begin, walk
from winnow.filters.duplicates.shingles import POWER, power_of
from winnow.filters.language.kernels.hashes import mixed, mixed_values
from winnow.filters.language.kernels.open_tables import look_up, open_keys
from winnow.filters.language.kernels.spans import texts_of
from winnow.filters.language.words.pieces import with_room
from winnow.schemas.errors import RecipeError
from winnow.schemas.kernels import inlined, kernel, leaf

Part: TypeAlias = Literal["question", "answer", "both"]

MOST_WORDS: Final = 32  # of an n-gram
MOST_INDEXED: Final = 1 << 25  # words of all sets: some 3 GiB in each process, and 10 while they are read
MOST_PLACES: Final = 64  # items to which an n-gram is credited: beyond it is the frame of a set's questions

_AT_A_TIME = 2048  # units of a walk
_RECENT = 64  # words of the last call that n-grams may begin in
_BITS_OF_GRAM = 32  # of the filter before the table
_LEAST_BITS = 17  # of the filter of a size: 16 KiB, which stay in the first cache
_POWER, _ONE, _SIX, _LOW = np.uint64(POWER), np.uint64(1), np.uint64(6), np.uint64(63)
_SPREAD = np.uint64(0x9E3779B97F4A7C15)

Ints: TypeAlias = NDArray[np.int64]
Hashes: TypeAlias = NDArray[np.uint64]


@dataclass(frozen=True)
class Items:
    """The items of all sets, one after the other."""

    set_of: Ints  # the number of each item's set
    number: Ints  # in its file
    size: Ints  # of its n-grams; 0 if it is too short
    words: Ints  # those that its n-grams can cover
    places: Ints  # its n-grams in the question, in the answer, and from one into the other: [3, items]
    weight: NDArray[np.float64]  # their sums of `Index.weight`: [3, items]
    answers: tuple[Ints, Hashes]  # where each answer begins among all, and the hashes of its words


@dataclass(frozen=True)
class Index:
    """N-grams by number, with the places of items that have them, and tables that find them."""

    sets: tuple[str, ...]
    empty: tuple[int, ...]  # records of each set without text
    items: Items
    grams: Hashes  # ascending
    weight: NDArray[np.float64]  # of each n-gram: the rarer it is among items, the more it says
    begins: Ints  # n-gram i has the places `begins[i]` to `begins[i + 1]`
    item: Ints  # of each place
    place: Ints  # the first word within its item
    part: Ints  # 0: within the question, 1: the answer, 2: both
    sizes: Ints
    powers: Hashes
    filters: Ints  # where the filter of each size begins, and its width
    bits: Hashes
    keys: Hashes
    values: NDArray[np.int32]


@dataclass(frozen=True)
class Hits:
    """What a batch of texts has of an index; each n-gram of a text once."""

    words: Ints  # of each text
    common: Ints  # n-grams of each text that were left out
    row: Ints
    last: Ints  # the n-gram's last word in the text
    gram: Ints
    runs: tuple[Ints, Ints, Ints]  # the row, the first word and the one after the last of all that n-grams cover


def build_index(
    sets: Sequence[EvaluationSet], min_item_words: int, max_ngram_words: int, parts: Sequence[Part]
) -> Index:
    """The index of some sets.

    Raises:
        RecipeError: They have too many words.
    """
    questions = word_hashes(pa.array([text for one in sets for text in one.questions], pa.large_string()))
    answers = word_hashes(pa.array([text for one in sets for text in one.answers], pa.large_string()))
    if len(questions[1]) + len(answers[1]) > MOST_INDEXED:
        raise RecipeError(f"the sets have more than {MOST_INDEXED:,} words; name fewer sets or fields")
    asked, said = np.diff(questions[0]), np.diff(answers[0])
    of_question, of_answer = {"question", "both"} & set(parts), {"answer", "both"} & set(parts)
    words = asked * bool(of_question) + said * bool(of_answer)
    length = np.where((asked >= min_item_words) & ("question" in parts), asked, words)
    size = np.where(length < min_item_words, 0, np.minimum(length, max_ngram_words))
    bounds, units = _joined(questions, answers)
    item, place, part = _places(size, asked, said, parts)
    hashes, values_of_sizes = np.zeros(len(item), np.uint64), list[Hashes]()
    sizes = np.unique(size[item])
    for one in sizes.tolist():
        own = np.flatnonzero(size[item] == one)
        values_of_sizes.append(_values(units, bounds[item[own]] + place[own], one))
        hashes[own] = mixed_values(values_of_sizes[-1] + np.uint64(one)) | _ONE  # 0 marks an empty slot
    grams, number = np.unique(hashes, return_inverse=True)
    order = np.lexsort((place, item, number))
    number, item, place, part = number[order], item[order], place[order], part[order]
    fresh = np.append(True, (number[1:] != number[:-1]) | (item[1:] != item[:-1]))[: len(number)]
    weight = np.log1p(len(words) / np.maximum(np.bincount(number[fresh], minlength=len(grams)), 1))
    cell = part * len(words) + item
    weights = np.bincount(cell, weight[number], 3 * len(words)).astype(np.float64)
    begins = np.searchsorted(number, np.arange(len(grams) + 1))
    kept = np.arange(len(number)) - begins[number] < MOST_PLACES
    filters, bits = _filter(values_of_sizes)
    keys, values = open_keys(grams)
    return Index(
        sets=tuple(one.name for one in sets),
        empty=tuple(one.empty for one in sets),
        items=Items(
            np.repeat(np.arange(len(sets)), [len(one) for one in sets]),
            np.array([number for one in sets for number in one.numbers], np.int64),
            size,
            words,
            np.bincount(cell, minlength=3 * len(words)).reshape(3, -1),
            weights.reshape(3, -1),
            answers,
        ),
        grams=grams,
        weight=weight,
        begins=np.searchsorted(number[kept], np.arange(len(grams) + 1)),
        item=item[kept],
        place=place[kept],
        part=part[kept],
        sizes=sizes,
        powers=np.array([power_of(one) for one in sizes.tolist()], np.uint64),
        filters=filters,
        bits=bits,
        keys=keys,
        values=values,
    )


def find_hits(texts: pa.LargeStringArray, index: Index, common: NDArray[np.bool_] | None = None) -> Hits:
    """The n-grams of texts that an index has, but for `common` ones."""
    column = texts_of(texts)
    left_out = np.zeros(len(index.grams), np.bool_) if common is None else common
    seen = np.zeros(len(index.grams), np.int32)
    tables = index.sizes, index.powers, index.filters, index.bits, index.keys, index.values, left_out, seen
    words, exempt, hits, runs = _search(column.buffer, column.offsets, *numeral_forms(), _power(), *tables)
    return Hits(words, exempt, hits[0], hits[1], hits[2], runs)


def word_hashes(texts: pa.LargeStringArray) -> tuple[Ints, Hashes]:
    """The hashes of the words of texts: where those of each begin, with the end of the last, and all."""
    column = texts_of(texts)
    bounds, units = _units(column.buffer, column.offsets, *numeral_forms(), _power())
    return bounds, units


@lru_cache(maxsize=1)
def _power() -> np.uint64:
    return np.uint64(power_of(1))


def _joined(first: tuple[Ints, Hashes], second: tuple[Ints, Hashes]) -> tuple[Ints, Hashes]:
    """The words of each question with those of its answer behind them."""
    bounds = first[0] + second[0]
    units = np.empty(bounds[-1], np.uint64)
    for own, before in ((first, second[0][:-1]), (second, first[0][1:])):
        units[np.arange(len(own[1])) + np.repeat(before, np.diff(own[0]))] = own[1]
    return bounds, units


def _places(size: Ints, asked: Ints, said: Ints, parts: Sequence[Part]) -> tuple[Ints, Ints, Ints]:
    """The item, the first word and the part of every n-gram."""
    counts = np.where(size > 0, np.maximum(asked + said - size + 1, 0), 0)
    item = np.repeat(np.arange(len(size)), counts)
    place = np.arange(len(item)) - np.repeat(np.cumsum(counts) - counts, counts)
    part = np.where(place + size[item] <= asked[item], 0, np.where(place >= asked[item], 1, 2))
    chosen = np.isin(part, [number for number, name in enumerate(("question", "answer", "both")) if name in parts])
    return item[chosen], place[chosen], part[chosen]


def _values(units: Hashes, starts: Ints, size: int) -> Hashes:
    """The values of n-grams, as `_search` makes them."""
    rolled = np.zeros(len(starts), np.uint64)
    for step in range(size):
        rolled = rolled * _POWER + units[starts + step]
    return rolled


def _filter(values: Sequence[Hashes]) -> tuple[Ints, Hashes]:
    """A bit for the n-grams of each size, so that most words need one look at little memory.

    Returns where each size's words begin, times 64, and the shift to the number of a bit; and the words.
    """
    begins, words = [], [np.zeros(1, np.uint64)]
    for own in values:
        bits = max(_LEAST_BITS, (_BITS_OF_GRAM * len(own) - 1).bit_length())
        begins.append(sum(map(len, words)) << 6 | 64 - bits)
        found = np.zeros(1 << (bits - 6), np.uint64)
        at = own * _SPREAD >> np.uint64(64 - bits)
        np.bitwise_or.at(found, (at >> _SIX).astype(np.int64), _ONE << (at & _LOW))
        words.append(found)
    return np.array(begins, np.int64), np.concatenate(words)


@kernel
def _units(buffer, offsets, pages, values, entries, pool, power):  # type: ignore[no-untyped-def]
    bounds = np.zeros(len(offsets), np.int64)
    found = np.empty((offsets[-1] - offsets[0]) // 4 + 64, np.int64)
    places, sums, ring = np.empty(PLACES, np.int64), np.empty(SUMS, np.uint64), np.empty(RING, np.uint64)
    hashes = np.empty(_AT_A_TIME + ROOM, np.uint64)
    count = 0
    for row in range(len(offsets) - 1):
        begin(offsets[row], places, sums, ring)
        while places[DONE] == 0:
            filled = walk(
                buffer, offsets[row + 1], pages, values, entries, pool, True, 1, power, places, sums, ring, hashes
            )
            found = with_room(found, count, filled)
            for at in range(filled):
                found[count + at] = np.int64(hashes[at])
            count += filled
        bounds[row + 1] = count
    return bounds, found[:count].copy().view(np.uint64)


# In numpy each size is eight passes over all words, which take three times as long.
@kernel
def _search(  # type: ignore[no-untyped-def]
    buffer, offsets, pages, values, entries, pool, power, sizes, powers, filters, bits, keys, numbers, left_out, seen
):
    rows = len(offsets) - 1
    words, common = np.zeros(rows, np.int64), np.zeros(rows, np.int64)
    hit_rows, hit_lasts, hit_grams = np.empty(64, np.int64), np.empty(64, np.int64), np.empty(64, np.int64)
    run_rows, run_firsts, run_ends = np.empty(64, np.int64), np.empty(64, np.int64), np.empty(64, np.int64)
    hits = runs = 0
    places, sums, ring = np.empty(PLACES, np.int64), np.empty(SUMS, np.uint64), np.empty(RING, np.uint64)
    hashes = np.empty(_AT_A_TIME + ROOM, np.uint64)
    rolled = np.zeros(_RECENT + len(hashes), np.uint64)  # the hash of all words before; those of the last call first
    maybe = np.empty(len(hashes), np.uint32)  # a bit for each size
    for row in range(rows):
        begin(offsets[row], places, sums, ring)
        rolled[:_RECENT] = 0
        count, own_runs = 0, runs
        while places[DONE] == 0:
            filled = walk(
                buffer, offsets[row + 1], pages, values, entries, pool, True, 1, power, places, sums, ring, hashes
            )
            maybe[:filled] = 0
            for at in range(filled):
                rolled[_RECENT + at] = rolled[_RECENT + at - 1] * _POWER + hashes[at]
            for number in range(len(sizes)):
                _mark(rolled, filled, count, sizes[number], powers[number], filters[number], bits, maybe, number)
            room = filled * len(sizes)
            hit_rows, hit_lasts = with_room(hit_rows, hits, room), with_room(hit_lasts, hits, room)
            hit_grams = with_room(hit_grams, hits, room)
            run_rows, run_firsts = with_room(run_rows, runs, filled), with_room(run_firsts, runs, filled)
            run_ends = with_room(run_ends, runs, filled)
            for at in range(filled):
                number = 0
                while maybe[at] >> np.uint32(number):
                    if maybe[at] >> np.uint32(number) & np.uint32(1):
                        size = sizes[number]
                        found = _number(_value(rolled, at, size, powers[number]), size, keys, numbers)
                        fresh = found >= 0 and seen[found] != row + 1
                        if found >= 0:
                            seen[found] = row + 1
                        if found >= 0 and left_out[found]:
                            common[row] += np.int64(fresh)
                        elif found >= 0:
                            if fresh:
                                hit_rows[hits], hit_lasts[hits], hit_grams[hits] = row, count + at, found
                                hits += 1
                            first = count + at + 1 - size
                            while runs > own_runs and run_ends[runs - 1] >= first:  # a longer n-gram joins earlier runs
                                runs -= 1
                                first = min(first, run_firsts[runs])
                            run_rows[runs], run_firsts[runs], run_ends[runs] = row, first, count + at + 1
                            runs += 1
                    number += 1
            count += filled
            for at in range(_RECENT):
                rolled[at] = rolled[at + filled]
        words[row] = count
    return (
        words,
        common,
        (hit_rows[:hits].copy(), hit_lasts[:hits].copy(), hit_grams[:hits].copy()),
        (run_rows[:runs].copy(), run_firsts[:runs].copy(), run_ends[:runs].copy()),
    )


@inlined
def _value(rolled, at, size, power):  # type: ignore[no-untyped-def]
    """The hash of the last words up to here."""
    return rolled[_RECENT + at] - rolled[_RECENT + at - size] * power


@leaf
def _mark(rolled, filled, before, size, power, begin_at, bits, maybe, number):  # type: ignore[no-untyped-def]
    """Set the bit of a size where the filter has the n-gram."""
    shift, start = np.uint64(begin_at & 63), begin_at >> 6
    for at in range(max(0, size - 1 - before), filled):
        bit = (_value(rolled, at, size, power) * _SPREAD) >> shift
        has = bits[start + np.int64(bit >> _SIX)] >> (bit & _LOW) & _ONE
        maybe[at] |= np.uint32(has) << np.uint32(number)


@leaf
def _number(value, size, keys, numbers):  # type: ignore[no-untyped-def]
    """The number of an n-gram, or -1."""
    gram = mixed(value + np.uint64(size)) | _ONE
    return np.int64(look_up(keys, numbers, gram))
