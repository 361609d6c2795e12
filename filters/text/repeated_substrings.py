"""Runs of tokens that occur elsewhere in the store too, as spans to remove.

The rule is that of Lee et al. (Deduplicating Training Data Makes Language Models Better, 2022): what lies in a run of
at least 50 tokens that occurs twice is removed, in all copies with `keep: none`. A second copy in the same text counts.
Their program makes a suffix array of all bytes; here only the windows of 50 tokens whose anchor
(`winnow.filters.language.words.windows`) is found twice are compared, by 122 bits of hashes. The union of the
windows that occur twice is what all repeated runs cover, so the answer is that of a suffix array.
"""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Final, Literal, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from winnow.filters.language.kernels.digests import digest_column
from winnow.filters.language.kernels.spans import Texts, owners_of, shares_of_characters, texts_of
from winnow.filters.language.words.windows import (
    Anchors,
    Hashes,
    Ints,
    Tokens,
    anchors_of,
    bytes_of,
    tokens_of,
    window_hashes,
)
from winnow.filters.operators import ANSWERS, TEXT, Assets, Kernel, RowLookup, TextOperator
from winnow.filters.spans import SPANS, spans_column
from winnow.schemas.recipe.checks import Between
from winnow.schemas.uint128 import places_of

ID: Final = "samples.id"
_PART_BYTES = 1 << 18

WRITES = pa.schema(
    [
        pa.field("tokens", pa.int64()),
        pa.field("repeated", pa.int64()),  # tokens in runs that occur elsewhere
        pa.field("removed_ratio", pa.float64()),  # share of the text's characters that the edit removes
        pa.field("removed", SPANS),
    ]
)

Flags: TypeAlias = npt.NDArray[np.bool_]
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

    @property
    def keys(self) -> Pairs:
        """Of each anchor."""
        return np.stack([self.anchors.hashes, np.zeros_like(self.anchors.hashes)], 1)


def _compared(config: RepeatedSubstringsConfig, batch: pa.RecordBatch) -> _Compared:
    texts = texts_of(batch.column(TEXT))
    tokens = bytes_of(texts) if config.unit == "byte" else tokens_of(texts)
    anchors = anchors_of(tokens, config.min_tokens)
    return _Compared(texts, tokens, anchors, _texts_at(tokens, anchors.firsts))


def _texts_at(tokens: Tokens, places: Ints) -> Ints:
    """The text of each token."""
    return np.searchsorted(tokens.documents, places, "right") - 1


def _parts(batch: pa.RecordBatch) -> Iterator[tuple[int, pa.RecordBatch]]:
    """Rows with few bytes of text, whose arrays stay in the processor's cache, and the number of the first."""
    begins = np.cumsum(pc.binary_length(batch.column(TEXT)).to_numpy()) // _PART_BYTES
    cuts = [0, *(np.flatnonzero(np.diff(begins)) + 1).tolist(), batch.num_rows]
    for first, last in itertools.pairwise(cuts):
        yield first, batch.slice(first, last - first)


def _gathered(offers: Iterator[tuple[Ints, Pairs]]) -> tuple[Ints, pa.Array]:
    """The rows and keys of all parts."""
    rows, keys = zip(*offers, strict=True)
    return np.concatenate(rows), digest_column(np.concatenate(keys), np.ones(sum(map(len, keys)), np.bool_))


def offered_anchors(config: RepeatedSubstringsConfig, batch: pa.RecordBatch) -> tuple[Ints, pa.Array]:
    """The rows and keys of all anchors."""

    def offers() -> Iterator[tuple[Ints, Pairs]]:
        for first, part in _parts(batch):
            compared = _compared(config, part)
            yield compared.owners + first, compared.keys

    return _gathered(offers())


def lookup_of_windows(_config: RepeatedSubstringsConfig, answers: pa.RecordBatch) -> RowLookup:
    """The lookup of the windows of a shard whose anchors other rows have too."""
    shared = _Found.of(answers.column("key"))
    return RowLookup(
        max_answers=lambda _config: 1,
        offered_keys=partial(_offered_windows, shared),
        load=partial(_load_shard, shared),
        least_total=lambda _config: 2,
        sent_bytes=16,
    )


def _offered_windows(
    shared: "_Found", config: RepeatedSubstringsConfig, batch: pa.RecordBatch
) -> tuple[Ints, pa.Array]:
    def offers() -> Iterator[tuple[Ints, Pairs]]:
        for first, part in _parts(batch):
            compared = _compared(config, part)
            windows = compared.anchors.windows_of(shared.places_of(compared.keys) >= 0)
            yield (
                _texts_at(compared.tokens, windows) + first,
                window_hashes(compared.tokens, config.min_tokens, windows),
            )

    return _gathered(offers())


def _load_shard(shared: "_Found", config: RepeatedSubstringsConfig, answers: pa.RecordBatch) -> Kernel:
    elsewhere, firsts = _Found.of(answers.column("key")), _halves(answers.column("id"))

    def kernel(batch: pa.RecordBatch) -> pa.RecordBatch:
        return pa.concat_batches([_layer(config, shared, elsewhere, firsts, part) for _, part in _parts(batch)])

    return kernel


def _halves(column: pa.Array) -> Pairs:
    """A row for each value, as `digest_column` writes them."""
    buffer = column.buffers()[1]
    return np.frombuffer(buffer or b"", "<u8", 2 * len(column), 16 * column.offset).reshape(-1, 2)


@dataclass(frozen=True, slots=True)
class _Found:
    """Keys that rows have in common, in ascending order, with the place of each in the order that they came in."""

    halves: Pairs
    order: Ints

    @classmethod
    def of(cls, keys: pa.Array) -> "_Found":
        """From a column of different keys."""
        halves = _halves(keys)
        order = np.lexsort((halves[:, 1], halves[:, 0]))
        return cls(halves[order], order)

    def places_of(self, wanted: Pairs) -> Ints:
        """The place of each wanted key, or -1."""
        at = places_of((self.halves[:, 0], self.halves[:, 1]), (wanted[:, 0], wanted[:, 1]))
        return np.append(self.order, -1)[at]


def _layer(
    config: RepeatedSubstringsConfig, shared: _Found, elsewhere: _Found, firsts: Pairs, batch: pa.RecordBatch
) -> pa.RecordBatch:
    compared = _compared(config, batch)
    tokens = compared.tokens
    own = np.zeros(len(compared.owners), np.bool_)
    if config.within_texts:
        own = _several(compared.owners, compared.anchors.hashes)[0]
    met = own | (shared.places_of(compared.keys) >= 0)
    windows = compared.anchors.windows_of(met)
    hashes, owners = window_hashes(tokens, config.min_tokens, windows), _texts_at(tokens, windows)
    places = elsewhere.places_of(hashes)
    repeated = places >= 0
    lost = repeated.copy()
    if config.keep == "first":
        lost[lost] = (firsts[places[lost]] != _halves(batch.column(ID))[owners[lost]]).any(1)
    del places
    again = np.flatnonzero(np.repeat(own[met], np.diff(compared.anchors.bounds)[met]))
    several, later = _several(owners[again], *hashes[again].T)
    repeated[again] |= several
    lost[again] |= several if config.keep == "none" else later
    del hashes, owners
    removed = _covered(tokens, windows[lost], config.min_tokens)
    bounds, spans = _spans(compared, removed, config.unit)
    counts = np.concatenate([[0], np.cumsum(_covered(tokens, windows[repeated], config.min_tokens))])
    columns = [
        pa.array(np.diff(tokens.documents)),
        pa.array(np.diff(counts[tokens.documents])),
        pa.array(shares_of_characters(compared.texts, bounds, *spans.T)),
        spans_column(bounds, (spans - compared.texts.offsets[owners_of(bounds), None]).astype(np.int32)),
    ]
    return pa.RecordBatch.from_arrays(columns, schema=WRITES)


def _several(owners: Ints, *hashes: Hashes) -> tuple[Flags, Flags]:
    """Which of some hashes their text has more than once, and which of these are not its first."""
    order = np.lexsort((*hashes, owners))
    same = np.ones(max(len(order) - 1, 0), np.bool_)
    for column in (owners, *hashes):
        ordered = column[order]
        same &= ordered[1:] == ordered[:-1]
    later = np.zeros(len(order), np.bool_)
    later[order[1:]] = same
    several = later.copy()
    several[order[:-1]] |= same
    return several, later


def _covered(tokens: Tokens, windows: Ints, size: int) -> Flags:
    """Which tokens lie in some windows."""
    steps = np.bincount(windows, minlength=len(tokens.starts) + 1)
    steps -= np.bincount(windows + size, minlength=len(steps))
    return np.cumsum(steps[:-1]) > 0


def _spans(compared: _Compared, removed: Flags, unit: str) -> tuple[Ints, Ints]:
    """Where each text's spans begin among all, and where in the buffer each span starts and ends.

    Words go with the white space behind them; at the end of a text, with that before them. Signs before the first word
    stay, as they end what comes before. Spans of bytes are cut to whole characters.
    """
    texts, tokens = compared.texts, compared.tokens
    first, last = np.zeros((2, len(removed)), np.bool_)
    begins = tokens.documents[:-1][np.diff(tokens.documents) > 0]
    first[begins] = last[begins[1:] - 1] = True
    last[-1:] = True
    opens = np.flatnonzero(removed & (first | ~np.append(False, removed[:-1])[: len(removed)]))
    closes = np.flatnonzero(removed & (last | ~np.append(removed[1:], False)[: len(removed)]))
    of = _texts_at(tokens, opens)
    if unit == "byte":
        starts, ends = tokens.starts[opens], tokens.ends[closes]
        _to_characters(texts, starts, ends)
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


def _to_characters(texts: Texts, starts: Ints, ends: Ints) -> None:
    """Cut spans to the whole characters in them."""
    follows = (np.append(texts.buffer, np.uint8(0)) & 0xC0) == 0x80
    for _ in range(3):
        starts += follows[starts]
        ends -= follows[ends]


def _load_first(config: RepeatedSubstringsConfig, answers: pa.RecordBatch) -> Kernel:
    none = pa.RecordBatch.from_pylist([], schema=ANSWERS)
    return lookup_of_windows(config, answers).load(config, none)


def _load(config: RepeatedSubstringsConfig, _assets: Assets) -> Kernel:
    return _load_first(config, pa.RecordBatch.from_pylist([], schema=ANSWERS))


OPERATOR = TextOperator(
    name="text.repeated_substrings",
    version=1,
    summary="runs of 50 tokens or more that occur elsewhere in the store, as spans to remove",
    config=RepeatedSubstringsConfig,
    reads=lambda _config: (TEXT, ID),
    writes=lambda _config: WRITES,
    load=_load,
    lookup=RowLookup(
        max_answers=lambda _config: 1,
        offered_keys=offered_anchors,
        load=_load_first,
        second=lookup_of_windows,
        least_total=lambda _config: 2,
        sent_bytes=4,  # fourteen tokens of 5 bytes, which take 25 in a store, send 96
    ),
    memory=152,
)
