"""From the n-grams that texts have to the items of evaluation sets: how much of each item is there, and where."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from winnow.filters.contamination.index import Hits, Index, Ints, word_hashes
from winnow.filters.duplicates.normal_form import folded
from winnow.filters.language.kernels.spans import Words, texts_of
from winnow.filters.language.words.unspaced import split_unicode
from winnow.filters.spans import typed_spans_column

MOST_ITEMS: Final = 16
"""The items that are listed of one text: those of which most is found."""

NEAR: Final = 50
"""The words before and after what is found of an item, among which its answer is looked for."""

MOST_STEP: Final = 1 << 30
_AT_A_TIME = 1 << 21  # places of n-grams in items that are held at once


@dataclass(frozen=True)
class Matches:
    """The items that texts have parts of; those of a text lie together, the best first."""

    items: Ints  # of each text, with those beyond `MOST_ITEMS`
    row: Ints
    item: Ints
    found: NDArray[np.float64]
    covered: NDArray[np.float64]
    weighted: NDArray[np.float64]
    answered: pa.BooleanArray


@dataclass(frozen=True)
class _Pairs:
    """Pairs of texts and items."""

    row: Ints
    item: Ints
    places: Ints  # [pairs, 3]: n-grams in the question, in the answer, and in both
    weight: NDArray[np.float64]
    covered: Ints
    first: Ints  # word in the text
    end: Ints


def matches_of(hits: Hits, index: Index, texts: pa.LargeStringArray) -> Matches:
    """The items of which texts have n-grams."""
    pairs = _concatenated(list(_pairs(hits, index)))
    items = index.items
    found = _share(pairs.places, items.places.T[pairs.item])
    order = np.lexsort((pairs.item, -found, pairs.row))
    rows = pairs.row[order]
    ranks = np.arange(len(rows)) - np.searchsorted(rows, rows)
    best = order[ranks < MOST_ITEMS]
    item = pairs.item[best]
    answered = _answered(index, texts, pairs.row[best], item, pairs.first[best], pairs.end[best])
    return Matches(
        np.bincount(pairs.row, minlength=len(texts)),
        pairs.row[best],
        item,
        found[best],
        pairs.covered[best] / items.words[item],
        _share(pairs.weight[best], items.weight.T[item]),
        answered,
    )


def spans_of(hits: Hits, matches: Matches, index: Index, texts: pa.LargeStringArray) -> pa.ListArray:
    """All that n-grams cover, as spans of the kind `set:item`: of the texts' items the best that is there."""
    rows, firsts, ends = hits.runs
    own = np.unique(rows)
    words = _words(texts.take(pa.array(own)), hits.words[own])
    base = words.documents[np.searchsorted(own, rows)]
    begins = texts_of(texts.take(pa.array(own))).offsets[np.searchsorted(own, rows)]
    spans = np.stack([words.starts[base + firsts] - begins, words.ends[base + ends - 1] - begins], 1)
    items = _item_of_runs(hits, matches, index)
    kinds = [
        f"{index.sets[number]}:{item}"
        for number, item in zip(index.items.set_of[items].tolist(), index.items.number[items].tolist(), strict=True)
    ]
    return typed_spans_column(np.searchsorted(rows, np.arange(len(texts) + 1)), spans.astype(np.int32), kinds)


def _pairs(hits: Hits, index: Index) -> Iterator[_Pairs]:
    """The pairs of texts and items, for some texts at a time."""
    counts = index.begins[hits.gram + 1] - index.begins[hits.gram]
    ends = np.append(np.flatnonzero(np.diff(hits.row)) + 1, len(hits.row)) if len(hits.row) else np.zeros(0, np.int64)
    total = np.cumsum(counts)
    start = 0
    while start < len(hits.row):
        done = total[start - 1] if start else 0
        fitting = ends[(ends > start) & (total[ends - 1] - done <= _AT_A_TIME)]
        stop = int(fitting[-1]) if len(fitting) else int(ends[ends > start][0])
        yield _pairs_of(hits, index, np.arange(start, stop), counts[start:stop])
        start = stop


def _pairs_of(hits: Hits, index: Index, chosen: Ints, counts: Ints) -> _Pairs:
    which = np.repeat(chosen, counts)
    at = np.arange(len(which)) - np.repeat(np.cumsum(counts) - counts, counts) + index.begins[hits.gram[which]]
    row, item, place = hits.row[which], index.item[at], index.place[at]
    order = np.lexsort((place, item, row))
    row, item, place, which = row[order], item[order], place[order], which[order]
    own = index.part[at[order], None] == np.arange(3)
    fresh = np.append(True, (row[1:] != row[:-1]) | (item[1:] != item[:-1]))
    firsts = np.flatnonzero(fresh)
    size, last = index.items.size[item], hits.last[which]
    step = np.append(place[1:] - place[:-1], 0)
    step[np.append(firsts[1:], len(row)) - 1] = MOST_STEP
    return _Pairs(
        row[firsts],
        item[firsts],
        np.add.reduceat(own.astype(np.int64), firsts),
        np.add.reduceat(own * index.weight[hits.gram[which], None], firsts),
        np.add.reduceat(np.minimum(step, size), firsts),
        np.minimum.reduceat(last + 1 - size, firsts),
        np.maximum.reduceat(last + 1, firsts),
    )


def _share(found: NDArray[Any], every: NDArray[Any]) -> NDArray[np.float64]:
    """The larger share, of a question or of its answer; where both are too short, of what lies in both."""
    shares = found / np.where(every > 0, every, 1)
    alone = (every[:, 0] == 0) & (every[:, 1] == 0)
    largest: NDArray[np.float64] = np.where(alone, shares[:, 2], shares[:, :2].max(1, initial=0.0))
    return largest


def _concatenated(pairs: list[_Pairs]) -> _Pairs:
    if not pairs:
        nothing = np.zeros(0, np.int64)
        return _Pairs(nothing, nothing, np.zeros((0, 3), np.int64), np.zeros((0, 3)), nothing, nothing, nothing)
    names = _Pairs.__dataclass_fields__
    return _Pairs(**{name: np.concatenate([getattr(one, name) for one in pairs]) for name in names})


def _answered(
    index: Index, texts: pa.LargeStringArray, rows: Ints, items: Ints, firsts: Ints, ends: Ints
) -> pa.BooleanArray:
    """Whether the words of an item's answer follow each other near what is found of the item."""
    bounds, words = index.items.answers
    asked = np.flatnonzero(bounds[items + 1] > bounds[items])
    own, at = np.unique(rows[asked], return_inverse=True)
    begins, units = word_hashes(texts.take(pa.array(own)))
    found = np.zeros(len(rows), np.bool_)
    for pair, text in zip(asked.tolist(), at.tolist(), strict=True):  # few: at most 16 of a text with a match
        answer = words[bounds[items[pair]] : bounds[items[pair] + 1]]
        whole = units[begins[text] : begins[text + 1]]
        near = whole[max(0, firsts[pair] - NEAR) : ends[pair] + NEAR]
        places = np.flatnonzero(near[: len(near) - len(answer) + 1] == answer[0]) if len(near) >= len(answer) else ()
        found[pair] = any(np.array_equal(near[place : place + len(answer)], answer) for place in places)
    none = np.ones(len(rows), np.bool_)
    none[asked] = False
    return pa.array(found, mask=none)


def _item_of_runs(hits: Hits, matches: Matches, index: Index) -> Ints:
    """Of each run the item, the best of its text among those of which an n-gram first occurs in the run."""
    rows, firsts, _ = hits.runs
    width = int(hits.words.max(initial=0)) + 1
    starts = rows * width + firsts
    best = np.full(len(rows), len(matches.item), np.int64)
    counts = index.begins[hits.gram + 1] - index.begins[hits.gram]
    which = np.repeat(np.arange(len(counts)), counts)
    at = np.arange(len(which)) - np.repeat(np.cumsum(counts) - counts, counts) + index.begins[hits.gram[which]]
    run = np.searchsorted(starts, hits.row[which] * width + hits.last[which], "right") - 1
    many = len(index.items.size) + 1
    keys = matches.row * many + matches.item
    order = np.argsort(keys)
    asked = hits.row[which] * many + index.item[at]
    place = np.minimum(np.searchsorted(keys[order], asked), max(len(keys) - 1, 0))
    there = keys[order][place] == asked if len(keys) else np.zeros(len(asked), np.bool_)
    np.minimum.at(best, run[there], order[place[there]])
    # A run of repeated n-grams alone has none of its own: it is of the text's best item.
    fallback = np.searchsorted(matches.row, rows)
    return matches.item[np.where(best < len(matches.item), best, fallback)]


def _words(texts: pa.LargeStringArray, counts: Ints) -> Words:
    """The words of texts, without those of invisible characters alone, which have no form to compare."""
    words = split_unicode(texts_of(texts))
    if np.array_equal(np.diff(words.documents), counts):
        return words
    kept = np.ones(len(words.starts), np.bool_)
    for text in np.flatnonzero(np.diff(words.documents) != counts).tolist():
        first = int(words.documents[text])
        kept[first : int(words.documents[text + 1])] = [any(map(folded, word)) for word in words.of(text)]
    before = np.concatenate([[0], np.cumsum(kept)])
    return Words(words.buffer, before[words.documents], words.starts[kept], words.ends[kept])
