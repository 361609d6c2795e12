"""The driver's side of a decision: what its jobs cover, and the record of their results."""

from collections.abc import Sequence

import pyarrow as pa

from winnow.pipelines.binding.scores import BoundScore
from winnow.pipelines.running.scratch_parts import put_arrays
from winnow.pipelines.running.shard_list import ListedShard, put_hidden_rows_of, put_shard_list
from winnow.pipelines.score.deciding.decision import Decision, Sizes, score_columns
from winnow.pipelines.score.deciding.measuring import read_distributions, read_extremes
from winnow.pipelines.score.deciding.records import DecidedGroup, DecisionRecord, Distribution, RowPlace
from winnow.pipelines.score.weights import scored_shards
from winnow.pipelines.store import layout
from winnow.pipelines.store.generations import Store
from winnow.pipelines.store.global_keys import GlobalKey
from winnow.pipelines.store.hiding.scans import Hiding
from winnow.pipelines.store.state import StoreState
from winnow.scoring.selection import ScoreHistogram, bars, summary

KEEP_BARS = 20  # of the keep probability, from 0 to 1


def make_decision(
    store: Store, bound: BoundScore, state: StoreState, key: GlobalKey, hiding: Hiding, sizes: Sizes
) -> Decision:
    """Return the decision on every row of a score, whose traces exist."""
    scratch = f"{layout.SCRATCH}decide/{bound.entry.name}/{key.covered}"
    every = (
        ListedShard(one.shard, one.source, row.rows, one.objects)
        for one, row in zip(scored_shards(state, score_columns(bound).all), state.shards, strict=True)
    )
    shards = put_hidden_rows_of(store.objects, scratch, every, state, hiding)
    listed = put_shard_list(store.objects, bound.entry.layer, shards)
    return Decision(store, bound, listed, scratch, len(state.shards), state.shards.rows, sizes)


def put_pending_groups(decision: Decision, state: StoreState, key: GlobalKey) -> int:
    """Store which groups of shards have one that lacks the layer, and prepare its commits; return their number."""
    shards, layer = decision.shards, decision.bound.entry.layer
    there = key.rows(state, layer)
    state.held.begin({shard: {layer: key.covered} for shard in state.samples if shard not in there.by_shard})
    owed = [
        group
        for group in range(shards.groups)
        if any(shards.all[shard].shard not in there.by_shard for shard in shards.in_group(group))
    ]
    put_arrays(decision.store.objects, decision.scratch, "owed", 0, {"groups": pa.array(owed, pa.int64())})
    return len(owed)


def record_of(decision: Decision, groups: Sequence[DecidedGroup], keeps: ScoreHistogram) -> DecisionRecord:
    """Return the record of a decision, once all votes are counted."""
    *checkpoints, score = read_distributions(decision)
    ends = read_extremes(decision)
    places = [
        (highest, RowPlace(decision.shards.all[shard].shard, row))
        for highest, shard, row in zip(*(ends[name].to_pylist() for name in ("highest", "shard", "row")), strict=True)
    ]
    one_score = not decision.bound.entry.checkpoints or decision.bound.entry.filter.of in ("loss", "alignment")
    named = enumerate([] if one_score else checkpoints, start=1)
    return DecisionRecord(
        groups=tuple(groups),
        checkpoints=tuple(_distribution(f"m{number}", one, decision.rows) for number, one in named),
        score=_distribution("score", score, decision.rows),
        keep=Distribution("keep", summary(keeps, decision.rows), bars(keeps, KEEP_BARS, (0.0, 1.0))),
        highest=tuple(place for highest, place in places if highest),
        lowest=tuple(place for highest, place in places if not highest),
    )


def _distribution(name: str, scores: ScoreHistogram, rows: int) -> Distribution:
    return Distribution(name, summary(scores, rows), bars(scores))
