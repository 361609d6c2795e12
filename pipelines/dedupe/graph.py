"""The Beam pipelines of a search: they read shards and write tables of duplicates to the search's scratch folder.

If the forests are too large for one task to merge, rounds of star contraction follow, one pipeline per round, and
then a last pipeline that writes the outcomes.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial

import apache_beam as beam
import pyarrow as pa
from apache_beam.pvalue import PCollection

from winnow.pipelines.dedupe import embedding, vpdq
from winnow.pipelines.dedupe.chains import VERIFIED, cut_chains, send_chains
from winnow.pipelines.dedupe.clusters import (
    MAX_EDGES,
    REQUESTS,
    StarRound,
    forest_size,
    join_forests,
    merge_clusters,
    send_clusters,
    send_node_clusters,
    step_of,
)
from winnow.pipelines.dedupe.groups import GROUP_SUMMARIES, NODE_BYTES, empty_blocks, group_digests, send_digests
from winnow.pipelines.dedupe.joins import JOINS, join_values, send_values
from winnow.pipelines.dedupe.matches import MATCHES, put_matches
from winnow.pipelines.dedupe.near import (
    KEY_BYTES,
    UNRESOLVED,
    find_candidates,
    send_bands,
    send_shingles,
    send_signatures,
    verify_by_shingles,
    verify_by_signature,
)
from winnow.pipelines.dedupe.outcomes import put_equal_outcomes, put_near_outcomes
from winnow.pipelines.dedupe.search import Search
from winnow.pipelines.running.blocks import AddressedBlock
from winnow.pipelines.running.exchange import Engine, Exchange, partitions_for
from winnow.pipelines.running.job_steps import Batches, Blocks, JobSteps, sending, task_numbers
from winnow.schemas.rows.duplicates import DISTINCT, OF_VECTORS, Kind


@dataclass(frozen=True)
class SearchGraph:
    """One pipeline that searches for all kinds; more than `max_edges` edges need further pipelines. Picklable."""

    search: Search
    total_rows: int
    max_edges: int = MAX_EDGES
    total_items: Mapping[Kind, int] = field(default_factory=dict)  # about; of kinds that compare items

    @property
    def steps(self) -> Mapping[str, int]:
        """The partitions of each step, in order."""
        found: dict[str, int] = {}
        shard_groups = self.search.listed.groups
        for kind in self.search.kinds:
            found[f"Groups.{kind}"] = self._digest_partitions(kind)
            if kind not in DISTINCT:
                found[f"Members.{kind}"] = shard_groups
                continue
            if kind in OF_VECTORS:
                found |= {step_of("Cells", kind): 1}
            if kind == vpdq.KIND:
                found |= {step_of("Frames", kind): shard_groups, step_of("Pairs", kind): self._frame_partitions}
                found |= {step_of(name, kind): shard_groups for name in ("Videos", "Shares")}
            elif kind in JOINS:
                found |= {step_of("Values", kind): shard_groups, step_of("Joined", kind): self._blocks(kind)}
            else:
                found |= {"Bands": shard_groups, "Candidates": self._band_partitions}
                found |= dict.fromkeys(("Signatures", "Estimated", "Shingles", "Compared"), shard_groups)
            found |= {step_of("Matches", kind): shard_groups, step_of("Forests", kind): 1}
            cut = ("Chains", "Cut") if kind in VERIFIED else ()
            names = ("Stars", "MergedClusters", *cut, "RowClusters", "Outcomes")
            found |= {step_of(name, kind): shard_groups for name in names}
        return found

    def _digest_partitions(self, kind: Kind) -> int:
        return partitions_for(self._nodes(kind) * NODE_BYTES)

    def _blocks(self, kind: Kind) -> int:
        return JOINS[kind].blocks(self.search, self._nodes(kind))

    def _nodes(self, kind: Kind) -> int:
        return self.total_items.get(kind, self.total_rows)

    @property
    def _band_partitions(self) -> int:
        bands = 0 if self.search.near is None else self.search.near.bands
        return partitions_for(self.total_rows * bands * KEY_BYTES)

    def build(self, pipeline: beam.Pipeline) -> None:
        """Add the steps to a pipeline."""
        shard_groups = task_numbers(pipeline, self.search.listed.groups)
        start = pipeline | "Start" >> beam.Create([self.search.shards], reshuffle=False)
        for kind in self.search.kinds:
            self._search_kind(kind, start, shard_groups)

    def _search_kind(self, kind: Kind, start: PCollection[str], shard_groups: PCollection[int]) -> None:
        search, partitions = self.search, self._digest_partitions(kind)
        steps = _steps(search)
        digests = shard_groups | f"Digests.{kind}" >> sending(_send_digests, search, kind, partitions)
        groups = steps.exchange(f"Groups.{kind}", digests, partial(group_digests, search, kind))
        summaries = (groups, start | f"Empty.{kind}" >> sending(_empty_blocks, search, kind, GROUP_SUMMARIES))
        if kind not in DISTINCT:
            steps.finish(f"Members.{kind}", summaries, partial(put_equal_outcomes, search, kind))
            return
        if kind in OF_VECTORS:
            summaries = (groups, self._cells(kind, start, shard_groups))
        if kind == vpdq.KIND:
            edges = self._videos(summaries)
        else:
            edges = self._joined(kind, summaries) if kind in JOINS else self._near_texts(summaries)
        empty = start | step_of("Empty.matches", kind) >> sending(_empty_blocks, search, "matches", MATCHES)
        forests = steps.exchange(step_of("Matches", kind), (*edges, empty), partial(_send_forest_size, search, kind))
        name = step_of("Forests", kind)
        join = partial(steps.with_beat, name, partial(join_forests, search, kind, self.max_edges))
        # One number per shard group: not worth files.
        stars: Blocks = forests | name >> Exchange(join, transport=Engine(), emits=AddressedBlock)
        _build_outcomes(search, kind, stars)

    def _cells(self, kind: Kind, start: PCollection[str], shard_groups: PCollection[int]) -> Blocks:
        """Add the steps to centroids; the empty blocks that follow let shard groups go on once centroids are there."""
        search, name = self.search, step_of("Cells", kind)
        sampled = shard_groups | step_of("Sample", kind) >> sending(
            embedding.sample_vectors, search, kind, self.total_rows
        )
        none = start | step_of("Empty.sample", kind) >> sending(_empty_sample)
        return _steps(search).exchange(name, (sampled, none), partial(embedding.train, search, kind, self.total_rows))

    def _joined(self, kind: Kind, summaries: tuple[Blocks, Blocks]) -> tuple[Blocks, ...]:
        """Add the steps from groups of equal nodes to matches, for a kind whose pairs are found in blocks."""
        search, blocks, steps = self.search, self._blocks(kind), _steps(self.search)
        values = steps.exchange(step_of("Values", kind), summaries, partial(send_values, search, kind, blocks))
        return (steps.exchange(step_of("Joined", kind), values, partial(join_values, search, kind, blocks)),)

    @property
    def _frame_partitions(self) -> int:
        return vpdq.frame_partitions(self._nodes(vpdq.KIND))

    def _videos(self, summaries: tuple[Blocks, Blocks]) -> tuple[Blocks, ...]:
        """Add the steps from groups of equal videos to matches."""
        search, kind, partitions, steps = self.search, vpdq.KIND, self._frame_partitions, _steps(self.search)
        frames = steps.exchange(step_of("Frames", kind), summaries, partial(vpdq.send_frames, search, partitions))
        pairs = steps.exchange(step_of("Pairs", kind), frames, partial(vpdq.find_pairs, search, partitions))
        videos = steps.exchange(step_of("Videos", kind), pairs, partial(vpdq.send_videos, search))
        return (steps.exchange(step_of("Shares", kind), videos, partial(vpdq.compare_videos, search)),)

    def _near_texts(self, summaries: tuple[Blocks, Blocks]) -> tuple[Blocks, ...]:
        """Add the steps from groups of equal texts to matches."""
        search, steps = self.search, _steps(self.search)
        keys = steps.exchange("Bands", summaries, partial(_send_bands, search, self._band_partitions))
        pairs = steps.exchange("Candidates", keys, partial(find_candidates, search))
        signed = steps.exchange("Signatures", pairs, partial(send_signatures, search))
        clear, unresolved = _split_by_origin(
            UNRESOLVED, steps.exchange("Estimated", signed, partial(verify_by_signature, search))
        )
        shingles = steps.exchange("Shingles", unresolved, partial(send_shingles, search))
        return clear, steps.exchange("Compared", shingles, partial(verify_by_shingles, search))


@dataclass(frozen=True)
class StarGraph:
    """One round of star contraction."""

    round: StarRound

    def build(self, pipeline: beam.Pipeline) -> None:
        """Add the steps to a pipeline."""
        step, steps = self.round, _steps(self.round.search)
        edges = task_numbers(pipeline, step.sources) | "Edges" >> sending(step.send_edges)
        first, second = step.steps
        upward = steps.exchange(first, edges, step.join_upward)
        steps.finish(second, upward, step.join_downward)


@dataclass(frozen=True)
class OutcomeGraph:
    """The pipeline after the last round of star contraction: it writes the outcomes."""

    round: StarRound

    def build(self, pipeline: beam.Pipeline) -> None:
        """Add the steps to a pipeline."""
        stars = task_numbers(pipeline, self.round.partitions) | "Outer" >> sending(self.round.send_stars)
        _build_outcomes(self.round.search, self.round.kind, stars)


def _build_outcomes(search: Search, kind: Kind, stars: Blocks) -> None:
    """Add the steps from stars to the outcome of each row."""
    steps = _steps(search)
    stars_sent = steps.exchange(step_of("Stars", kind), stars, partial(send_clusters, search, kind))
    parts, requests = _split_by_origin(REQUESTS, stars_sent, kind)
    named = steps.exchange(step_of("MergedClusters", kind), parts, partial(merge_clusters, search))
    if kind in VERIFIED:
        chains = steps.exchange(step_of("Chains", kind), named, partial(send_chains, search, kind))
        named = steps.exchange(step_of("Cut", kind), chains, partial(cut_chains, search, kind))
    row_clusters = partial(send_node_clusters, search, kind)
    summaries = steps.exchange(step_of("RowClusters", kind), (named, requests), row_clusters)
    steps.finish(step_of("Outcomes", kind), summaries, partial(put_near_outcomes, search, kind))


def _steps(search: Search) -> JobSteps:
    return JobSteps(search.store.objects, search.scratch)


def _split_by_origin(origin: str, blocks: Blocks, kind: Kind = "near") -> tuple[Blocks, Blocks]:
    """Return the blocks of other origins, and those of this one."""
    others = blocks | step_of(f"Not.{origin}", kind) >> beam.Filter(_has_other_origin, origin).with_output_types(
        AddressedBlock
    )
    these = blocks | step_of(f"Only.{origin}", kind) >> beam.Filter(_has_origin, origin).with_output_types(
        AddressedBlock
    )
    return others, these


def _has_origin(block: AddressedBlock, origin: str) -> bool:
    return block.origin.startswith(origin)


def _has_other_origin(block: AddressedBlock, origin: str) -> bool:
    return not block.origin.startswith(origin)


def _send_digests(shard_group: int, search: Search, kind: Kind, partitions: int) -> Iterator[AddressedBlock]:
    return send_digests(search, kind, shard_group, partitions)


def _empty_blocks(_: str, search: Search, name: str, schema: pa.Schema) -> Iterator[AddressedBlock]:
    return empty_blocks(search.listed.groups, name, schema)


def _empty_sample(_: str) -> Iterator[AddressedBlock]:
    return empty_blocks(1, "sample", embedding.SAMPLED)


def _send_bands(search: Search, partitions: int, shard_group: int, batches: Batches) -> Iterator[AddressedBlock]:
    return send_bands(search, shard_group, batches, partitions)


def _send_forest_size(search: Search, kind: Kind, shard_group: int, batches: Batches) -> Iterator[AddressedBlock]:
    for edges in put_matches(search, kind, shard_group, batches):
        yield forest_size(shard_group, edges)
