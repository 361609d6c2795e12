"""Parts of the main content that the site's other pages have too, as spans to remove: a second look at the extractor's
choice.

`extract.main` judges each page alone. With `probabilities: true` it says of each part how likely it is main content.
Here the odds of a part fall with the share of the site's other pages on which it stands, and the parts are chosen
again as the extractor chose its blocks: those that promise the best F1. So a notice that stands everywhere goes, if
the page alone was not sure of it, and a heading such as "Parameters" stays, if it was.

A page whose whole text is repeated is a copy, and no template: only by how much more a part is repeated than the
page's main content counts.
"""

from dataclasses import dataclass
from functools import partial
from typing import Annotated, Final, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from winnow.filters.caption.lists import lengths_of
from winnow.filters.language.kernels.digests import digest_column, digests_of
from winnow.filters.language.kernels.spans import (
    Texts,
    flagged_runs,
    owners_of,
    shares_of_characters,
    strings_at,
    texts_of,
)
from winnow.filters.operators import TEXT, ColumnName, Kernel, RowLookup, TextOperator
from winnow.filters.spans import SPANS, spans_column
from winnow.filters.text.repeated_lines import digests_within
from winnow.schemas.recipe.checks import Between
from winnow.schemas.uint128 import places_of, words_of

EXTRACTED, PARTS, PROBABILITIES, LEFT_OUT = (
    f"extract.main.{leaf}" for leaf in ("text", "parts", "probabilities", "left_out")
)
WRITES = pa.schema(
    [
        pa.field("parts", pa.int64()),  # of the text, without images
        pa.field("repeated", pa.int64()),  # parts that at least half of the site's other pages have
        pa.field("removed_ratio", pa.float64()),  # share of the text's characters that the edit removes
        pa.field("removed", SPANS),
    ]
)
_UNIT: Final = 1 << 16  # of a byte of main content
_LEAST: Final = 1e-12
_BLANKS: Final = np.frombuffer(b"\n\t ", np.uint8)

Ints = npt.NDArray[np.int64]
Numbers = npt.NDArray[np.float64]
Halves = tuple[npt.NDArray[np.uint64], npt.NDArray[np.uint64]]


@dataclass(frozen=True, slots=True)
class RepeatedPartsConfig:
    """Which pages are of one site, and how much it says that others have a part."""

    within: tuple[ColumnName, ...] = ("samples.domain",)  # pages with equal values are of one site
    min_pages: Annotated[int, Between(2, 1 << 40)] = 3  # a smaller site has no template
    min_chars: Annotated[int, Between(1, 1_000_000)] = 25  # shorter parts stay: most are headings, names and prices
    strength: Annotated[float, Between(0, 1_000_000)] = 10.0  # odds are divided by 1 + strength * share ** 2


class _Parts(NamedTuple):
    """The parts of a batch of texts, images too."""

    texts: Texts
    bounds: Ints  # text i has the parts `bounds[i]` to `bounds[i + 1]`
    starts: Ints  # in the buffer
    ends: Ints
    probabilities: Numbers  # 0 for images
    judged: Ints  # those that are no images
    long: Ints  # of these, the ones that are compared
    keys: pa.Array  # a digest of each
    sharing: Ints  # the texts that are compared
    sites: pa.Array  # of these, a digest


def parts_of(config: RepeatedPartsConfig, batch: pa.RecordBatch) -> _Parts:
    """The parts of pages whose text is the extractor's, with keys for what is compared."""
    texts = texts_of(batch.column(TEXT))
    lists, chances = batch.column(PARTS), batch.column(PROBABILITIES)
    same = pc.fill_null(pc.equal(texts.array, batch.column(EXTRACTED).cast(pa.large_string())), False)
    groups, there = digests_within(config.within, batch)
    sharing = np.flatnonzero(same.to_numpy(zero_copy_only=False) & there)
    counts = np.zeros(batch.num_rows, np.int64)
    counts[sharing] = lengths_of(lists)[sharing]
    bounds = np.append(0, np.cumsum(counts))
    owners = owners_of(bounds)
    used = pa.array(sharing)
    items, chance = lists.take(used).flatten(), chances.take(used).flatten()
    starts, ends = (
        pc.struct_field(items, name).to_numpy(zero_copy_only=False).astype(np.int64) + texts.offsets[owners]
        for name in ("start", "end")
    )
    judged = np.flatnonzero(chance.is_valid().to_numpy(zero_copy_only=False) & (ends > starts))
    said = strings_at(texts, starts[judged], ends[judged])
    long = np.flatnonzero(pc.utf8_length(said).to_numpy() >= config.min_chars)
    keys = digests_of(texts_of(said.take(pa.array(long)))) ^ groups[owners[judged[long]]]
    probabilities = pc.fill_null(chance, 0).to_numpy(zero_copy_only=False).astype(np.float64)
    return _Parts(
        texts, bounds, starts, ends, probabilities, judged, long, _column(keys), sharing, _column(groups[sharing])
    )


def _column(halves: npt.NDArray[np.uint64]) -> pa.Array:
    return digest_column(halves, np.ones(len(halves), np.bool_))


def offered_keys(config: RepeatedPartsConfig, batch: pa.RecordBatch) -> tuple[Ints, pa.Array]:
    """The rows and keys of all parts that are compared, and of their sites."""
    parts = parts_of(config, batch)
    rows = np.concatenate([owners_of(parts.bounds)[parts.judged[parts.long]], parts.sharing])
    return rows, pa.concat_arrays([parts.keys, parts.sites])


def load_shard(config: RepeatedPartsConfig, answers: pa.RecordBatch) -> Kernel:
    """The kernel for a shard, from how many pages have each part, and are of each site."""
    keys = answers.column("key")
    halves = words_of(keys) if len(keys) else (np.zeros(0, np.uint64), np.zeros(0, np.uint64))
    return partial(_layer, config, halves, answers.column("total").to_numpy())


def _totals(keys: Halves, totals: Ints, asked: pa.Array) -> Ints:
    """How many pages have each of these keys; 1 where no answer says more."""
    at = places_of(keys, words_of(asked)) if len(asked) else np.zeros(0, np.int64)
    return np.where(at >= 0, totals[at] if len(totals) else 1, 1)


def chosen_parts(owners: Ints, probabilities: Numbers, sizes: Ints, left_out: Ints) -> npt.NDArray[np.bool_]:
    """Of each text, the parts with the best expected F1: the most likely, as many as raise it.

    Args:
        owners: The text of each part, ascending.
        probabilities: Of each part.
        sizes: Of each part, in bytes.
        left_out: Of each text, the bytes of main content that are expected elsewhere.
    """
    kept = np.zeros(len(owners), np.bool_)
    if not len(owners):
        return kept
    order = np.lexsort((-probabilities, owners))
    of, size = owners[order], sizes[order] * _UNIT
    wanted = np.round(probabilities[order] * size).astype(np.int64)  # integers: their sums know no other rows
    runs = _Runs.of(of)
    all_wanted = np.add.reduceat(wanted, runs.first)[runs.run] + left_out[of] * _UNIT
    expected = 2 * runs.so_far(wanted) / (runs.so_far(size) + all_wanted)
    best = runs.first_true(expected == np.maximum.reduceat(expected, runs.first)[runs.run])
    kept[order] = np.arange(len(of)) <= best[runs.run]
    return kept


def medians(owners: Ints, values: Numbers, weights: Ints) -> Numbers:
    """The weighted median of each text that has values, in the order of texts."""
    if not len(owners):
        return np.zeros(0)
    order = np.lexsort((values, owners))
    runs, weight = _Runs.of(owners[order]), weights[order]
    whole = np.add.reduceat(weight, runs.first)[runs.run]
    return values[order][runs.first_true(2 * runs.so_far(weight) >= whole)]


class _Runs(NamedTuple):
    """Runs of equal values, at least one."""

    first: Ints  # where each begins
    run: Ints  # the run of each value

    @classmethod
    def of(cls, values: Ints) -> "_Runs":
        first = np.flatnonzero(np.diff(values, prepend=-1))
        return cls(first, np.repeat(np.arange(len(first)), np.diff(np.append(first, len(values)))))

    def so_far(self, amounts: Ints) -> Ints:
        """The sum of each run up to each place."""
        sums = np.cumsum(amounts)
        return np.asarray(sums - (sums[self.first] - amounts[self.first])[self.run])

    def first_true(self, flags: npt.NDArray[np.bool_]) -> Ints:
        """Of each run, the place of the first that is true; every run has one."""
        places = np.flatnonzero(flags)
        return np.asarray(places[np.unique(self.run[places], return_index=True)[1]])


def _layer(config: RepeatedPartsConfig, keys: Halves, totals: Ints, batch: pa.RecordBatch) -> pa.RecordBatch:
    parts = parts_of(config, batch)
    owners = owners_of(parts.bounds)
    pages = np.ones(batch.num_rows, np.int64)
    pages[parts.sharing] = _totals(keys, totals, parts.sites)
    of, chance = owners[parts.judged], parts.probabilities[parts.judged]
    sizes = (parts.ends - parts.starts)[parts.judged]
    shares = np.zeros(len(of))
    shares[parts.long] = (_totals(keys, totals, parts.keys) - 1) / np.maximum(pages - 1, 1)[of[parts.long]]
    shares[pages[of] < config.min_pages] = 0
    usual = np.zeros(batch.num_rows)
    some = parts.long
    weights = np.round(chance[some] * sizes[some] * _UNIT).astype(np.int64)
    usual[np.unique(of[some])] = medians(of[some], shares[some], weights)
    more = np.maximum(shares - usual[of], 0)
    lowered = chance / (chance + (1 - chance) * (1 + config.strength * more**2) + _LEAST)
    left_out = pc.fill_null(batch.column(LEFT_OUT), 0).to_numpy(zero_copy_only=False)
    lost = ~chosen_parts(of, lowered, sizes, left_out) & (config.strength * more > 0)
    removed = np.zeros(len(owners), np.bool_)
    removed[parts.judged[lost]] = True
    bounds, starts, ends = _spans(parts, owners, removed)
    spans = np.stack([starts, ends], 1) - parts.texts.offsets[owners_of(bounds), None]
    columns = [
        pa.array(np.bincount(of, minlength=batch.num_rows)),
        pa.array(np.bincount(of[2 * shares >= 1], minlength=batch.num_rows)),
        pa.array(shares_of_characters(parts.texts, bounds, starts, ends)),
        spans_column(bounds, spans.astype(np.int32)),
    ]
    return pa.RecordBatch.from_arrays(columns, schema=WRITES)


def _spans(parts: _Parts, owners: Ints, removed: npt.NDArray[np.bool_]) -> tuple[Ints, Ints, Ints]:
    """What is cut out: parts up to the next one; at the end of a text, also the blanks before them.

    Returns where each text's spans begin among all, and where in the buffer each span starts and ends.
    """
    opens, closes = flagged_runs(parts.bounds, removed)
    last = closes + 1 == parts.bounds[owners[closes] + 1]
    ends = np.where(last, parts.texts.offsets[owners[closes] + 1], np.append(parts.starts, 0)[closes + 1])
    starts = parts.starts[opens].copy()
    for _ in range(2):  # an empty line at the most is before a part
        tail = np.flatnonzero(last & (starts > parts.texts.offsets[owners[opens]]))
        starts[tail] -= np.isin(parts.texts.buffer[starts[tail] - 1], _BLANKS)
    return np.searchsorted(owners[opens], np.arange(len(parts.texts.offsets))), starts, ends


_LOOKUP = RowLookup(
    max_answers=lambda _config: 1,
    offered_keys=offered_keys,
    load=load_shard,
    least_total=lambda _config: 2,
    sent_bytes=8,
)

OPERATOR = TextOperator(
    name="page.repeated_parts",
    version=1,
    summary="parts of the main content that the site's other pages have too, as spans to remove",
    config=RepeatedPartsConfig,
    reads=lambda config: tuple(dict.fromkeys((TEXT, EXTRACTED, PARTS, PROBABILITIES, LEFT_OUT, *config.within))),
    writes=lambda _config: WRITES,
    load=_LOOKUP.unanswered,
    lookup=_LOOKUP,
    as_written=True,
    memory=40,  # parts of 30 bytes take 15; a shorter one takes 100 bytes, and a page has 400,000 at most (`max_nodes`)
)
