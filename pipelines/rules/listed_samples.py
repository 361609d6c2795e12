"""Chooses some of the samples that a rule drops, or of a language or a source, for review.

They are those with the lowest ids, which are hashes: no sample is likelier than another, and the choice stays.
"""

import heapq
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from winnow.pipelines.reading.columns import read_aligned
from winnow.pipelines.rules.deciding import languages_of
from winnow.pipelines.rules.decisions import ShardDecisions, has_rule
from winnow.pipelines.rules.near_thresholds import SampleFilter
from winnow.pipelines.rules.pinning import PinnedProgram, ShardObjects
from winnow.pipelines.store import layout
from winnow.pipelines.store.tables import ROW_GROUP_ROWS, read_batches


@dataclass(frozen=True, slots=True, order=True)
class ListedSample:
    """A chosen sample."""

    id: str
    shard: str
    row: int
    source: str
    language: str
    reasons: tuple[str, ...]  # of the rules that fire, in order


def listed_in_shard(
    pinned: PinnedProgram, shard: ShardObjects, decisions: ShardDecisions, among: SampleFilter, most: int
) -> list[ListedSample]:
    """Return at most `most` samples of a shard, the lowest ids first."""
    if among.source not in ("", shard.source):
        return []
    names = pinned.program.reasons
    wanted = ~has_rule(decisions.fired, decisions.rules)  # not forgotten
    if among.reason:
        numbers = [number for number, name in enumerate(names) if name == among.reason]
        wanted &= np.logical_or.reduce([has_rule(decisions.fired, number) for number in numbers], initial=False)
    if not wanted.any():
        return []
    languages = _languages(pinned, shard, len(wanted))
    if among.language:
        wanted &= pc.equal(languages, among.language).to_numpy(zero_copy_only=False)
    ids = pa.Table.from_batches(list(read_batches(pinned.store.objects, shard.objects[layout.SAMPLES], ["id"])))["id"]
    rows = np.flatnonzero(wanted)
    chosen = heapq.nsmallest(most, zip(ids.take(pa.array(rows)).to_pylist(), rows.tolist(), strict=True))
    return [
        ListedSample(
            identity.hex(),
            shard.shard,
            row,
            shard.source,
            languages[row].as_py(),
            tuple(name for number, name in enumerate(names) if has_rule(decisions.fired[row : row + 1], number)[0]),
        )
        for identity, row in chosen
    ]


def merged_lists(parts: Iterable[Iterable[ListedSample]], most: int) -> tuple[ListedSample, ...]:
    """Return the lowest ids of several parts."""
    return tuple(heapq.nsmallest(most, (one for part in parts for one in part)))


def _languages(pinned: PinnedProgram, shard: ShardObjects, rows: int) -> pa.Array:
    if not pinned.languages:
        return languages_of({}, (), rows).cast(pa.string())
    blocks = read_aligned(pinned.store.objects, shard.objects, pinned.languages, ROW_GROUP_ROWS, shard.hidden)
    found = [
        languages_of(block, pinned.languages, len(next(iter(block.values())))).cast(pa.string()) for block in blocks
    ]
    return pa.concat_arrays(found)
