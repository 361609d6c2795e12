"""Writes the layer `score.<name>`: votes of all checkpoints on each row, and the probability that it should be kept.

It reads only traces. Votes depend on the scores of all rows, so this runs in the driver, which takes seconds for
millions of rows and holds one number per row and checkpoint.
"""

from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from winnow.pipelines.binding.scores import BoundScore, group_column
from winnow.pipelines.dedupe.task import GlobalKey
from winnow.pipelines.query.columns import Column, read_aligned
from winnow.pipelines.score.examples import ScoredShard
from winnow.pipelines.score.weights import scored_shards
from winnow.pipelines.store import layout
from winnow.pipelines.store.generations import Store
from winnow.pipelines.store.hiding.looks import load_hiding
from winnow.pipelines.store.layers import LayerWriter
from winnow.pipelines.store.state import StoreState
from winnow.pipelines.store.together import TABLES_AT_ONCE, each
from winnow.schemas.errors import ScoreError
from winnow.schemas.recipe import FilterConfig
from winnow.schemas.rows.scores import SCORE
from winnow.schemas.statistics import layer_spec
from winnow.schemas.tombstones import FORGOTTEN
from winnow.schemas.uint128 import words_of
from winnow.scoring.selection import BinariseRule, Kept, Quality, aggregate, binarise, estimate_quality
from winnow.scoring.selection.binarise import Step
from winnow.scoring.selection.ranks import RANDOM, hashed, ranked

_ROWS = 65_536
MAX_VALUES = 10_000  # of the column that groups rows; fitting takes 1 to 3 ms per value
NO_VALUE = "(null)"
_ID = Column(layout.SAMPLES, "id")


@dataclass(frozen=True)
class Traces:
    """The scores of all rows of a store, in the order of shards."""

    shards: tuple[ScoredShard, ...]
    ends: tuple[int, ...]  # the end of each shard's rows
    status: NDArray[np.object_]
    scores: NDArray[np.float64]  # rows × checkpoints; NaN for none
    ids: tuple[NDArray[np.uint64], NDArray[np.uint64]]
    groups: pa.DictionaryArray | None  # each row's value of the column that groups rows


@dataclass(frozen=True)
class FittedGroup:
    """The fit of one group of rows."""

    name: str  # the value of `by`; empty if all rows are one group
    kept: Kept
    quality: Quality
    steps: tuple[Step, ...]


@dataclass
class FilterResult:
    """The filter's values for every row."""

    score: NDArray[np.float64]
    keep: NDArray[np.float64]
    votes: NDArray[np.int16]
    checkpoints: NDArray[np.int16]
    rank: NDArray[np.float64]
    random: NDArray[np.float64]
    fitted: list[FittedGroup] = field(default_factory=list)


def read_traces(store: Store, bound: BoundScore, state: StoreState) -> Traces:
    """Read the traces of every shard; forgotten rows have no scores."""
    checkpoints = max(bound.entry.checkpoints, 1)
    trace = bound.entry.trace
    rho = bound.entry.filter.of == "rho"
    names = [Column(trace, f"{'loss' if rho else 'm'}{number}") for number in range(1, checkpoints + 1)]
    subtracted = [Column(trace, "reference_loss")] if rho else []
    by = group_column(bound)
    grouped = [by] if by is not None else []
    columns = tuple(dict.fromkeys((_ID, Column(trace, "status"), *names, *subtracted, *grouped)))
    shards = scored_shards(state, columns)
    hiding = load_hiding(store.objects)
    scores, status, ends, groups = [], [], [], []
    high, low = [], []
    total = 0

    def read_shard(shard: ScoredShard) -> list[dict[str, pa.Array]]:
        hidden = hiding.of(store.objects, shard.objects[layout.SAMPLES]).rows
        return list(read_aligned(store.objects, shard.objects, columns, _ROWS, hidden))

    for blocks in each(store.objects, read_shard, shards, TABLES_AT_ONCE):
        for read in blocks:
            status.append(np.asarray(read[f"{trace}.status"].to_numpy(zero_copy_only=False), object))
            found = np.stack([_floats(read[column.name]) for column in names], axis=1)
            for column in subtracted:
                found -= _floats(read[column.name])[:, np.newaxis]
            scores.append(found)
            words = words_of(read[_ID.name])
            high.append(words[0])
            low.append(words[1])
            if by is not None:
                groups.append(read[by.name].cast(pa.string()))
            total += len(status[-1])
        ends.append(total)
    none = np.zeros(0, np.uint64)
    values = pa.concat_arrays([pa.array([], pa.string()), *groups]).dictionary_encode() if by is not None else None
    if values is not None and len(values.dictionary) > MAX_VALUES:
        raise ScoreError(
            f"{bound.entry.layer}: filter.by: {bound.entry.filter.by} has {len(values.dictionary):,} values, and each "
            f"is fitted separately; use a column with at most {MAX_VALUES:,} values, such as language or source"
        )
    return Traces(
        shards=tuple(shards),
        ends=tuple(ends),
        status=np.concatenate([np.zeros(0, object), *status]),
        scores=np.concatenate([np.zeros((0, checkpoints)), *scores]),
        ids=(np.concatenate([none, *high]), np.concatenate([none, *low])),
        groups=values,
    )


def apply_filter(traces: Traces, config: FilterConfig, seed: int) -> FilterResult:
    """Return votes and keep probabilities, fitted over all rows or over each group separately."""
    rows = len(traces.status)
    scored = np.isfinite(traces.scores)
    counts = scored.sum(axis=1)
    mean = np.full(rows, np.nan)
    np.divide(np.where(scored, traces.scores, 0.0).sum(axis=1), counts, out=mean, where=counts > 0)
    result = FilterResult(
        score=mean,
        keep=np.full(rows, np.nan),
        votes=np.zeros(rows, np.int16),
        checkpoints=np.zeros(rows, np.int16),
        rank=np.full(rows, np.nan),
        random=np.full(rows, np.nan),
    )
    rule = BinariseRule(config.binarise, config.temperature, config.batch, config.top, seed=seed)
    for name, which in _groups(traces.groups, rows).items():
        ids = (traces.ids[0][which], traces.ids[1][which])
        votes = binarise(traces.scores[which], rule, ids=ids)
        kept = aggregate(votes.kept, config.aggregate)
        result.keep[which] = kept.probability
        result.votes[which] = (votes.kept == 1).sum(axis=1)
        result.checkpoints[which] = (votes.kept >= 0).sum(axis=1)
        result.rank[which], result.random[which] = _ranks(mean[which], ids, seed)
        result.fitted.append(FittedGroup(name, kept, estimate_quality(kept), votes.detail))
    return result


def _ranks(
    scores: NDArray[np.float64], ids: tuple[NDArray[np.uint64], NDArray[np.uint64]], seed: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return each scored row's rank from the highest score on, and its random rank, both as fractions."""
    found = []
    by_chance = hashed(ids, seed, RANDOM)
    for order in (ranked(scores, ids, seed), by_chance[np.isfinite(scores[by_chance])]):
        places = np.full(len(scores), np.nan)
        places[order] = (np.arange(len(order)) + 0.5) / max(len(order), 1)  # symmetric: as many below f as above 1 - f
        found.append(places)
    return found[0], found[1]


def _groups(groups: pa.DictionaryArray | None, rows: int) -> dict[str, NDArray[np.int64]]:
    """Return the rows of each group by its value; rows without a value are a group of their own."""
    if groups is None:
        return {"": np.arange(rows)}
    codes = groups.indices.fill_null(-1).to_numpy()
    names = groups.dictionary.to_pylist()
    order = np.argsort(codes, kind="stable")
    parts = np.split(order, np.flatnonzero(np.diff(codes[order])) + 1) if rows else []
    found: dict[str, list[NDArray[np.int64]]] = {}
    for part in parts:  # a value may equal the name for null
        found.setdefault(NO_VALUE if codes[part[0]] < 0 else names[codes[part[0]]], []).append(part)
    return {name: np.sort(np.concatenate(found[name])) for name in sorted(found)}


def write_scores(
    store: Store, bound: BoundScore, state: StoreState, key: GlobalKey, traces: Traces, result: FilterResult
) -> None:
    """Write and commit the layer for every shard."""
    layer = bound.entry.layer
    samples = {record.shard: record.object.path for _, record in state.shards}
    first = 0
    for shard, end in zip(traces.shards, traces.ends, strict=True):
        with LayerWriter(store, SCORE, layer_spec(layer, SCORE)) as writer:
            for start in range(first, end, _ROWS):
                writer.write(_rows(traces, result, slice(start, min(start + _ROWS, end))))
            writer.commit(layer, key.covered, shard.shard, shard.source, samples[shard.shard], under=key.settings)
        first = end


def _rows(traces: Traces, result: FilterResult, rows: slice) -> pa.RecordBatch:
    status = traces.status[rows]
    unscored = ~np.isfinite(result.score[rows])
    unfiltered = ~np.isfinite(result.keep[rows])
    forgotten = status == FORGOTTEN
    return pa.RecordBatch.from_arrays(
        [
            pa.array(status, pa.string()),
            pa.array(result.score[rows], mask=unscored),
            pa.array(result.keep[rows], mask=unfiltered),
            pa.array(result.votes[rows], mask=unfiltered | forgotten),
            pa.array(result.checkpoints[rows], mask=unscored | forgotten),
            pa.array(result.rank[rows], mask=unscored),
            pa.array(result.random[rows], mask=unscored),
        ],
        schema=SCORE,
    )


def _floats(column: pa.Array) -> NDArray[np.float64]:
    found: NDArray[np.float64] = column.to_numpy(zero_copy_only=False).astype(np.float64)
    return found
