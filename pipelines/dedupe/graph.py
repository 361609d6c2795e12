"""The Beam pipelines of a search: they read shards and write tables of duplicates to the search's scratch folder.

If the forests are too large for one task to merge, rounds of star contraction follow, one pipeline per round, and
then a last pipeline that writes the outcomes.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial

import apache_beam as beam
import pyarrow as pa
from apache_beam.pvalue import PCollection

from winnow.pipelines.dedupe.clusters import (
    MAX_EDGES,
    REQUESTS,
    StarRound,
    forest_size,
    join_forests,
    merge_clusters,
    send_clusters,
    send_row_clusters,
)
from winnow.pipelines.dedupe.groups import GROUP_SUMMARIES, ROW_BYTES, empty_blocks, group_digests, send_digests
from winnow.pipelines.dedupe.near import (
    KEY_BYTES,
    MATCHES,
    UNRESOLVED,
    find_candidates,
    put_matches,
    send_bands,
    send_shingles,
    send_signatures,
    verify_by_shingles,
    verify_by_signature,
)
from winnow.pipelines.dedupe.outcomes import put_equal_outcomes, put_near_outcomes
from winnow.pipelines.dedupe.search import Search
from winnow.pipelines.running.blocks import AddressedBlock
from winnow.pipelines.running.exchange import Engine, Exchange, Files, partitions_for
from winnow.pipelines.running.step_beats import beat_step
from winnow.pipelines.running.version_handshake import require_like_driver, versions_here
from winnow.pipelines.running.worker import settle
from winnow.schemas.rows.duplicates import Kind

Blocks = PCollection[AddressedBlock]
Batches = Iterator[pa.RecordBatch]


@dataclass(frozen=True)
class SearchGraph:
    """One pipeline that searches for all kinds; more than `max_edges` edges need further pipelines. Picklable."""

    search: Search
    total_rows: int
    max_edges: int = MAX_EDGES

    @property
    def steps(self) -> Mapping[str, int]:
        """The partitions of each step, in order."""
        found: dict[str, int] = {}
        shard_groups = self.search.shard_groups
        for kind in self.search.kinds:
            found[f"Groups.{kind}"] = self._digest_partitions
            if kind != "near":
                found[f"Members.{kind}"] = shard_groups
            else:
                found |= {"Bands": shard_groups, "Candidates": self._band_partitions}
                found |= dict.fromkeys(("Signatures", "Estimated", "Shingles", "Compared", "Matches"), shard_groups)
                found |= {
                    "Forests": 1,
                    **dict.fromkeys(("Stars", "MergedClusters", "RowClusters", "Outcomes"), shard_groups),
                }
        return found

    @property
    def _digest_partitions(self) -> int:
        return partitions_for(self.total_rows * ROW_BYTES)

    @property
    def _band_partitions(self) -> int:
        bands = 0 if self.search.near is None else self.search.near.bands
        return partitions_for(self.total_rows * bands * KEY_BYTES)

    def build(self, pipeline: beam.Pipeline) -> None:
        """Add the steps to a pipeline."""
        shards = _numbers(pipeline, len(self.search.covered))
        start = pipeline | "Start" >> beam.Create([self.search.shards], reshuffle=False)
        for kind in self.search.kinds:
            self._search_kind(kind, start, shards)

    def _search_kind(self, kind: Kind, start: PCollection[str], shards: PCollection[int]) -> None:
        search, partitions = self.search, self._digest_partitions
        digests = shards | f"Digests.{kind}" >> _blocks(_send_digests, search, kind, partitions)
        groups = _exchange(search, f"Groups.{kind}", digests, partial(group_digests, search, kind))
        summaries = (groups, start | f"Empty.{kind}" >> _blocks(_empty_blocks, search, kind, GROUP_SUMMARIES))
        if kind != "near":
            _finish(search, f"Members.{kind}", summaries, partial(put_equal_outcomes, search, kind))
            return
        keys = _exchange(search, "Bands", summaries, partial(_send_bands, search, self._band_partitions))
        pairs = _exchange(search, "Candidates", keys, partial(find_candidates, search))
        signed = _exchange(search, "Signatures", pairs, partial(send_signatures, search))
        clear, unresolved = _split_by_origin(
            UNRESOLVED, _exchange(search, "Estimated", signed, partial(verify_by_signature, search))
        )
        shingles = _exchange(search, "Shingles", unresolved, partial(send_shingles, search))
        compared = _exchange(search, "Compared", shingles, partial(verify_by_shingles, search))
        edges = (clear, compared, start | "Empty.matches" >> _blocks(_empty_blocks, search, "matches", MATCHES))
        forests = _exchange(search, "Matches", edges, partial(_send_forest_size, search))
        join = partial(_with_beat, search, "Forests", partial(join_forests, search, self.max_edges))
        # One number per shard group: not worth files.
        stars: Blocks = forests | "Forests" >> Exchange(join, transport=Engine(), emits=AddressedBlock)
        _build_outcomes(search, stars)


@dataclass(frozen=True)
class StarGraph:
    """One round of star contraction."""

    round: StarRound

    def build(self, pipeline: beam.Pipeline) -> None:
        """Add the steps to a pipeline."""
        step, search = self.round, self.round.search
        edges = _numbers(pipeline, step.sources) | "Edges" >> _blocks(step.send_edges)
        upward = _exchange(search, f"Upward-{step.number}", edges, step.join_upward)
        _finish(search, f"Downward-{step.number}", upward, step.join_downward)


@dataclass(frozen=True)
class OutcomeGraph:
    """The pipeline after the last round of star contraction: it writes the outcomes."""

    round: StarRound

    def build(self, pipeline: beam.Pipeline) -> None:
        """Add the steps to a pipeline."""
        stars = _numbers(pipeline, self.round.partitions) | "Outer" >> _blocks(self.round.send_stars)
        _build_outcomes(self.round.search, stars)


def _build_outcomes(search: Search, stars: Blocks) -> None:
    """Add the steps from stars to the outcome of each row."""
    parts, requests = _split_by_origin(REQUESTS, _exchange(search, "Stars", stars, partial(send_clusters, search)))
    named = _exchange(search, "MergedClusters", parts, partial(merge_clusters, search))
    summaries = _exchange(search, "RowClusters", (named, requests), partial(send_row_clusters, search))
    _finish(search, "Outcomes", summaries, partial(put_near_outcomes, search))


def _exchange(
    search: Search,
    name: str,
    blocks: Blocks | tuple[Blocks, ...],
    consume: Callable[[int, Batches], Iterable[AddressedBlock]],
) -> Blocks:
    received: Blocks = blocks | name >> Exchange(
        partial(_with_beat, search, name, consume), transport=_files(search, name), emits=AddressedBlock
    )
    return received


def _finish(
    search: Search, name: str, blocks: Blocks | tuple[Blocks, ...], consume: Callable[[int, Batches], Iterable[int]]
) -> None:
    done = blocks | name >> Exchange(
        partial(_with_beat, search, name, consume), transport=_files(search, name), emits=int
    )
    # The results return through Beam: FnApiRunner notices a dead worker only by missing output.
    done | f"Return.{name}" >> beam.Reshuffle()


def _files(search: Search, name: str) -> Files:
    return Files(search.store.objects, f"{search.scratch}/exchange/{name}")


def _with_beat(
    search: Search, name: str, consume: Callable[[int, Batches], Iterable[object]], partition: int, batches: Batches
) -> Iterator[object]:
    yield from consume(partition, batches)
    beat_step(search.store.objects, search.scratch, name)


def _split_by_origin(origin: str, blocks: Blocks) -> tuple[Blocks, Blocks]:
    """Return the blocks of other origins, and those of this one."""
    others = blocks | f"Not.{origin}" >> beam.Filter(_has_other_origin, origin).with_output_types(AddressedBlock)
    these = blocks | f"Only.{origin}" >> beam.Filter(_has_origin, origin).with_output_types(AddressedBlock)
    return others, these


def _has_origin(block: AddressedBlock, origin: str) -> bool:
    return block.origin.startswith(origin)


def _has_other_origin(block: AddressedBlock, origin: str) -> bool:
    return not block.origin.startswith(origin)


def _blocks(make: Callable[..., Iterator[AddressedBlock]], *arguments: object) -> beam.PTransform[object, Blocks]:
    blocks: beam.PTransform[object, Blocks] = beam.FlatMap(make, *arguments).with_output_types(AddressedBlock)
    return blocks


def _numbers(pipeline: beam.Pipeline, count: int) -> PCollection[int]:
    """Return the numbers below `count`, spread over the workers."""
    numbers: PCollection[int] = (
        pipeline
        | "Count" >> beam.Create([count], reshuffle=False)
        | "Number" >> beam.ParDo(_Numbers()).with_output_types(int)
        | "Spread" >> beam.Reshuffle().with_output_types(int)
    )
    return numbers


class _Numbers(beam.DoFn):
    """Count → the numbers below it."""

    def __init__(self) -> None:
        self._driver = versions_here()

    def setup(self) -> None:
        """Prepare the process."""
        settle()

    def process(self, element: int) -> Iterator[int]:
        """Yield one element per number; refuse to run if this worker's versions differ from the driver's."""
        require_like_driver(self._driver)
        yield from range(element)


def _send_digests(shard: int, search: Search, kind: Kind, partitions: int) -> Iterator[AddressedBlock]:
    return send_digests(search, kind, shard, partitions)


def _empty_blocks(_: str, search: Search, name: str, schema: pa.Schema) -> Iterator[AddressedBlock]:
    return empty_blocks(search.shard_groups, name, schema)


def _send_bands(search: Search, partitions: int, shard_group: int, batches: Batches) -> Iterator[AddressedBlock]:
    return send_bands(search, shard_group, batches, partitions)


def _send_forest_size(search: Search, shard_group: int, batches: Batches) -> Iterator[AddressedBlock]:
    for edges in put_matches(search, shard_group, batches):
        yield forest_size(shard_group, edges)
