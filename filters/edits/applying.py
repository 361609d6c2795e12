"""Apply all edits to texts at once: deletions and replacements.

Spans that overlap, directly or through others, form one edit. If one of them is a deletion, the whole edit is deleted,
so that no part of a replaced value remains. Otherwise it is replaced like its longest span; ties go to the first, then
to the replacement named first. Spans that only touch are separate edits.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from winnow.filters.edits.replacing import Replacement
from winnow.filters.language.kernels.spans import Texts, texts_of
from winnow.filters.spans import SPANS, TYPED_SPANS
from winnow.schemas.kernels import kernel

Bytes: TypeAlias = npt.NDArray[np.uint8]
Ints: TypeAlias = npt.NDArray[np.int64]

_ROW, _START, _END, _SOURCE, _ITEM = range(5)  # the columns of a span
_DELETION = -1  # the source of a deletion


@dataclass(frozen=True, slots=True)
class Edit:
    """One edit of one text: the removed bytes, and the kind of the replacement; None for a deletion."""

    row: int
    start: int
    end: int
    kind: str | None
    source: int  # the number of the replacement


@dataclass(frozen=True)
class Moves:
    """Where bytes of texts are after edits: the edits of all texts in order, and the lengths of what replaces them."""

    rows: Ints
    starts: Ints
    ends: Ints
    lengths: Ints

    def of(self, rows: Ints, positions: Ints) -> Ints:
        """The positions after the edits, of positions in these texts; one inside an edit moves behind it."""
        if not len(self.rows):
            return positions
        grown = np.concatenate([[0], np.cumsum(self.lengths - (self.ends - self.starts))])
        first = np.searchsorted(self.rows, rows)
        # Edits of a text do not overlap, so those that begin before a position are the first of its text.
        width = int(max(self.ends.max(), positions.max(initial=0))) + 1
        before = np.searchsorted(self.rows * width + self.starts, rows * width + positions)
        last = np.maximum(before - 1, 0)
        inside = (before > first) & (self.ends[last] > positions)
        reached = np.where(inside, self.ends[last], positions)
        found: Ints = reached + grown[before] - grown[first]
        return found


NO_MOVES = Moves(*(np.zeros(0, np.int64),) * 4)


def apply_edits(
    texts: pa.LargeStringArray | pa.ChunkedArray,
    deletions: Sequence[pa.ListArray],
    replacements: Sequence[tuple[pa.ListArray, Replacement]],
) -> pa.LargeStringArray:
    """The texts as exported; `edited` says more."""
    return edited(texts, deletions, replacements)[0]


def edited(
    texts: pa.LargeStringArray | pa.ChunkedArray,
    deletions: Sequence[pa.ListArray],
    replacements: Sequence[tuple[pa.ListArray, Replacement]],
) -> tuple[pa.LargeStringArray, Moves]:
    """The texts as exported, and how edits move what is in them. A text without spans keeps its bytes; null stays null.

    A text with a null list of spans becomes null, as its necessary edits are unknown. Pass an empty list to keep it
    unchanged.

    Args:
        texts: The texts that were measured.
        deletions: Columns of `SPANS` or `TYPED_SPANS`, one list per text; null where it was not measured.
        replacements: Columns of `TYPED_SPANS`, and the replacements of their spans.

    Raises:
        ValueError: Spans are not of these texts: past their end, or inside a character.
    """
    whole = _whole(texts)
    found = texts_of(whole)
    columns = [column for column, _ in replacements]
    spans, kinds = _spans(whole, deletions, columns)
    unknown = unmeasured(whole, [*deletions, *columns])
    hidden = unknown if unknown.true_count else None
    if not len(spans):
        return (whole if hidden is None else _without(whole, hidden)), NO_MOVES
    merged = _merged(spans, found)
    edits = _replaced(found, merged, kinds, [one for _, one in replacements])
    offsets, values = _edited(found, merged, *edits)
    validity = None if whole.null_count == 0 else pa.array(np.asarray(whole.is_valid())).buffers()[1]
    made = pa.LargeStringArray.from_buffers(len(whole), pa.py_buffer(offsets), pa.py_buffer(values), validity)
    moves = Moves(merged[:, _ROW], merged[:, _START], merged[:, _END], np.diff(edits[1]))
    return (made if hidden is None else _without(made, hidden)), moves


def unmeasured(
    texts: pa.LargeStringArray | pa.ChunkedArray, columns: Sequence[pa.ListArray | pa.ChunkedArray]
) -> pa.BooleanArray:
    """Which non-null texts lack spans in some column, so that their edits are unknown."""
    unknown = np.zeros(len(texts), np.bool_)
    for column in columns:
        if column.null_count:
            unknown |= np.asarray(column.is_null())
    return pa.array(unknown & np.asarray(texts.is_valid()))


def edits_of(text: str, deletions: Sequence[pa.ListArray], replacements: Sequence[pa.ListArray]) -> list[Edit]:
    """The merged edits of one text, for display."""
    whole = pa.array([text], pa.large_string())
    spans, kinds = _spans(whole, deletions, replacements)
    merged = _merged(spans, texts_of(whole)) if len(spans) else spans
    return [
        Edit(int(row), int(start), int(end), None if source == _DELETION else kinds[source][item], int(source))
        for row, start, end, source, item in merged
    ]


def _without(texts: pa.LargeStringArray, hidden: pa.BooleanArray) -> pa.LargeStringArray:
    """The texts with some replaced by null, without leaving their bytes in the buffer."""
    # `if_else` would leave the bytes of null texts in the buffer.
    return texts.take(pa.array(np.arange(len(texts)), mask=np.asarray(hidden)))


def _whole(texts: pa.LargeStringArray | pa.ChunkedArray) -> pa.LargeStringArray:
    if isinstance(texts, pa.ChunkedArray):
        texts = texts.combine_chunks()
    return texts.cast(pa.large_string()) if texts.type != pa.large_string() else texts


def _spans(
    texts: pa.LargeStringArray, deletions: Sequence[pa.ListArray], replaced: Sequence[pa.ListArray]
) -> tuple[Ints, list[list[str]]]:
    """The non-empty spans of all columns on non-null texts, in order, and the kinds of the replaced ones."""
    pieces, kinds = [], []
    for source, column in [*((_DELETION, one) for one in deletions), *enumerate(replaced)]:
        if len(column) != len(texts):
            raise ValueError(f"{len(column)} lists of spans for {len(texts)} texts")
        if column.type not in (SPANS, TYPED_SPANS) or (source != _DELETION and column.type != TYPED_SPANS):
            raise ValueError(f"spans have the type {column.type}")
        column = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
        items = column.flatten()
        lengths = np.asarray(column.value_lengths().fill_null(0), np.int64)
        piece = np.empty((len(items), 5), np.int64)
        piece[:, _ROW] = np.repeat(np.arange(len(texts)), lengths)
        piece[:, _START] = items.field("start").to_numpy(zero_copy_only=False)
        piece[:, _END] = items.field("end").to_numpy(zero_copy_only=False)
        piece[:, _SOURCE] = source
        piece[:, _ITEM] = np.arange(len(items))
        pieces.append(piece)
        if source != _DELETION:
            kinds.append(items.field("kind").to_pylist())
    spans = np.concatenate(pieces) if pieces else np.empty((0, 5), np.int64)
    there = np.asarray(texts.is_valid())[spans[:, _ROW]]
    spans = spans[there & (spans[:, _START] != spans[:, _END])]
    order = np.lexsort((spans[:, _SOURCE], -spans[:, _END], spans[:, _START], spans[:, _ROW]))
    return np.ascontiguousarray(spans[order]), kinds


def _merged(spans: Ints, texts: Texts) -> Ints:
    """Each edit as a row of `spans`, with overlapping spans merged."""
    merged: Ints
    merged, wrong = _joined(spans, texts.buffer, texts.offsets)
    if wrong >= 0:
        row, start, end = spans[wrong, :3]
        length = texts.offsets[row + 1] - texts.offsets[row]
        raise ValueError(
            f"the span {start} to {end} of text {row} is outside its {length} bytes or inside a character: "
            "it was measured on another text"
        )
    return merged


@kernel  # type: ignore[untyped-decorator]
def _joined(spans: Ints, text: Bytes, offsets: Ints) -> tuple[Ints, int]:
    merged, used = np.empty((len(spans), 5), np.int64), 0
    longest = 0
    for number in range(len(spans)):
        row, start, end, source = spans[number, 0], spans[number, 1], spans[number, 2], spans[number, 3]
        begin, stop = offsets[row], offsets[row + 1]
        if start < 0 or end < start or begin + end > stop:
            return merged[:used], number
        for place in (begin + start, begin + end):
            if place < stop and text[place] & 0xC0 == 0x80:
                return merged[:used], number
        if used and merged[used - 1, 0] == row and start < merged[used - 1, 2]:
            last = merged[used - 1]
            last[2] = max(last[2], end)
            if source == _DELETION:
                last[3] = _DELETION
            elif last[3] != _DELETION and end - start > longest:
                last[3], last[4], longest = source, spans[number, 4], end - start
            continue
        merged[used] = spans[number]
        longest = end - start
        used += 1
    return merged[:used], -1


def _replaced(
    texts: Texts, merged: Ints, kinds: Sequence[Sequence[str]], replacements: Sequence[Replacement]
) -> tuple[Bytes, Ints]:
    """The concatenated replacement text of all edits, and the end of each."""
    written: list[bytes] = [b""] * len(merged)
    for source, replacement in enumerate(replacements):
        # Spans are rare: a Python step for each costs less than finding them did.
        chosen = np.flatnonzero(merged[:, _SOURCE] == source)
        begins = texts.offsets[merged[chosen, _ROW]]
        values = [
            texts.buffer[start:end].tobytes().decode()
            for start, end in zip(begins + merged[chosen, _START], begins + merged[chosen, _END], strict=True)
        ]
        names = [kinds[source][item] for item in merged[chosen, _ITEM]]
        for place, text in zip(chosen, replacement.written(names, values), strict=True):
            written[place] = text.encode()
    ends = np.cumsum([0, *map(len, written)], dtype=np.int64)
    return np.frombuffer(b"".join(written), np.uint8), ends


def _edited(texts: Texts, merged: Ints, written: Bytes, written_ends: Ints) -> tuple[Ints, Bytes]:
    """The offsets and bytes of the texts after their edits."""
    rows, lengths = merged[:, _ROW], np.diff(written_ends)
    starts, ends = texts.offsets[rows] + merged[:, _START], texts.offsets[rows] + merged[:, _END]
    grown = np.zeros(len(texts.offsets), np.int64)
    np.add.at(grown, rows + 1, lengths - (ends - starts))
    bounds = texts.offsets - texts.offsets[0] + np.cumsum(grown)
    text, new = texts.buffer.data, written.data
    pieces, at, done = [], int(texts.offsets[0]), 0
    for start, end, last in zip(starts.tolist(), ends.tolist(), written_ends[1:].tolist(), strict=True):
        pieces += [text[at:start], new[done:last]]
        at, done = end, last
    return bounds, np.frombuffer(b"".join([*pieces, text[at : int(texts.offsets[-1])]]), np.uint8)
