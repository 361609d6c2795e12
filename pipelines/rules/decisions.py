"""The decisions of rules: row by row for a shard, and counts by source, language and reasons for a store.

A set of rules is a bit mask: bit i is the i-th rule of the program, and the bit after the last rule marks a forgotten
row, which rules do not read. Masks of rows are arrays of 64-bit words, masks of counts are Python integers, so there
may be any number of rules.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

if TYPE_CHECKING:
    from winnow.pipelines.rules.sites import SiteCounts

WORD = 64

Masks: TypeAlias = NDArray[np.uint64]
"""A row of words for each sample: bit i of a row is bit i % 64 of its word i // 64."""


Cuts: TypeAlias = tuple[NDArray[np.int64], NDArray[np.int64]]
"""The words of each sample, and how many of them edits cut."""


@dataclass(frozen=True, slots=True, order=True)
class Outcome:
    """The decision on a sample: its source and language, and every rule that fired."""

    source: str
    language: str
    fired: int  # bit mask of all rules that fired; 0: kept
    null: int  # those of them that fired because their condition was null
    textless: bool = False  # a sample of text that has no text

    @property
    def kept(self) -> bool:
        """Whether no rule fired."""
        return self.fired == 0

    @property
    def first(self) -> int:
        """The number of the first rule that fired, whose reason counts; -1 for a kept sample."""
        return (self.fired & -self.fired).bit_length() - 1


@dataclass(frozen=True, slots=True)
class Tally:
    """A number of samples, and their bytes."""

    rows: int = 0
    bytes: int = 0

    def __add__(self, other: "Tally") -> "Tally":
        return Tally(self.rows + other.rows, self.bytes + other.bytes)


_KEYS = ["source", "language", "fired", "null", "textless"]
_COUNTS = pa.schema(
    [
        pa.field("source", pa.string(), nullable=False),
        pa.field("language", pa.string(), nullable=False),
        pa.field("fired", pa.binary(), nullable=False),  # masks in big-endian order, which sort like numbers
        pa.field("null", pa.binary(), nullable=False),
        pa.field("textless", pa.bool_(), nullable=False),
        pa.field("rows", pa.int64(), nullable=False),
        pa.field("bytes", pa.int64(), nullable=False),
        pa.field("words", pa.int64(), nullable=False),  # of texts that guarded edits were measured for
        pa.field("cut", pa.int64(), nullable=False),  # of these, what the edits cut
    ]
)
_MAX_UNMERGED = 1 << 20  # the most rows of outcomes in memory before they are summed


@dataclass(frozen=True)
class DecisionCounts:
    """The number of samples with each outcome. These are sums, so the order of merging does not matter."""

    table: pa.Table  # one row per outcome, sorted

    @classmethod
    def empty(cls) -> Self:
        """Return the counts of no samples."""
        return cls(_COUNTS.empty_table())

    @classmethod
    def merged(cls, parts: Iterable["DecisionCounts"]) -> Self:
        """Return the sum of the parts, with sorted outcomes."""
        held = [_COUNTS.empty_table()]
        new = 0
        for part in parts:
            held.append(part.table)
            new += part.table.num_rows
            if new > _MAX_UNMERGED:
                held, new = [_sum_tables(held)], 0
        return cls(_sum_tables(held).sort_by([(name, "ascending") for name in _KEYS]))

    def __iter__(self) -> Iterator[tuple[Outcome, Tally]]:
        for row in self.table.to_pylist():  # once per outcome, not once per sample
            fired, null = int.from_bytes(row["fired"], "big"), int.from_bytes(row["null"], "big")
            yield (
                Outcome(row["source"], row["language"], fired, null, row["textless"]),
                Tally(row["rows"], row["bytes"]),
            )

    @property
    def tallies(self) -> dict[Outcome, Tally]:
        """The tallies by outcome."""
        return dict(self)

    @property
    def total(self) -> Tally:
        """All samples."""
        return Tally(*(int(pc.sum(self.table[name]).as_py() or 0) for name in ("rows", "bytes")))

    @property
    def kept(self) -> Tally:
        """The samples that no rule dropped."""
        return sum((tally for outcome, tally in self if outcome.kept), Tally())


def _sum_tables(tables: Sequence[pa.Table]) -> pa.Table:
    sums = [(name, "sum") for name in _COUNTS.names[len(_KEYS) :]]
    grouped = pa.concat_tables(tables).group_by(_KEYS, use_threads=False).aggregate(sums)
    return grouped.rename_columns(_COUNTS.names).cast(_COUNTS)


@dataclass(frozen=True)
class ItemDecisions:
    """The decisions on each medium of the rows of one shard, in their order.

    Masks are as those of rows. The bit after the last rule marks the media of dropped rows.
    """

    numbers: NDArray[np.int64]  # of media of each row
    fired: Masks
    counts: DecisionCounts  # of media, and their bytes

    def left(self, rules: int) -> NDArray[np.bool_]:
        """Whether no rule drops each medium, even if its row is dropped."""
        fired = self.fired & word_mask((1 << rules) - 1, self.fired.shape[1])
        left: NDArray[np.bool_] = np.bitwise_or.reduce(fired, axis=1) == 0
        return left


@dataclass(frozen=True)
class ShardDecisions:
    """The decisions on each row of one shard."""

    shard: str
    source: str
    rules: int
    eligible_rules: int  # the number of rules that decide on eligibility, which come first
    fired: Masks
    null: Masks | None  # None if no row was dropped because a condition was null
    counts: DecisionCounts
    sites: "SiteCounts"
    items: ItemDecisions | None = None  # None if the program has no rules of items

    @property
    def rows(self) -> int:
        """The number of rows in the shard."""
        return int(self.fired.shape[0])

    @property
    def kept(self) -> NDArray[np.bool_]:
        """Whether each row is kept: no rule dropped it."""
        kept: NDArray[np.bool_] = np.bitwise_or.reduce(self.fired, axis=1) == 0
        return kept

    @property
    def eligible(self) -> NDArray[np.bool_]:
        """Whether each row may be a representative: no rule of `eligible` fired, and it is not forgotten."""
        first = (1 << self.eligible_rules) - 1 | 1 << self.rules
        fired = self.fired & word_mask(first, self.fired.shape[1])
        eligible: NDArray[np.bool_] = np.bitwise_or.reduce(fired, axis=1) == 0
        return eligible

    @property
    def first(self) -> NDArray[np.int32]:
        """The number of each row's first rule that fired; the number of rules if it is forgotten; -1 if it is kept."""
        found = np.full(self.rows, -1, np.int32)
        for word in reversed(range(self.fired.shape[1])):
            bits = self.fired[:, word]
            lowest = np.bitwise_count((bits & (~bits + np.uint64(1))) - np.uint64(1)).astype(np.int32) + word * WORD
            found = np.where(bits != 0, lowest, found)
        return found


def word_mask(mask: int, words: int) -> Masks:
    """Return a mask as one row of words."""
    return np.array([(mask >> (WORD * word)) & ((1 << WORD) - 1) for word in range(words)], np.uint64)


def has_rule(masks: Masks, number: int) -> NDArray[np.bool_]:
    """Return which masks have the bit of a rule."""
    found: NDArray[np.bool_] = (masks[:, number // WORD] >> np.uint64(number % WORD) & np.uint64(1)).astype(np.bool_)
    return found


def bits_of(mask: int) -> tuple[int, ...]:
    """Return the numbers of the bits that are set, lowest first."""
    return tuple(bit for bit in range(mask.bit_length()) if mask >> bit & 1)


def count_block(
    source: str,
    languages: pa.Array,
    sizes: NDArray[np.int64],
    fired: Masks,
    null: Masks | None,
    textless: NDArray[np.bool_] | None = None,
    cuts: Cuts | None = None,
) -> DecisionCounts:
    """Count the outcomes of a block of rows of one source.

    `languages`: dictionary-encoded, without nulls; `fired`: the rules that fired for each row, `null` those because of
    a null condition (None for none); `textless`: samples of text without any (None for none);
    `cuts`: what guarded edits cut (None for nothing).
    """
    none = np.zeros(len(fired), np.int64)
    words, cut = cuts or (none, none)
    columns = {
        "language": languages.indices,
        "fired": _as_bytes(fired),
        "null": _as_bytes(np.zeros_like(fired) if null is None else null),
        "textless": pa.array(np.zeros(len(fired), np.bool_) if textless is None else textless),
        "bytes": pa.array(sizes),
        "words": pa.array(words),
        "cut": pa.array(cut),
    }
    sums = [("bytes", "count"), ("bytes", "sum"), ("words", "sum"), ("cut", "sum")]
    grouped = pa.table(columns).group_by(_KEYS[1:], use_threads=False).aggregate(sums)
    table = pa.table(
        [
            pa.array([source]).take(pa.array(np.zeros(grouped.num_rows, np.int64))),
            languages.dictionary.take(grouped["language"].combine_chunks()).cast(pa.string()),
            *(
                grouped[name]
                for name in ("fired", "null", "textless", "bytes_count", "bytes_sum", "words_sum", "cut_sum")
            ),
        ],
        schema=_COUNTS,
    )
    return DecisionCounts(table)


def _as_bytes(masks: Masks) -> pa.Array:
    raw = np.ascontiguousarray(masks[:, ::-1].astype(">u8"))
    width = pa.binary(raw.shape[1] * raw.itemsize)
    return pa.FixedSizeBinaryArray.from_buffers(width, len(raw), [None, pa.py_buffer(raw)]).cast(pa.binary())
