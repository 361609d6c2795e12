"""The pipelines of a search: they read shards and write tables of duplicates to the search's scratch folder.

If the forests are too large for one task to merge, pipelines of several rounds of star contraction follow, and then a
last pipeline that writes the outcomes.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TypeAlias

import apache_beam as beam
import pyarrow as pa

from winnow.filters.duplicates.searches import BlockSearch, PieceSearch
from winnow.pipelines.dedupe.chains import cut_chains, send_chains
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
from winnow.pipelines.dedupe.groups import (
    GROUP_SUMMARIES,
    NODE_BYTES,
    empty_blocks,
    group_digests,
    send_digests,
    values_of_nodes,
)
from winnow.pipelines.dedupe.joins import find_pairs, join_values, judge_pairs, send_pieces, send_values
from winnow.pipelines.dedupe.matches import MATCHES, put_matches, send_firsts
from winnow.pipelines.dedupe.near import (
    KEY_BYTES,
    UNRESOLVED,
    find_candidates,
    send_bands,
    shingles_of_nodes,
    verify_by_shingles,
    verify_by_signature,
)
from winnow.pipelines.dedupe.outcomes import put_equal_outcomes, put_near_outcomes
from winnow.pipelines.dedupe.search import Search
from winnow.pipelines.dedupe.training import SAMPLED, sample_values, train, training_of
from winnow.pipelines.running.blocks import AddressedBlock
from winnow.pipelines.running.exchange import Route, partitions_for
from winnow.pipelines.running.flows import F, Ground, OnBeam
from winnow.pipelines.running.job_steps import Batches, JobSteps
from winnow.schemas.rows.duplicates import Kind

Step: TypeAlias = tuple[str, int, Callable[[int, Iterable[pa.RecordBatch]], Iterator[AddressedBlock]]]
"""The name of an exchange, its partitions, and what it does in each."""

_ESTIMATED = "Estimated"
_DIGEST_RELAYS, _RELAYS = "DigestRelays", "Relays"


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
            digests = self._digest_partitions(kind)
            found |= Route(shard_groups, digests).steps(step_of(_DIGEST_RELAYS, kind))
            found[f"Groups.{kind}"] = digests
            if self.search.kinds[kind].search is None:
                found[f"Members.{kind}"] = shard_groups
                continue
            if training_of(self.search, kind) is not None:
                found[step_of("Learnt", kind)] = 1
            for number, (name, partitions, _) in enumerate(self._finding(kind)):
                if number == 1:
                    found |= Route(shard_groups, partitions).steps(step_of(_RELAYS, kind))
                found[step_of(name, kind)] = partitions
            found |= {step_of("Matches", kind): shard_groups, step_of("Forests", kind): 1}
            cut = () if self.search.chains(kind) is None else ("Chains", "Cut")
            names = ("Stars", "MergedClusters", *cut, "RowClusters", "Outcomes")
            found |= {step_of(name, kind): shard_groups for name in names}
        return found

    def _digest_partitions(self, kind: Kind) -> int:
        return partitions_for(self._nodes(kind) * NODE_BYTES)

    def _nodes(self, kind: Kind) -> int:
        return self.total_items.get(kind, self.total_rows)

    def _finding(self, kind: Kind) -> tuple[Step, ...]:
        """Return the steps from groups of equal nodes to matches, by how the kind finds them."""
        search, groups, nodes, how = self.search, self.search.listed.groups, self._nodes(kind), self.search.kinds[kind]
        if isinstance(how.search, BlockSearch):
            blocks = how.search.blocks(nodes, partitions_for)
            return (
                ("Values", groups, partial(send_values, search, kind, blocks)),
                ("Joined", blocks, partial(join_values, search, kind, blocks)),
            )
        if isinstance(how.search, PieceSearch):
            blocks = how.search.blocks(nodes, partitions_for)
            return (
                ("Pieces", groups, partial(send_pieces, search, kind, blocks)),
                ("Pairs", blocks, partial(find_pairs, search, kind, blocks)),
                ("Firsts", groups, partial(send_firsts, search, kind, values_of_nodes)),
                ("Judged", groups, partial(judge_pairs, search, kind)),
            )
        partitions = partitions_for(nodes * how.settings.bands * KEY_BYTES)
        return (
            ("Bands", groups, partial(send_bands, search, kind, partitions)),
            ("Candidates", partitions, partial(find_candidates, search, kind)),
            ("Signatures", groups, partial(send_firsts, search, kind, values_of_nodes)),
            (_ESTIMATED, groups, partial(verify_by_signature, search, kind)),
            ("Shingles", groups, partial(send_firsts, search, kind, shingles_of_nodes)),
            ("Compared", groups, partial(verify_by_shingles, search, kind)),
        )

    def build(self, pipeline: beam.Pipeline) -> None:
        """Add the steps to a pipeline."""
        self.lay_out(OnBeam(_steps(self.search), pipeline))

    def lay_out(self, ground: Ground[F]) -> None:
        """Lay the steps out; in this process, they are run."""
        shard_groups, start = ground.numbers(self.search.listed.groups), ground.one(self.search.shards)
        for kind in self.search.kinds:
            self._search_kind(kind, start, shard_groups)

    def _search_kind(self, kind: Kind, start: F, shard_groups: F) -> None:
        search, partitions = self.search, self._digest_partitions(kind)
        digests = shard_groups.send(f"Digests.{kind}", send_digests, search, kind, partitions)
        digests = digests.relayed(step_of(_DIGEST_RELAYS, kind), Route(search.listed.groups, partitions))
        groups = digests.exchange(f"Groups.{kind}", partial(group_digests, search, kind))
        empty = start.send(f"Empty.{kind}", _empty_blocks, search, kind, GROUP_SUMMARIES)
        if search.kinds[kind].search is None:
            groups.finish(f"Members.{kind}", partial(put_equal_outcomes, search, kind), empty)
            return
        if training_of(search, kind) is not None:
            empty = self._learnt(kind, start, shard_groups)
        flow, others, edges = groups, [empty], list[F]()
        for number, (name, parts, consume) in enumerate(self._finding(kind)):
            if number == 1:  # of what each shard group sends
                flow = flow.relayed(step_of(_RELAYS, kind), Route(search.listed.groups, parts))
            flow, others = flow.exchange(step_of(name, kind), consume, *others), []
            if name == _ESTIMATED:
                flow, clear = flow.split(UNRESOLVED, step_of("Unresolved", kind))
                edges.append(clear)
        edges += [flow, start.send(step_of("Empty.matches", kind), _empty_blocks, search, "matches", MATCHES)]
        matched = partial(_send_forest_size, search, kind)
        forests = edges[0].exchange(step_of("Matches", kind), matched, *edges[1:])
        join = partial(join_forests, search, kind, self.max_edges)
        # One number per shard group: not worth files.
        _lay_out_outcomes(search, kind, forests.exchange(step_of("Forests", kind), join, is_small=True))

    def _learnt(self, kind: Kind, start: F, shard_groups: F) -> F:
        """Add the steps to what is learnt; the empty blocks that follow let shard groups go on once it is there."""
        search, rows = self.search, self.total_rows
        sampled = shard_groups.send(step_of("Sample", kind), sample_values, search, kind, rows)
        none = start.send(step_of("Empty.sample", kind), _empty_sample)
        return sampled.exchange(step_of("Learnt", kind), partial(train, search, kind, rows), none)


@dataclass(frozen=True)
class StarGraph:
    """Some rounds of star contraction."""

    rounds: Sequence[StarRound]

    def build(self, pipeline: beam.Pipeline) -> None:
        """Add the steps to a pipeline."""
        begin, *_, end = self.rounds
        ground = OnBeam(_steps(begin.search), pipeline)
        edges = ground.numbers(begin.sources).send("Edges", begin.send_edges)
        for one in self.rounds:
            first, second = one.steps
            upward = edges.exchange(first, one.join_upward)
            if one is end:
                upward.finish(second, one.join_downward)
            else:
                edges = upward.exchange(second, one.pass_on)


@dataclass(frozen=True)
class OutcomeGraph:
    """The pipeline after the last round of star contraction: it writes the outcomes."""

    round: StarRound

    def build(self, pipeline: beam.Pipeline) -> None:
        """Add the steps to a pipeline."""
        ground = OnBeam(_steps(self.round.search), pipeline)
        stars = ground.numbers(self.round.partitions).send("Outer", self.round.send_stars)
        _lay_out_outcomes(self.round.search, self.round.kind, stars)


def _lay_out_outcomes(search: Search, kind: Kind, stars: F) -> None:
    """Add the steps from stars to the outcome of each row."""
    stars_sent = stars.exchange(step_of("Stars", kind), partial(send_clusters, search, kind))
    requests, parts = stars_sent.split(REQUESTS, step_of("Requests", kind))
    named = parts.exchange(step_of("MergedClusters", kind), partial(merge_clusters, search))
    if search.chains(kind) is not None:
        chains = named.exchange(step_of("Chains", kind), partial(send_chains, search, kind))
        named = chains.exchange(step_of("Cut", kind), partial(cut_chains, search, kind))
    summaries = named.exchange(step_of("RowClusters", kind), partial(send_node_clusters, search, kind), requests)
    summaries.finish(step_of("Outcomes", kind), partial(put_near_outcomes, search, kind))


def _steps(search: Search) -> JobSteps:
    return JobSteps(search.store.objects, search.scratch, search.shuffle)


def _empty_blocks(_: str, search: Search, name: str, schema: pa.Schema) -> Iterator[AddressedBlock]:
    return empty_blocks(search.listed.groups, name, schema)


def _empty_sample(_: str) -> Iterator[AddressedBlock]:
    return empty_blocks(1, "sample", SAMPLED)


def _send_forest_size(search: Search, kind: Kind, shard_group: int, batches: Batches) -> Iterator[AddressedBlock]:
    for edges in put_matches(search, kind, shard_group, batches):
        yield forest_size(shard_group, edges)
