"""Runs of windows that have one anchor: as lines that meet by it, and which of their windows other rows have too.

A window of `size` tokens that occurs twice has the same anchor both times (`windows`). So not the windows meet, of
which there are as many as tokens, but the runs: the tokens from an anchor's first window to the end of its last, at
most three halves of a window. Equal runs become one line before they are sent. What is found of a run are ranges of its
windows.

An anchor that very many rows have, each in other surroundings, would bring all their runs to one place. The windows of
such a crowded anchor meet one by one.
"""

import itertools
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from winnow.filters.language.kernels.digests import digest_column
from winnow.filters.language.kernels.spans import Flags
from winnow.filters.language.words.windows import Anchors, Hashes, Ints, Tokens, hashes_of_bytes, range_hashes
from winnow.schemas.uint128 import words_of

ID: Final = pa.binary(16)

RUNS = pa.schema(
    [
        pa.field("key", ID, nullable=False),  # where lines meet
        pa.field("asked", ID, nullable=False),  # the hashes of the run
        pa.field("first", ID, nullable=False),  # the smallest id of the rows that have the run
        pa.field("last", ID, nullable=False),  # the largest one
        pa.field("run", pa.large_binary(), nullable=False),  # its tokens; empty for a window of a crowded anchor
    ]
)

SHARED = pa.schema(
    [
        pa.field("key", ID, nullable=False),  # what was asked
        pa.field("id", ID, nullable=False),  # the smallest id of the rows that have these windows
        pa.field("begin", pa.int64(), nullable=False),  # in the run, counted in windows
        pa.field("end", pa.int64(), nullable=False),
    ]
)
"""Windows of a run that several rows have."""

_MOST_WINDOWS = 1 << 20  # that are compared at once, about: they take some 100 bytes each

Values: TypeAlias = npt.NDArray[np.uint8] | Hashes
"""What tokens are, in eight bits or in 64."""


@dataclass(frozen=True, slots=True)
class Runs:
    """Runs of some tokens; those of one window each come last, and they alone."""

    begins: Ints  # the first token of each
    ends: Ints
    keys: Hashes  # where each meets others
    asked: Hashes  # the hashes of each
    whole: int  # how many come before those of one window


def runs_of(tokens: Tokens, anchors: Anchors, size: int, met: Flags, crowded: Flags) -> Runs:
    """The runs of the anchors that are met, and the windows of those that are crowded."""
    begins = anchors.firsts[met & ~crowded]
    ends = anchors.windows[anchors.bounds[1:][met & ~crowded] - 1] + size
    windows = anchors.windows_of(met & crowded)
    runs = range_hashes(tokens.hashes, begins, ends)
    single = range_hashes(tokens.hashes, windows, windows + size)
    return Runs(
        np.append(begins, windows),
        np.append(ends, windows + size),
        np.concatenate([anchors.keys[met & ~crowded], single]),
        np.concatenate([runs, single]),
        len(begins),
    )


def lines_of(values: Values, runs: Runs, owners: Ints, ids: pa.Array) -> pa.RecordBatch:
    """A line (`RUNS`) for each different run; `values`: what tokens are, `owners`: the row of each, `ids`: of rows."""
    order, starts = grouped(runs.asked)
    by_id = np.lexsort(words_of(ids)[::-1])
    ranks = np.empty(len(by_id), np.int64)
    ranks[by_id] = np.arange(len(by_id))
    of = ranks[owners[order]]
    some = order[starts]
    begins = runs.begins[some]
    sizes = np.where(some < runs.whole, runs.ends[some] - begins, 0)
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    places = np.repeat(begins - offsets[:-1], sizes) + np.arange(offsets[-1])
    content = values[places]
    columns = [
        _column(runs.keys[some]),
        _column(runs.asked[some]),
        *(ids.take(pa.array(by_id[edge.reduceat(of, starts)])) for edge in (np.minimum, np.maximum)),
        pa.LargeBinaryArray.from_buffers(
            pa.large_binary(), len(some), [None, pa.py_buffer(offsets * content.itemsize), pa.py_buffer(content)]
        ),
    ]
    return pa.RecordBatch.from_arrays(columns, schema=RUNS)


def grouped(values: Hashes) -> tuple[Ints, Ints]:
    """An order in which equal rows of two halves are together, and where each group of them starts in it."""
    order = np.lexsort((values[:, 1], values[:, 0]))
    ordered = values[order]
    return order, np.flatnonzero(np.append(True, (ordered[1:] != ordered[:-1]).any(1))[: len(order)])


def shared_windows(lines: pa.RecordBatch, size: int, as_bytes: bool) -> pa.RecordBatch:
    """The windows that several rows have (`SHARED`), of all lines of some keys."""
    order, starts = grouped(halves_of(lines["key"]))
    lengths = pc.binary_length(lines["run"]).to_numpy()[order] // (1 if as_bytes else 8)
    parts = np.concatenate([[0], np.cumsum(lengths + 1)])[starts] // _MOST_WINDOWS
    cuts = [*starts[np.flatnonzero(np.diff(parts, prepend=-1))].tolist(), len(order)]
    found = [
        _shared_windows(lines.take(pa.array(order[first:last])), size, as_bytes)
        for first, last in itertools.pairwise(cuts)
    ]
    return pa.concat_batches(found) if found else pa.RecordBatch.from_pylist([], schema=SHARED)


def _shared_windows(lines: pa.RecordBatch, size: int, as_bytes: bool) -> pa.RecordBatch:
    ids = _Ids.of(lines)
    order, starts = grouped(halves_of(lines["asked"]))
    some = order[starts]  # a line of each different run
    first, last = (edge.reduceat(of[order], starts) for edge, of in ((np.minimum, ids.first), (np.maximum, ids.last)))
    offsets, content = _content(lines["run"].take(pa.array(some)))
    tokens = offsets if as_bytes else offsets // 8
    counts = np.maximum(np.diff(tokens) - size + 1, 1)  # windows
    several = _several_runs(halves_of(lines["key"])[some])  # the only run of its key is equal in all rows
    owners = np.repeat(np.arange(len(some)), np.where(several, counts, 1))
    begins = np.arange(len(owners)) - np.searchsorted(owners, owners)
    firsts, lasts = first[owners], last[owners]
    at = np.flatnonzero(several[owners])
    hashes = hashes_of_bytes(content) if as_bytes else content.view("<u8").astype(np.uint64)  # a copy may be written
    windows = tokens[owners[at]] + begins[at]
    order, starts = grouped(range_hashes(hashes, windows, windows + size))
    for edge, of in ((np.minimum, firsts), (np.maximum, lasts)):
        of[at[order]] = np.repeat(edge.reduceat(of[at[order]], starts), np.diff(np.append(starts, len(order))))
    opens = np.flatnonzero(
        np.diff(owners, prepend=-1) | np.diff(firsts, prepend=-1) | np.diff(firsts != lasts, prepend=0)
    )
    closes = np.append(opens[1:], len(owners)) - 1
    shared = np.flatnonzero(firsts[opens] != lasts[opens])
    opens, closes = opens[shared], closes[shared]
    ends = np.where(several[owners[closes]], begins[closes] + 1, counts[owners[closes]])
    columns = [lines["asked"].take(pa.array(some[owners[opens]])), ids.every.take(pa.array(firsts[opens]))]
    return pa.RecordBatch.from_arrays([*columns, pa.array(begins[opens]), pa.array(ends)], schema=SHARED)


def _several_runs(keys: Hashes) -> Flags:
    """Which keys are there more than once."""
    order, starts = grouped(keys)
    counts = np.diff(np.append(starts, len(order)))
    found = np.zeros(len(keys), np.bool_)
    found[order] = np.repeat(counts > 1, counts)
    return found


@dataclass(frozen=True, slots=True)
class _Ids:
    """The first and last ids of lines as numbers in their order."""

    every: pa.Array  # distinct, ascending
    first: Ints
    last: Ints

    @classmethod
    def of(cls, lines: pa.RecordBatch) -> "_Ids":
        ids = pa.concat_arrays([lines["first"], lines["last"]])
        high, low = words_of(ids)
        order = np.lexsort((low, high))
        fresh = np.append(True, (high[order][1:] != high[order][:-1]) | (low[order][1:] != low[order][:-1]))
        ranks = np.empty(len(order), np.int64)
        ranks[order] = np.cumsum(fresh) - 1
        return cls(ids.take(pa.array(order[fresh])), *ranks.reshape(2, -1))


def halves_of(column: pa.Array) -> Hashes:
    """A row of two halves for each value, as `digest_column` writes them."""
    buffer = column.buffers()[1]
    return np.frombuffer(buffer or b"", "<u8", 2 * len(column), 16 * column.offset).reshape(-1, 2)


def _column(halves: Hashes) -> pa.Array:
    return digest_column(halves, np.ones(len(halves), np.bool_))


def _content(runs: pa.LargeBinaryArray) -> tuple[Ints, npt.NDArray[np.uint8]]:
    """Where each run begins, and all bytes."""
    _, offsets, values = runs.buffers()
    buffer = np.frombuffer(values, np.uint8) if values is not None and values.size else np.zeros(0, np.uint8)
    bounds = np.frombuffer(offsets, np.int64)[runs.offset : runs.offset + len(runs) + 1]
    return bounds - bounds[0], buffer[bounds[0] : bounds[-1]]
