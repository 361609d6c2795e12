"""A shuffle through files: Beam only carries references.

For one machine, where the engine would hold every byte in memory several times.
"""

import hashlib
import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import apache_beam as beam
import msgspec
import orjson
import pyarrow as pa
from apache_beam.pvalue import PCollection
from apache_beam.transforms import window
from apache_beam.utils.windowed_value import WindowedValue

from winnow.pipelines.running.blocks import AddressedBlock, encoded_pieces
from winnow.pipelines.running.exchange.engine import GroupInOneWindow
from winnow.pipelines.running.exchange.inputs import Blocks, OfBlocks, of_each
from winnow.pipelines.running.exchange.segments import (
    PackedBlock,
    Segment,
    SegmentFile,
    merge_files,
    placed_runs,
    plan_merges,
    read_index,
    read_runs,
    successive_origins,
    write_file,
)
from winnow.pipelines.running.exchange.totals import Total, check_arrival
from winnow.pipelines.store.concurrency import delete_objects
from winnow.pipelines.store.facade import ObjectStore
from winnow.schemas.errors import StoreError

_CLEARED_AT_ONCE = 10_000  # files: a search leaves several for each shard


@dataclass(frozen=True, slots=True)
class Files:
    """Each origin writes one file under `prefix` with one segment per partition; readers fetch their ranges.

    The prefix belongs to this exchange alone. The caller removes it afterwards with `clear_scratch`.
    """

    store: ObjectStore
    prefix: str
    max_file_bytes: int = 64 << 20  # the most that a worker holds while it collects a file
    min_segment_bytes: int = 256 << 10  # smaller reads cost a disk more than a merge
    merge_above_files: int = 64  # of so few, a partition reads each
    merge_fan_in: int = 64

    def send(self, blocks: Blocks) -> PCollection[tuple[int, bytes]]:
        """Writes the blocks, merges files with small segments, and keys each segment by its partition.

        What is merged is decided for a hundred successive origins at a time, so no element grows with their number.
        """
        segments: PCollection[tuple[int, bytes]] = (
            of_each(blocks, "WriteFiles", self._write)
            | "Successive" >> GroupInOneWindow()
            | "PlanMerges" >> beam.FlatMap(_planned, self).with_output_types(tuple[int, bytes])
            | "SpreadMerges" >> GroupInOneWindow()
            | "Merge" >> beam.FlatMap(_merged, self).with_output_types(tuple[int, bytes])
        )
        return segments

    def _write(self) -> OfBlocks[tuple[int, bytes]]:
        write: OfBlocks[tuple[int, bytes]] = beam.ParDo(_WriteFiles(self)).with_output_types(tuple[int, bytes])
        return write

    def receive(self, partition: int, expected: Total | None, members: list[memoryview]) -> Iterator[pa.RecordBatch]:
        """The batches in order of origin and number: totals are checked now, bytes when they are read."""
        placed = placed_runs(partition, (Segment.decode(member) for member in members))
        check_arrival(partition, expected, [place.run for place in placed])
        return read_runs(self.store, placed)

    def stored_bytes(self, size: int, senders: int, receivers: int) -> int:
        """The bytes, about, that the store has of `size`, of which each sender sends to so many receivers.

        They are there once, and once more where files are merged: see `plan_merges`.
        """
        files = senders * -(-size // (senders * self.max_file_bytes))
        merged = files > self.merge_above_files and size < files * receivers * self.min_segment_bytes
        return size * (1 + merged)


def clear_scratch(store: ObjectStore, prefix: str) -> int:
    """Removes files that exchanges left under the prefix; returns their number."""
    removed, first = 0, ""
    while some := [info.path for info in itertools.islice(store.list(f"{prefix}/"), _CLEARED_AT_ONCE)]:
        if some[0] == first:
            raise StoreError(f"{store.root}/{first} is still listed after it was deleted; run the same command again")
        first = some[0]
        removed += delete_objects(store, some)
    return removed


class _WriteFiles(beam.DoFn):
    """Collects the blocks of successive origins and puts each origin's file.

    A task's blocks usually arrive together from the previous step. Where they do not, as after a shuffle, an origin
    simply gets several files.
    """

    def __init__(self, files: Files) -> None:
        self._files = files

    def start_bundle(self) -> None:
        self._origin = ""
        self._blocks: list[PackedBlock] = []
        self._bytes = 0

    def process(self, block: AddressedBlock) -> Iterator[tuple[int, bytes]]:
        packed = PackedBlock(block.partition, block.number, block.batch.num_rows, encoded_pieces(block.batch))
        if self._blocks and (block.origin != self._origin or self._bytes + packed.length > self._files.max_file_bytes):
            yield self._put()
        self._origin = block.origin
        self._blocks.append(packed)
        self._bytes += packed.length

    def finish_bundle(self) -> Iterator[WindowedValue]:
        if self._blocks:
            everything = window.GlobalWindow()
            yield WindowedValue(self._put(), everything.max_timestamp(), (everything,))

    def _put(self) -> tuple[int, bytes]:
        file = write_file(self._files.store, self._files.prefix, self._origin, self._blocks)
        self._blocks, self._bytes = [], 0
        return _key(successive_origins(self._origin).name), file.encode()


def _planned(successive: tuple[int, Iterable[bytes]], files: Files) -> Iterator[tuple[int, bytes]]:
    groups = plan_merges(
        (SegmentFile.decode(reference) for reference in successive[1]),
        files.min_segment_bytes,
        files.merge_above_files,
        files.merge_fan_in,
    )
    for group in groups:
        yield _key(group[0].path), orjson.dumps(group)


def _key(name: str) -> int:
    return int.from_bytes(hashlib.blake2b(name.encode(), digest_size=7).digest(), "little")


def _merged(planned: tuple[int, Iterable[bytes]], files: Files) -> Iterator[tuple[int, bytes]]:
    for group in planned[1]:
        members = msgspec.json.decode(group, type=list[SegmentFile])
        for segment in read_index(files.store, merge_files(files.store, files.prefix, members)):
            yield segment.partition, segment.encode()
