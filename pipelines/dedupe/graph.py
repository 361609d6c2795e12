"""The wiring of a search: shards in, tables of groups, matches and forests left in its scratch folder."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

import apache_beam as beam
import pyarrow as pa
from apache_beam.pvalue import PCollection

from winnow.pipelines.blocks import AddressedBlock
from winnow.pipelines.dedupe.covered import Search
from winnow.pipelines.dedupe.groups import MEMBERS, ROW_BYTES, group_digests, hello, keep_members, send_digests
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
from winnow.pipelines.exchange import Exchange, Files, partitions_for
from winnow.pipelines.worker import settle
from winnow.schemas.duplicates import Kind


@dataclass(frozen=True)
class SearchGraph:
    """Every search of a run as one pipeline. Picklable."""

    search: Search
    total_rows: int

    def build(self, pipeline: beam.Pipeline) -> None:
        """Add the steps to a pipeline."""
        numbers = pipeline | "List" >> beam.Create([self.search.shards], reshuffle=False)
        shards = (
            numbers
            | "Number" >> beam.ParDo(_Numbers(self.search)).with_output_types(int)
            | "Spread" >> beam.Reshuffle().with_output_types(int)
        )
        for kind in self.search.kinds:
            self._kind(kind, numbers, shards)

    def _kind(self, kind: Kind, numbers: PCollection[str], shards: PCollection[int]) -> None:
        partitions = partitions_for(self.total_rows * ROW_BYTES)
        digests = shards | f"Digests.{kind}" >> beam.FlatMap(
            _of_shard, self.search, kind, partitions
        ).with_output_types(AddressedBlock)
        groups = self._exchange(f"Groups.{kind}", digests, partial(group_digests, self.search, kind))
        told = self._everywhere(kind, numbers, groups, MEMBERS)
        if kind != "near":
            self._last(f"Members.{kind}", told, partial(_kept, self.search, kind))
            return
        bands = partitions_for(self.total_rows * self.search.bands * KEY_BYTES)
        keys = self._exchange("Bands", told, partial(_bands, self.search, bands))
        pairs = self._exchange("Candidates", keys, partial(pair_up, self.search))
        signed = self._exchange("Signatures", pairs, partial(send_signatures, self.search))
        judged = self._exchange("Judged", signed, partial(judge_pairs, self.search))
        doubts = judged | "Doubts" >> beam.Filter(_is_doubt).with_output_types(AddressedBlock)
        clear = judged | "Clear" >> beam.Filter(_is_clear).with_output_types(AddressedBlock)
        shingles = self._exchange("Shingles", doubts, partial(send_shingles, self.search))
        compared = self._exchange("Compared", shingles, partial(compare_shingles, self.search))
        edges = (clear, compared) | "Edges" >> beam.Flatten()
        self._last("Matches", self._everywhere("matches", numbers, edges, MATCHES), partial(keep_matches, self.search))

    def _everywhere(
        self, kind: str, numbers: PCollection[str], blocks: PCollection[AddressedBlock], schema: pa.Schema
    ) -> PCollection[AddressedBlock]:
        heard = numbers | f"Hello.{kind}" >> beam.FlatMap(_hello, self.search, kind, schema).with_output_types(
            AddressedBlock
        )
        together: PCollection[AddressedBlock] = (blocks, heard) | f"Everywhere.{kind}" >> beam.Flatten()
        return together

    def _exchange(self, name: str, blocks: PCollection[AddressedBlock], consume: object) -> PCollection[AddressedBlock]:
        files = Files(self.search.store.objects, f"{self.search.scratch}/exchange/{name}")
        brought: PCollection[AddressedBlock] = blocks | name >> Exchange(consume, transport=files, emits=AddressedBlock)  # type: ignore[arg-type]
        return brought

    def _last(self, name: str, blocks: PCollection[AddressedBlock], consume: object) -> None:
        files = Files(self.search.store.objects, f"{self.search.scratch}/exchange/{name}")
        done = blocks | name >> Exchange(consume, transport=files, emits=int)  # type: ignore[arg-type]
        # What was left comes back through Beam: FnApiRunner notices a dead worker only by the output it owes.
        done | f"Return.{name}" >> beam.Reshuffle()


class _Numbers(beam.DoFn):
    """The list of shards → their numbers."""

    def __init__(self, search: Search) -> None:
        self._search = search

    def setup(self) -> None:
        """Once a process."""
        settle()

    def process(self, element: str) -> Iterator[int]:
        """One element a shard."""
        assert element == self._search.shards
        yield from range(len(self._search.covered))


def _of_shard(shard: int, search: Search, kind: Kind, partitions: int) -> Iterator[AddressedBlock]:
    return send_digests(search, kind, shard, partitions)


def _hello(_: str, search: Search, kind: str, schema: pa.Schema) -> Iterator[AddressedBlock]:
    return hello(search, kind, schema)


def _kept(search: Search, kind: Kind, place: int, batches: Iterator[pa.RecordBatch]) -> Iterator[int]:
    for shard, _ in keep_members(search, kind, place, batches):
        yield shard


def _bands(search: Search, partitions: int, place: int, batches: Iterator[pa.RecordBatch]) -> Iterator[AddressedBlock]:
    return send_bands(search, place, batches, partitions)


def _is_doubt(block: AddressedBlock) -> bool:
    return block.origin.startswith(DOUBTS)


def _is_clear(block: AddressedBlock) -> bool:
    return not block.origin.startswith(DOUBTS)
