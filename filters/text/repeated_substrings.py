"""Runs of tokens that occur elsewhere in the store too, as spans to remove.

The rule is that of Lee et al. (Deduplicating Training Data Makes Language Models Better, 2022): what lies in a run of
at least 50 tokens that occurs twice is removed, in all copies with `keep: none`. A second copy in the same text counts.
Their program makes a suffix array of all bytes; here only the windows of 50 tokens whose anchor
(`winnow.filters.language.words.windows`) is found twice are compared, by 122 bits of hashes, where the runs of their
anchor meet (`winnow.filters.language.words.window_runs`). The union of the windows that occur twice is what all
repeated runs cover, so the answer is that of a suffix array.
"""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Final, Literal, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import regex

from winnow.filters.language.kernels.digests import digest_column
from winnow.filters.language.kernels.spans import (
    Flags,
    Texts,
    first_and_last,
    flagged_runs,
    owners_of,
    repeats_within,
    shares_of_characters,
    texts_of,
)
from winnow.filters.language.words.window_runs import (
    SHARED,
    Runs,
    grouped,
    halves_of,
    lines_of,
    runs_of,
    shared_windows,
)
from winnow.filters.language.words.windows import (
    Anchors,
    Hashes,
    Ints,
    Tokens,
    anchors_of,
    bytes_of,
    range_hashes,
    tokens_of,
)
from winnow.filters.operators import TEXT, Kernel, RowComparison, RowLookup, TextOperator
from winnow.filters.spans import SPANS, spans_column
from winnow.schemas.recipe.checks import Between
from winnow.schemas.uint128 import places_of

ID: Final = "samples.id"
MOST_BYTES: Final = 64 << 20  # of runs of one anchor, which meet at one place
MOST_REPEATS: Final = 8  # of an anchor in one row, before it counts as another row
LINE_BYTES: Final = 64  # of what is sent with a run
_PART_BYTES = 1 << 18
_AROUND = 256  # bytes of a text in which a character is looked for that a span would cut
_NOT_ASCII, _LINE_FEED = 0x80, 0x0A

WRITES = pa.schema(
    [
        pa.field("tokens", pa.int64()),
        pa.field("repeated", pa.int64()),  # tokens in runs that occur elsewhere
        pa.field("removed_ratio", pa.float64()),  # share of the text's characters that the edit removes
        pa.field("removed", SPANS),
    ]
)

Pairs: TypeAlias = Hashes
"""A row of two halves for each 16-byte value."""


@dataclass(frozen=True, slots=True)
class RepeatedSubstringsConfig:
    """What a token is, how long a run is repeated text, and which copies stay."""

    min_tokens: Annotated[int, Between(2, 10_000)] = 50  # Lee et al.; shorter runs stay
    unit: Literal["word", "byte"] = "word"  # of a token; Lee et al.'s program compares bytes, 100 by default
    keep: Literal["first", "none"] = "first"  # the copy in the sample with the smallest id, or no copy
    within_texts: bool = True  # whether a second copy in the same text counts


@dataclass(frozen=True, slots=True)
class _Compared:
    """The tokens of a batch of texts, and the anchors of their windows."""

    texts: Texts
    tokens: Tokens
    anchors: Anchors
    owners: Ints  # the text of each anchor


def _compared(config: RepeatedSubstringsConfig, batch: pa.RecordBatch) -> _Compared:
    texts = texts_of(batch.column(TEXT))
    tokens = bytes_of(texts) if config.unit == "byte" else tokens_of(texts)
    anchors = anchors_of(tokens, config.min_tokens)
    return _Compared(texts, tokens, anchors, _texts_at(tokens, anchors.firsts))


def _columns(pairs: Pairs) -> tuple[Hashes, Hashes]:
    return pairs[:, 0], pairs[:, 1]


def _texts_at(tokens: Tokens, places: Ints) -> Ints:
    """The text of each token."""
    return np.searchsorted(tokens.documents, places, "right") - 1


def _parts(batch: pa.RecordBatch) -> Iterator[tuple[int, pa.RecordBatch]]:
    """Rows with few bytes of text, whose arrays stay in the processor's cache, and the number of the first."""
    begins = np.cumsum(pc.binary_length(batch.column(TEXT)).to_numpy()) // _PART_BYTES
    cuts = [0, *(np.flatnonzero(np.diff(begins)) + 1).tolist(), batch.num_rows]
    for first, last in itertools.pairwise(cuts):
        yield first, batch.slice(first, last - first)


def offered_anchors(config: RepeatedSubstringsConfig, batch: pa.RecordBatch) -> tuple[Ints, pa.Array]:
    """The rows and keys of all anchors."""
    rows, keys = [], []
    for first, part in _parts(batch):
        compared = _compared(config, part)
        rows.append(compared.owners + first)
        keys.append(compared.anchors.keys)
    found = np.concatenate(keys)
    return np.concatenate(rows), digest_column(found, np.ones(len(found), np.bool_))


def comparison_of_runs(config: RepeatedSubstringsConfig, answers: pa.RecordBatch) -> RowComparison:
    """How the runs of a shard are compared whose anchors other rows have too."""
    width = 1 if config.unit == "byte" else 8
    most = MOST_BYTES // (MOST_REPEATS * (config.min_tokens * 3 // 2 * width + LINE_BYTES))
    shared = _Shared.of(answers.column("key"), answers.column("total").to_numpy() > most)
    return RowComparison(
        lines=partial(_lines, shared),
        answers=SHARED,
        compare=_compare,
        load=partial(_load_shard, shared),
        sent_bytes=16,
    )


def _lines(shared: "_Shared", config: RepeatedSubstringsConfig, batch: pa.RecordBatch) -> pa.RecordBatch:
    found = []
    for _, part in _parts(batch):
        compared = _compared(config, part)
        tokens, buffer = compared.tokens, compared.texts.buffer
        runs = shared.runs_of(config, compared)
        values = buffer[compared.texts.offsets[0] :] if config.unit == "byte" else tokens.hashes
        found.append(lines_of(values, runs, _texts_at(tokens, runs.begins), part.column(ID)))
    return pa.concat_batches(found)


def _compare(config: RepeatedSubstringsConfig, lines: pa.RecordBatch) -> pa.RecordBatch:
    return shared_windows(lines, config.min_tokens, config.unit == "byte")


def _load_shard(shared: "_Shared", config: RepeatedSubstringsConfig, answers: pa.RecordBatch) -> Kernel:
    elsewhere = _Elsewhere.of(answers)

    def kernel(batch: pa.RecordBatch) -> pa.RecordBatch:
        return pa.concat_batches([_layer(config, shared, elsewhere, part) for _, part in _parts(batch)])

    return kernel


@dataclass(frozen=True, slots=True)
class _Shared:
    """Anchors that rows have in common, and whether each is crowded."""

    keys: tuple[Hashes, Hashes]
    crowded: Flags

    @classmethod
    def of(cls, keys: pa.Array, crowded: Flags) -> "_Shared":
        """From a column of different keys."""
        halves = halves_of(keys)
        order, _ = grouped(halves)
        return cls(_columns(halves[order]), crowded[order])

    def runs_of(self, config: RepeatedSubstringsConfig, compared: _Compared) -> Runs:
        """What of some texts is compared with others."""
        places = places_of(self.keys, _columns(compared.anchors.keys))
        crowded = np.append(self.crowded, False)[places]
        return runs_of(compared.tokens, compared.anchors, config.min_tokens, places >= 0, crowded)


@dataclass(frozen=True, slots=True)
class _Elsewhere:
    """Windows that several rows have, by the runs that they are in."""

    keys: tuple[Hashes, Hashes]  # of the runs, ascending
    bounds: Ints  # run i has the ranges `bounds[i]` to `bounds[i + 1]`
    begins: Ints  # in the run, counted in windows
    ends: Ints
    ids: Pairs  # the smallest of the rows that have them

    @classmethod
    def of(cls, answers: pa.RecordBatch) -> "_Elsewhere":
        """From all answers to a shard."""
        halves = halves_of(answers["key"])
        order, starts = grouped(halves)
        begins, ends = (answers[name].to_numpy()[order] for name in ("begin", "end"))
        keys = _columns(halves[order[starts]])
        return cls(keys, np.append(starts, len(order)), begins, ends, halves_of(answers["id"])[order])

    def ranges_of(self, runs: Runs) -> tuple[Ints, Ints, Pairs]:
        """Ranges of windows that some runs have in common with other rows, and the ids of these."""
        places = places_of(self.keys, _columns(runs.asked))
        there = np.flatnonzero(places >= 0)
        first = self.bounds[places[there]]
        counts = self.bounds[places[there] + 1] - first
        at = np.repeat(first - np.cumsum(counts) + counts, counts) + np.arange(counts.sum())
        windows = np.repeat(runs.begins[there], counts)
        return windows + self.begins[at], windows + self.ends[at], self.ids[at]


def _layer(
    config: RepeatedSubstringsConfig, shared: _Shared, elsewhere: _Elsewhere, batch: pa.RecordBatch
) -> pa.RecordBatch:
    compared = _compared(config, batch)
    tokens, size = compared.tokens, config.min_tokens
    repeated, lost = _again(config, compared)
    begins, ends, ids = elsewhere.ranges_of(shared.runs_of(config, compared))
    others = np.ones(len(begins), np.bool_)
    if config.keep == "first":
        others = (ids != halves_of(batch.column(ID))[_texts_at(tokens, begins)]).any(1)
    removed = _covered(tokens, size, np.append(lost, begins[others]), np.append(lost + 1, ends[others]))
    bounds, spans = _spans(compared, removed, config.unit)
    counted = _covered(tokens, size, np.append(repeated, begins), np.append(repeated + 1, ends))
    counts = np.concatenate([[0], np.cumsum(counted)])
    columns = [
        pa.array(np.diff(tokens.documents)),
        pa.array(np.diff(counts[tokens.documents])),
        pa.array(shares_of_characters(compared.texts, bounds, *spans.T)),
        spans_column(bounds, (spans - compared.texts.offsets[owners_of(bounds), None]).astype(np.int32)),
    ]
    return pa.RecordBatch.from_arrays(columns, schema=WRITES)


def _again(config: RepeatedSubstringsConfig, compared: _Compared) -> tuple[Ints, Ints]:
    """The windows that their text has more than once, and which of these go for that."""
    anchors, tokens = compared.anchors, compared.tokens
    if not config.within_texts:
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    windows = anchors.windows_of(repeats_within(compared.owners, anchors.hashes)[0])
    hashes = range_hashes(tokens.hashes, windows, windows + config.min_tokens)
    several, later = repeats_within(_texts_at(tokens, windows), *hashes.T)
    return windows[several], windows[several if config.keep == "none" else later]


def _covered(tokens: Tokens, size: int, begins: Ints, ends: Ints) -> Flags:
    """Which tokens lie in some windows, of which there are ranges."""
    steps = np.bincount(begins, minlength=len(tokens.starts) + 1)
    steps -= np.bincount(ends + size - 1, minlength=len(steps))
    return np.cumsum(steps[:-1]) > 0


def _spans(compared: _Compared, removed: Flags, unit: str) -> tuple[Ints, Ints]:
    """Where each text's spans begin among all, and where in the buffer each span starts and ends.

    Words go with the white space behind them; at the end of a text, with that before them. Signs before the first word
    stay, as they end what comes before. Spans of bytes are cut to whole characters, with their marks and joiners.
    """
    texts, tokens = compared.texts, compared.tokens
    first, last = first_and_last(tokens.documents)
    opens, closes = flagged_runs(tokens.documents, removed)
    of = _texts_at(tokens, opens)
    if unit == "byte":
        starts, ends = tokens.starts[opens], tokens.ends[closes]
        _to_characters(texts, of, starts, ends)
    else:
        words = np.append(np.flatnonzero(~tokens.signs), len(removed))
        word = words[np.searchsorted(words, opens)]
        opens = np.where(first[opens] | (word > closes), opens, word)
        ends = np.where(last[closes], texts.offsets[of + 1], np.append(tokens.starts, 0)[closes + 1])
        tail = last[closes] & ~first[opens]
        starts = np.where(first[opens], texts.offsets[of], np.where(tail, tokens.ends[opens - 1], tokens.starts[opens]))
    kept = starts < ends
    bounds = np.searchsorted(of[kept], np.arange(len(texts.offsets)))
    return bounds, np.stack([starts, ends], 1)[kept]


def _to_characters(texts: Texts, of: Ints, starts: Ints, ends: Ints) -> None:
    """Cut spans of some texts to the characters that lie in them whole, as a reader sees them (Unicode's UAX 29)."""
    follows = (np.append(texts.buffer, np.uint8(0)) & 0xC0) == 0x80
    for _ in range(3):
        starts += follows[starts]
        ends -= follows[ends]
    for places, side in ((starts, 1), (ends, 0)):
        found = np.append(texts.buffer, np.uint8(0))[places]
        inner = np.flatnonzero((found >= _NOT_ASCII) | (found == _LINE_FEED))  # all that can follow within a character
        for span in inner.tolist():
            places[span] = _character_at(texts, int(of[span]), int(places[span]))[side]


def _character_at(texts: Texts, text: int, place: int) -> tuple[int, int]:
    """Where the character begins and ends that a code point of a text is inside of; its place, if it begins one."""
    low = max(int(texts.offsets[text]), place - _AROUND)
    high = min(int(texts.offsets[text + 1]), place + _AROUND)
    at = place - len(bytes(texts.buffer[low:place]).decode(errors="ignore").encode())
    for found in regex.finditer(r"\X", bytes(texts.buffer[at:high]).decode(errors="ignore")):
        after = at + len(found[0].encode())
        if at < place < after:
            return at, after
        if at >= place:
            break
        at = after
    return place, place


def _load_first(config: RepeatedSubstringsConfig, answers: pa.RecordBatch) -> Kernel:
    return comparison_of_runs(config, answers).load(config, pa.RecordBatch.from_pylist([], schema=SHARED))


_LOOKUP = RowLookup(
    max_answers=lambda _config: 1,
    offered_keys=offered_anchors,
    load=_load_first,
    second=comparison_of_runs,
    least_total=lambda _config: 2,
    repeats=MOST_REPEATS,
    sent_bytes=4,  # fourteen tokens of 5 bytes, which take 25 in a store, send 96
)

OPERATOR = TextOperator(
    name="text.repeated_substrings",
    version=2,
    summary="runs of 50 tokens or more that occur elsewhere in the store, as spans to remove",
    config=RepeatedSubstringsConfig,
    reads=lambda _config: (TEXT, ID),
    writes=lambda _config: WRITES,
    load=_LOOKUP.unanswered,
    lookup=_LOOKUP,
    memory=152,
)
