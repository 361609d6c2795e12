r"""Lines or paragraphs that other texts of the store have too, as spans to remove.

The builder of C4 (tensorflow_datasets, `c4_utils.py`) compares stripped, lower-cased lines of all pages. Of equal lines
it keeps the first one of the page whose address has the smallest hash, so that no site is preferred. Here the sample
with the smallest id keeps the line, as ids are hashes too. `keep: none` removes every copy instead. Lines end at `\n`
or `\r\n`; a paragraph is a run of lines between blank ones.

With `within`, only texts of one site, language or source are compared. With `min_share`, a line is repeated if such a
share of them has it, like the menus and footers that a site's template adds to its pages.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Final, Literal, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from winnow.filters.language.kernels.digests import digest_column, digests_of
from winnow.filters.language.kernels.spans import (
    Texts,
    Words,
    first_and_last,
    flagged_runs,
    owners_of,
    repeats_within,
    shares_of_characters,
    strings_at,
    texts_of,
)
from winnow.filters.language.passages.passages import newline_runs, trimmed
from winnow.filters.operators import ANSWERS, TEXT, ColumnName, Kernel, RowLookup, TextOperator
from winnow.filters.spans import SPANS, spans_column
from winnow.schemas.errors import RecipeError
from winnow.schemas.recipe.checks import Between
from winnow.schemas.uint128 import places_of, words_of

ID: Final = "samples.id"

WRITES = pa.schema(
    [
        pa.field("lines", pa.int64()),  # that are not blank; or paragraphs
        pa.field("repeated", pa.int64()),  # lines that at least `min_documents` texts have
        pa.field("removed_ratio", pa.float64()),  # share of the text's characters that the edit removes
        pa.field("removed", SPANS),
    ]
)

_SPACE = r"[\s\x{0b}\x{1c}-\x{1f}\x{85}\p{Z}]+"
_UNUSUAL = r"  |[\t-\r\x{1c}-\x{1f}\x{85}]|[^\P{Z} ]"  # white space beyond single blanks, which few lines have
_NEWLINE, _RETURN = 10, 13
_COLON = pa.scalar(":", pa.large_string())

Ints: TypeAlias = npt.NDArray[np.int64]
Halves: TypeAlias = tuple[npt.NDArray[np.uint64], npt.NDArray[np.uint64]]


@dataclass(frozen=True, slots=True)
class RepeatedLinesConfig:
    """Which lines are compared, which are equal, and which copies stay."""

    unit: Literal["line", "paragraph", "text"] = "line"
    keep: Literal["first", "none"] = "first"  # the copy in the sample with the smallest id, or no copy
    within: tuple[ColumnName, ...] = ()  # texts are compared where these are equal; those without a value are not
    min_documents: Annotated[int, Between(2, 1 << 40)] = 2  # a line in fewer texts is not repeated
    min_share: Annotated[float, Between(0, 1)] = 0.0  # nor is one in a smaller share of the texts that are compared
    min_chars: Annotated[int, Between(1, 1_000_000)] = 10  # shorter lines stay; without the white space around them
    min_words: Annotated[int, Between(1, 1_000_000)] = 1  # lines with fewer stay; words are split at white space
    ignore_case: bool = True  # C4
    ignore_spaces: bool = True  # runs of white space are equal; C4 ignores only those around a line


@dataclass(frozen=True, slots=True)
class _Lines:
    """The lines, or paragraphs, of a batch of texts."""

    texts: Texts
    documents: Ints  # text i has the lines `documents[i]` to `documents[i + 1]`
    starts: Ints  # in the buffer, without white space around
    ends: Ints
    compared: Ints  # those that are long enough, of texts that are compared
    keys: pa.Array  # of these, a digest
    sharing: Ints  # the texts that are compared; none without `min_share`
    groups: pa.Array  # of these, a digest of what they are compared within


def compared_lines(config: RepeatedLinesConfig, batch: pa.RecordBatch) -> _Lines:
    """The lines of texts, and keys for those that are long enough to be compared."""
    texts = texts_of(batch.column(TEXT))
    pieces = trimmed(newline_runs(texts, 1, strip=False))
    documents, starts, ends = pieces.documents, pieces.starts, pieces.ends
    if config.unit != "line":
        begins = _paragraph_starts(texts, pieces) if config.unit == "paragraph" else _text_starts(pieces)
        documents, starts = np.searchsorted(begins, documents), starts[begins]
        ends = ends[np.append(begins[1:], len(ends))[: len(begins)] - 1]
    owners = owners_of(documents)
    groups, there = digests_within(config.within, batch)
    sizes = ends - starts
    long = (sizes >= config.min_chars) & there[owners]  # characters have a byte or more, and at most four
    some = np.flatnonzero(long & (sizes < 4 * config.min_chars))
    long[some] = pc.utf8_length(strings_at(texts, starts[some], ends[some])).to_numpy() >= config.min_chars
    compared = np.flatnonzero(long)
    written = strings_at(texts, starts[compared], ends[compared])
    unusual = pc.match_substring_regex(written, _UNUSUAL)
    spaced = pc.replace_with_mask(written, unusual, pc.replace_substring_regex(written.filter(unusual), _SPACE, " "))
    form = spaced if config.ignore_spaces else written
    if config.min_words > 1:
        enough = pc.count_substring(spaced, " ").to_numpy() >= config.min_words - 1
        form, compared = form.filter(pa.array(enough)), compared[enough]
    if config.ignore_case:
        form = pc.utf8_lower(form)
    keys = digests_of(texts_of(form))
    if config.within:
        keys ^= groups[owners[compared]]
    sharing = np.flatnonzero(there) if config.min_share else np.zeros(0, np.int64)
    return _Lines(texts, documents, starts, ends, compared, _column(keys), sharing, _column(groups[sharing]))


def digests_within(
    within: Sequence[ColumnName], batch: pa.RecordBatch
) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.bool_]]:
    """A digest of what each text is compared within, and which texts have all values.

    The digests' halves are exchanged: a line that spells what it is within would else have the same key everywhere.
    """
    found = pa.array([""] * batch.num_rows, pa.large_string())
    for name in within:
        if pa.types.is_nested(batch.schema.field(name).type):
            raise RecipeError(f"within: {name} has no single value for each sample; name another column")
        value = batch.column(name).cast(pa.large_string())
        size = pc.binary_length(value).cast(pa.large_string())
        found = pc.binary_join_element_wise(found, size, value, _COLON)
    return digests_of(texts_of(found))[:, ::-1], found.is_valid().to_numpy(zero_copy_only=False)


def _column(halves: npt.NDArray[np.uint64]) -> pa.Array:
    return digest_column(halves, np.ones(len(halves), np.bool_))


def _breaks(texts: Texts) -> Ints:
    """Where the newlines of these texts are, and the end of the buffer."""
    begin, end = texts.offsets[0], texts.offsets[-1]
    return np.append(np.flatnonzero(texts.buffer[begin:end] == _NEWLINE) + begin, len(texts.buffer))


def _paragraph_starts(texts: Texts, lines: Words) -> Ints:
    """The lines that begin a paragraph: the first of each text, and those behind a blank line."""
    breaks = _breaks(texts)
    between = np.searchsorted(breaks, lines.starts[1:]) - np.searchsorted(breaks, lines.ends[:-1])
    begins = np.append(True, between > 1)[: len(lines.starts)]
    begins[_text_starts(lines)] = True
    return np.flatnonzero(begins)


def _text_starts(lines: Words) -> Ints:
    """The first line of each text that has any."""
    found: Ints = lines.documents[:-1][np.diff(lines.documents) > 0]
    return found


def offered_keys(config: RepeatedLinesConfig, batch: pa.RecordBatch) -> tuple[Ints, pa.Array]:
    """The rows and keys of all lines that are compared, and of what their share is of."""
    lines = compared_lines(config, batch)
    rows = np.concatenate([owners_of(lines.documents)[lines.compared], lines.sharing])
    return rows, pa.concat_arrays([lines.keys, lines.groups])


def load_shard(config: RepeatedLinesConfig, answers: pa.RecordBatch) -> Kernel:
    """The kernel for a shard, from the first text of each line that repeats, and how many texts have it."""
    key, first, total = (answers.column(name) for name in ANSWERS.names)
    return partial(_layer, config, _halves(key), _halves(first), total.to_numpy())


def _halves(column: pa.Array) -> Halves:
    return words_of(column) if len(column) else (np.zeros(0, np.uint64), np.zeros(0, np.uint64))


def _layer(
    config: RepeatedLinesConfig,
    keys: Halves,
    firsts: Halves,
    totals: Ints,
    batch: pa.RecordBatch,
) -> pa.RecordBatch:
    lines = compared_lines(config, batch)
    owners = owners_of(lines.documents)
    of, own = owners[lines.compared], _halves(lines.keys)
    at = places_of(keys, own)
    repeated = at >= 0
    if config.min_share:
        every = np.full(batch.num_rows, -1)  # where the number of texts is that this one is compared with
        every[lines.sharing] = places_of(keys, _halves(lines.groups))
        repeated &= every[of] >= 0
        repeated[repeated] = totals[at[repeated]] / totals[every[of[repeated]]] >= config.min_share
    if config.keep == "none":
        lost = repeated
    else:
        ids = _halves(batch.column(ID))
        elsewhere = (firsts[0][at] != ids[0][of]) | (firsts[1][at] != ids[1][of]) if len(keys[0]) else repeated
        lost = (repeated & elsewhere) | repeats_within(of, *own)[1]
    removed = np.zeros(len(owners), np.bool_)
    removed[lines.compared[lost]] = True
    bounds, starts, ends = _spans(lines, owners, removed)
    spans = np.stack([starts, ends], 1) - lines.texts.offsets[owners_of(bounds), None]
    columns = [
        pa.array(np.diff(lines.documents)),
        pa.array(np.bincount(of[repeated], minlength=batch.num_rows)),
        pa.array(shares_of_characters(lines.texts, bounds, starts, ends)),
        spans_column(bounds, spans.astype(np.int32)),
    ]
    return pa.RecordBatch.from_arrays(columns, schema=WRITES)


def _spans(lines: _Lines, owners: Ints, removed: npt.NDArray[np.bool_]) -> tuple[Ints, Ints, Ints]:
    """What is cut out: whole lines with all up to the next line; at the end of a text, also the break before them.

    Returns where each text's spans begin among all, and where in the buffer each span starts and ends.
    """
    texts, breaks = lines.texts, _breaks(lines.texts)
    first, last = first_and_last(lines.documents)
    begins = np.where(first, texts.offsets[owners], breaks[np.searchsorted(breaks, lines.starts) - 1] + 1)
    stops = np.where(last, texts.offsets[owners + 1], np.append(begins[1:], 0)[: len(owners)])
    opens, closes = flagged_runs(lines.documents, removed)
    spans = begins[opens], stops[closes]
    tail = np.flatnonzero(last[closes] & ~first[opens])
    stays = lines.ends[opens[tail] - 1]
    broken = breaks[np.searchsorted(breaks, stays)]
    spans[0][tail] = broken - ((texts.buffer[broken - 1] == _RETURN) & (broken > stays))
    return np.searchsorted(owners[opens], np.arange(len(texts.offsets))), *spans


_LOOKUP = RowLookup(
    max_answers=lambda _config: 1,
    offered_keys=offered_keys,
    load=load_shard,
    least_total=lambda config: config.min_documents,
    sent_bytes=8,  # a line of 60 bytes, which take 20 in a store, sends 96
)

OPERATOR = TextOperator(
    name="text.repeated_lines",
    version=1,
    summary="lines or paragraphs that other texts of the store have too, as spans to remove",
    config=RepeatedLinesConfig,
    reads=lambda config: tuple(dict.fromkeys((TEXT, ID, *config.within))),
    writes=lambda _config: WRITES,
    load=_LOOKUP.unanswered,
    lookup=_LOOKUP,
    memory=40,
)
