"""How the drops of scores overlap with those of rules and of other scores."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from winnow.pipelines.reading.columns import Column, read_aligned
from winnow.pipelines.rules.decisions import WORD, ShardDecisions
from winnow.pipelines.rules.pinning import ShardObjects
from winnow.pipelines.store.facade import ObjectStore
from winnow.pipelines.store.tables import ROW_GROUP_ROWS
from winnow.scoring.selection import KEEP_AT, overlap
from winnow.scoring.selection.overlap import Pair

Votes = NDArray[np.int8]
"""Of each row of a shard: 1 keeps, 0 drops, -1 abstains."""


@dataclass(frozen=True, slots=True)
class ScoreOverlap:
    """A score, and what its drops are compared with: another score, or a rule."""

    score: str  # its layer
    other: str | None  # the other score's layer
    rule: int | None  # the number of the rule
    pair: Pair  # the score first


def votes_of_scores(objects: ObjectStore, shard: ShardObjects, layers: Sequence[str]) -> list[Votes]:
    """Return each score's votes on the rows of a shard."""
    columns = [Column(layer, "keep") for layer in layers]
    blocks = list(read_aligned(objects, shard.objects, columns, ROW_GROUP_ROWS, shard.hidden)) if layers else []
    found = []
    for column in columns:
        parts = (block[column.name].to_numpy(zero_copy_only=False).astype(np.float64) for block in blocks)
        keep = np.concatenate([np.zeros(0), *parts])
        found.append(np.where(np.isfinite(keep), keep >= KEEP_AT, -1).astype(np.int8))
    return found


def overlaps_of_scores(layers: Sequence[str], votes: Sequence[Votes]) -> list[ScoreOverlap]:
    """Compare every score with every other."""
    return [
        ScoreOverlap(layer, other, None, _pair(votes[number], votes[at]))
        for number, layer in enumerate(layers)
        for at, other in enumerate(layers)
        if at != number
    ]


def overlaps_with_rules(layers: Sequence[str], votes: Sequence[Votes], decisions: ShardDecisions) -> list[ScoreOverlap]:
    """Compare every score with every rule."""
    by_rule = [_rule_votes(decisions, number) for number in range(decisions.rules)] if layers else []
    return [
        ScoreOverlap(layer, None, number, _pair(of_score, of_rule))
        for layer, of_score in zip(layers, votes, strict=True)
        for number, of_rule in enumerate(by_rule)
    ]


def merged_overlaps(parts: Iterable[Iterable[ScoreOverlap]]) -> tuple[ScoreOverlap, ...]:
    """Return the sums of several parts: those with scores first, then those with rules."""
    sums: dict[tuple[str, str, int], ScoreOverlap] = {}
    for one in (one for part in parts for one in part):
        key = one.score, one.other or "", -1 if one.rule is None else one.rule
        had = sums.get(key)
        sums[key] = one if had is None else replace(one, pair=_sum(had.pair, one.pair))
    return tuple(sums[key] for key in sorted(sums))


def _rule_votes(decisions: ShardDecisions, rule: int) -> Votes:
    """Return one rule's vote on each row of a shard: 0 if it fires, 1 if not, -1 if the row is forgotten."""

    def bit(number: int) -> NDArray[np.bool_]:
        word, place = divmod(number, WORD)
        found: NDArray[np.bool_] = decisions.fired[:, word] >> np.uint64(place) & np.uint64(1) == 1
        return found

    return np.where(bit(decisions.rules), -1, ~bit(rule)).astype(np.int8)


def _pair(one: Votes, other: Votes) -> Pair:
    return overlap({"one": one, "other": other}).pairs[0]


def _sum(one: Pair, other: Pair) -> Pair:
    return Pair(
        one.one,
        one.other,
        both=one.both + other.both,
        only_one=one.only_one + other.only_one,
        only_other=one.only_other + other.only_other,
        neither=one.neither + other.neither,
        one_abstains=one.one_abstains + other.one_abstains,
        other_abstains=one.other_abstains + other.other_abstains,
        both_abstain=one.both_abstain + other.both_abstain,
    )
