"""The wiring of a search: shards in, tables of what is said of their rows left in its scratch folder.

Clusters that are too large to be put together in one task take rounds of star contraction, each a pipeline of its own,
before what is left of the search is settled.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial

import apache_beam as beam
import pyarrow as pa
from apache_beam.pvalue import PCollection

from winnow.pipelines.dedupe.clusters import (
    ASKS,
    MOST_EDGES,
    StarRound,
    forest_size,
    join_forests,
    name_clusters,
    send_clusters,
    tell_clusters,
)
from winnow.pipelines.dedupe.covered import Search
from winnow.pipelines.dedupe.groups import ROW_BYTES, TOLD, group_digests, hello, send_digests
from winnow.pipelines.dedupe.near import (
    DOUBTS,
    KEY_BYTES,
    MATCHES,
    compare_shingles,
    judge_pairs,
    keep_matches,
    pair_up,
    send_bands,
    send_shingles,
    send_signatures,
)
from winnow.pipelines.dedupe.outcomes import settle_equal, settle_near
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
    """Every search of a run as one pipeline, but for clusters of more edges than are joined at once. Picklable."""

    search: Search
    total_rows: int
    most_edges: int = MOST_EDGES

    @property
    def steps(self) -> Mapping[str, int]:
        """The partitions of each step, in order."""
        found: dict[str, int] = {}
        places = self.search.places
        for kind in self.search.kinds:
            found[f"Groups.{kind}"] = self._digest_partitions
            if kind != "near":
                found[f"Members.{kind}"] = places
            else:
                found |= {"Bands": places, "Candidates": self._band_partitions}
                found |= dict.fromkeys(("Signatures", "Judged", "Shingles", "Compared", "Matches"), places)
                found |= {"Forests": 1, **dict.fromkeys(("Stars", "Named", "Told", "Settled"), places)}
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
        hellos = pipeline | "Places" >> beam.Create([self.search.shards], reshuffle=False)
        for kind in self.search.kinds:
            self._kind(kind, hellos, shards)

    def _kind(self, kind: Kind, hellos: PCollection[str], shards: PCollection[int]) -> None:
        search, partitions = self.search, self._digest_partitions
        digests = shards | f"Digests.{kind}" >> _blocks(_of_shard, search, kind, partitions)
        groups = _exchanged(search, f"Groups.{kind}", digests, partial(group_digests, search, kind))
        told = (groups, hellos | f"Hello.{kind}" >> _blocks(_hello, search, kind, TOLD))
        if kind != "near":
            _left(search, f"Members.{kind}", told, partial(settle_equal, search, kind))
            return
        keys = _exchanged(search, "Bands", told, partial(_bands, search, self._band_partitions))
        pairs = _exchanged(search, "Candidates", keys, partial(pair_up, search))
        signed = _exchanged(search, "Signatures", pairs, partial(send_signatures, search))
        clear, doubts = _parted(DOUBTS, _exchanged(search, "Judged", signed, partial(judge_pairs, search)))
        shingles = _exchanged(search, "Shingles", doubts, partial(send_shingles, search))
        compared = _exchanged(search, "Compared", shingles, partial(compare_shingles, search))
        edges = (clear, compared, hellos | "Hello.matches" >> _blocks(_hello, search, "matches", MATCHES))
        forests = _exchanged(search, "Matches", edges, partial(_matched, search))
        join = partial(_beating, search, "Forests", partial(join_forests, search, self.most_edges))
        # A number a place: too little for files.
        stars: Blocks = forests | "Forests" >> Exchange(join, transport=Engine(), emits=AddressedBlock)
        _settle_clusters(search, stars)


@dataclass(frozen=True)
class StarGraph:
    """One round of star contraction."""

    round: StarRound

    def build(self, pipeline: beam.Pipeline) -> None:
        """Add the steps to a pipeline."""
        step, search = self.round, self.round.search
        edges = _numbers(pipeline, step.sources) | "Edges" >> _blocks(step.send_edges)
        upward = _exchanged(search, f"Upward-{step.number}", edges, step.join_upward)
        _left(search, f"Downward-{step.number}", upward, step.join_downward)


@dataclass(frozen=True)
class SettleGraph:
    """What follows on the last round."""

    round: StarRound

    def build(self, pipeline: beam.Pipeline) -> None:
        """Add the steps to a pipeline."""
        stars = _numbers(pipeline, self.round.partitions) | "Outer" >> _blocks(self.round.send_stars)
        _settle_clusters(self.round.search, stars)


def _settle_clusters(search: Search, stars: Blocks) -> None:
    """From stars to what is said of each row."""
    parts, asks = _parted(ASKS, _exchanged(search, "Stars", stars, partial(send_clusters, search)))
    named = _exchanged(search, "Named", parts, partial(name_clusters, search))
    told = _exchanged(search, "Told", (named, asks), partial(tell_clusters, search))
    _left(search, "Settled", told, partial(settle_near, search))


def _exchanged(
    search: Search,
    name: str,
    blocks: Blocks | tuple[Blocks, ...],
    consume: Callable[[int, Batches], Iterable[AddressedBlock]],
) -> Blocks:
    brought: Blocks = blocks | name >> Exchange(
        partial(_beating, search, name, consume), transport=_files(search, name), emits=AddressedBlock
    )
    return brought


def _left(
    search: Search, name: str, blocks: Blocks | tuple[Blocks, ...], consume: Callable[[int, Batches], Iterable[int]]
) -> None:
    done = blocks | name >> Exchange(
        partial(_beating, search, name, consume), transport=_files(search, name), emits=int
    )
    # What was left comes back through Beam: FnApiRunner notices a dead worker only by the output it owes.
    done | f"Return.{name}" >> beam.Reshuffle()


def _files(search: Search, name: str) -> Files:
    return Files(search.store.objects, f"{search.scratch}/exchange/{name}")


def _beating(
    search: Search, name: str, consume: Callable[[int, Batches], Iterable[object]], partition: int, batches: Batches
) -> Iterator[object]:
    yield from consume(partition, batches)
    beat_step(search.store.objects, search.scratch, name)


def _parted(origin: str, blocks: Blocks) -> tuple[Blocks, Blocks]:
    """The blocks of other origins, and those of this one."""
    others = blocks | f"Not.{origin}" >> beam.Filter(_is_not, origin).with_output_types(AddressedBlock)
    these = blocks | f"Only.{origin}" >> beam.Filter(_is, origin).with_output_types(AddressedBlock)
    return others, these


def _is(block: AddressedBlock, origin: str) -> bool:
    return block.origin.startswith(origin)


def _is_not(block: AddressedBlock, origin: str) -> bool:
    return not block.origin.startswith(origin)


def _blocks(make: Callable[..., Iterator[AddressedBlock]], *arguments: object) -> beam.PTransform[object, Blocks]:
    made: beam.PTransform[object, Blocks] = beam.FlatMap(make, *arguments).with_output_types(AddressedBlock)
    return made


def _numbers(pipeline: beam.Pipeline, count: int) -> PCollection[int]:
    """The numbers below `count`, spread over the workers."""
    numbers: PCollection[int] = (
        pipeline
        | "Count" >> beam.Create([count], reshuffle=False)
        | "Number" >> beam.ParDo(_Numbers()).with_output_types(int)
        | "Spread" >> beam.Reshuffle().with_output_types(int)
    )
    return numbers


class _Numbers(beam.DoFn):
    """A count → the numbers below it."""

    def __init__(self) -> None:
        self._driver = versions_here()

    def setup(self) -> None:
        """Once a process."""
        settle()

    def process(self, element: int) -> Iterator[int]:
        """One element each; not by a worker that another program started and that is made of other versions."""
        require_like_driver(self._driver)
        yield from range(element)


def _of_shard(shard: int, search: Search, kind: Kind, partitions: int) -> Iterator[AddressedBlock]:
    return send_digests(search, kind, shard, partitions)


def _hello(_: str, search: Search, kind: str, schema: pa.Schema) -> Iterator[AddressedBlock]:
    return hello(search, kind, schema)


def _bands(search: Search, partitions: int, place: int, batches: Batches) -> Iterator[AddressedBlock]:
    return send_bands(search, place, batches, partitions)


def _matched(search: Search, place: int, batches: Batches) -> Iterator[AddressedBlock]:
    for edges in keep_matches(search, place, batches):
        yield forest_size(place, edges)
