"""Words, lines or sentences of a column of texts, as byte ranges of its values buffer."""

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

Flags: TypeAlias = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Words:
    """The words, lines or sentences of a column of texts.

    Text i has the pieces `documents[i]` to `documents[i + 1]`; piece j is the bytes `starts[j]` to `ends[j]` of the
    buffer, half-open. Pieces ascend and do not overlap.
    """

    buffer: npt.NDArray[np.uint8]
    documents: npt.NDArray[np.int64]
    starts: npt.NDArray[np.int64]
    ends: npt.NDArray[np.int64]

    def of(self, document: int) -> list[str]:
        """The pieces of one text, for tests and messages."""
        first, last = self.documents[document], self.documents[document + 1]
        return [
            self.buffer[start:end].tobytes().decode("utf-8", "replace")
            for start, end in zip(self.starts[first:last], self.ends[first:last], strict=True)
        ]


@dataclass(frozen=True, slots=True)
class Texts:
    """The buffers of a column of texts: text i is the bytes `offsets[i]` to `offsets[i + 1]`."""

    buffer: npt.NDArray[np.uint8]
    offsets: npt.NDArray[np.int64]
    array: pa.LargeStringArray  # keeps the buffers alive


def texts_of(texts: pa.LargeStringArray | pa.ChunkedArray) -> Texts:
    """The buffers of a column, without a copy if it is one large_string array without nulls."""
    if isinstance(texts, pa.ChunkedArray):
        texts = texts.combine_chunks() if texts.num_chunks != 1 else texts.chunk(0)
    array = texts.cast(pa.large_string()) if texts.type != pa.large_string() else texts
    if array.null_count:
        array = array.fill_null("")
    _, offsets, values = array.buffers()
    buffer = np.frombuffer(values, np.uint8) if values is not None and values.size else np.zeros(0, np.uint8)
    if offsets is None or not offsets.size:
        return Texts(buffer, np.zeros(1, np.int64), array)
    return Texts(buffer, np.frombuffer(offsets, np.int64)[array.offset : array.offset + len(array) + 1], array)


def strings_at(texts: Texts, starts: npt.NDArray[np.int64], ends: npt.NDArray[np.int64]) -> pa.LargeStringArray:
    """Ranges of the buffer, which ascend, as an array of texts."""
    if not len(starts):
        return pa.array([], pa.large_string())
    offsets = np.stack([starts, ends], 1).reshape(-1)  # every other element is what lies between two ranges
    every = pa.LargeStringArray.from_buffers(len(offsets) - 1, pa.py_buffer(offsets), pa.py_buffer(texts.buffer))
    return every.take(pa.array(np.arange(0, len(every), 2)))


def owners_of(bounds: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """The text of each piece, where text i has the pieces `bounds[i]` to `bounds[i + 1]`."""
    return np.repeat(np.arange(len(bounds) - 1), np.diff(bounds))


def flagged_runs(bounds: npt.NDArray[np.int64], flags: Flags) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """The first and the last piece of each run of flagged pieces of a text; `bounds`: those between texts."""
    first, last = first_and_last(bounds)
    opens = np.flatnonzero(flags & (first | ~np.append(False, flags[:-1])[: len(flags)]))
    closes = np.flatnonzero(flags & (last | ~np.append(flags[1:], False)[: len(flags)]))
    return opens, closes


def first_and_last(bounds: npt.NDArray[np.int64]) -> tuple[Flags, Flags]:
    """Which pieces are the first and the last of their text."""
    some = np.flatnonzero(np.diff(bounds))
    first, last = np.zeros((2, bounds[-1]), np.bool_)
    first[bounds[some]] = last[bounds[some + 1] - 1] = True
    return first, last


def repeats_within(owners: npt.NDArray[np.int64], *halves: npt.NDArray[np.uint64]) -> tuple[Flags, Flags]:
    """Which values their text has more than once, and which of these are not its first; `owners`: the text of each."""
    order = np.lexsort((*halves, owners))
    same = np.ones(max(len(order) - 1, 0), np.bool_)
    for column in (owners, *halves):
        ordered = column[order]
        same &= ordered[1:] == ordered[:-1]
    later = np.zeros(len(order), np.bool_)
    later[order[1:]] = same
    several = later.copy()
    several[order[:-1]] |= same
    return several, later


def shares_of_characters(
    texts: Texts, bounds: npt.NDArray[np.int64], starts: npt.NDArray[np.int64], ends: npt.NDArray[np.int64]
) -> npt.NDArray[np.float64]:
    """The share of each text's characters that lies in its ranges of the buffer, which ascend."""
    within = np.bincount(owners_of(bounds), pc.utf8_length(strings_at(texts, starts, ends)).to_numpy(), len(bounds) - 1)
    shares: npt.NDArray[np.float64] = within / np.maximum(pc.utf8_length(texts.array).to_numpy(), 1)
    return shares
