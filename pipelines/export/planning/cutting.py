"""Cuts outputs into shards, by two passes over the draw: tasks read it, and the driver holds no samples.

The first pass adds up histograms of the order, which tell the bin in which each shard begins. In the second, the orders
of samples in these bins travel to where each bin is sorted, which tells the sample. The result depends neither on how
the draw is divided into tasks nor on where they run.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from winnow.pipelines.export.planning.sizing import (
    BINS,
    SHIFT,
    Counts,
    Cutting,
    Histogram,
    Measured,
    OutputSize,
    Some,
    Way,
    list_draw,
    places_of,
    samples_of,
)
from winnow.pipelines.mix.draws import Draw
from winnow.pipelines.running.blocks import AddressedBlock
from winnow.pipelines.running.exchange import addressed_blocks
from winnow.pipelines.running.job_steps import Batches, JobSteps
from winnow.pipelines.running.job_tasks import HERE, OPENING_BYTES, Jobs
from winnow.pipelines.running.linear_jobs import LinearJob, StoreStep, StoringJob
from winnow.pipelines.running.scratch_parts import put_numbers, put_part, read_numbers, read_part
from winnow.pipelines.running.shard_list import ListedShard, ShardList
from winnow.pipelines.store.facade import ObjectStore
from winnow.schemas.uint128 import Words

MOST_GROUPS = 256
"""Tasks of a pass: the driver adds up the histograms of each, some 16 MiB for each output."""

NEAR_BYTES = 32 << 20  # of orders, sorted by one task
DRAWN_BYTES = 40  # that are read of a drawn row, about

COUNTED = pa.schema([("cut", pa.uint32()), ("bin", pa.uint32()), ("count", pa.int64()), ("held", pa.int64())])
_ORDERS = pa.schema([pa.field("order", pa.uint64(), nullable=False)])


def cut_outputs(objects: ObjectStore, draw: Draw, ways: Iterable[Way], jobs: Jobs = HERE) -> dict[Way, Cutting]:
    """Cuts every output by each way's cap, in bytes of edited texts, and of media where included.

    Caps count bytes before compression. Media count with their file size, re-encoded pictures with an estimate by
    pixels.
    """
    wanted, names = tuple(sorted(set(ways))), [planned.name for planned in draw.plan.outputs]
    drawn = sum(shard.drawn for shard in draw.shards)
    with jobs.folder("cut") as steps:
        listed = list_draw(steps, draw)
        shards = replace(listed, most_groups=min(MOST_GROUPS, listed.groups))
        cutter = Cutter(objects, steps, shards, draw.plan.seed, len(names), wanted)
        size = drawn * DRAWN_BYTES + len(draw.shards) * OPENING_BYTES
        jobs.run(StoringJob(steps, "Sizes", shards.groups, cutter.count), size)
        histograms = cutter.counted()
        partitions = cutter.put_near(histograms)
        if partitions:
            last = StoreStep("Boundaries", partitions, cutter.find)
            jobs.run(LinearJob(steps, "Near", shards.groups, cutter.send_near, (), last), size)
        sizes = [
            OutputSize(
                names[number % len(names)], *cutter.found(number, histogram.total), histogram.over, histogram.bytes
            )
            for number, histogram in enumerate(histograms)
        ]
    return {
        way: Cutting(way, tuple(sizes[first : first + len(names)]))
        for way, first in zip(wanted, range(0, len(sizes), len(names)), strict=True)
    }


@dataclass(frozen=True)
class _Near:
    """Where the shards of one cut begin, known to a bin: the bins are sorted by the partitions of an exchange."""

    places: Counts  # the first position of each shard but the first
    bins: Counts  # of each place, ascending
    before: Counts  # samples before the bin of each place
    partitions: Counts  # of each place


@dataclass(frozen=True)
class Cutter:
    """The tasks of both passes. A cut is an output by one way. Picklable."""

    objects: ObjectStore
    steps: JobSteps
    shards: ShardList[ListedShard]
    seed: int
    outputs: int
    ways: tuple[Way, ...]

    def count(self, group: int) -> Iterator[int]:
        """Stores the histograms of a group of shards."""
        histograms = self._empty()
        changes = sorted({way.measured for way in self.ways if way.media})
        for some in self._samples(group, changes):
            for number, way in enumerate(self.ways):
                held = some.with_media[way.measured] if way.media else some.held
                histograms[number * self.outputs + some.output].add(some.order, held)
        self._keep("totals", group, over=[one.over for one in histograms], bytes=[one.bytes for one in histograms])
        bins = [np.flatnonzero(one.counts) for one in histograms]
        columns = [
            np.repeat(np.arange(len(bins)), [len(one) for one in bins]),
            np.concatenate(bins),
            np.concatenate([one.counts[some] for one, some in zip(histograms, bins, strict=True)]),
            np.concatenate([one.held[some] for one, some in zip(histograms, bins, strict=True)]),
        ]
        arrays = [pa.array(column).cast(field.type) for column, field in zip(columns, COUNTED, strict=True)]
        batch = pa.RecordBatch.from_arrays(arrays, schema=COUNTED)
        put_part(self.steps.objects, self.steps.scratch, "histograms", group, batch)
        yield group

    def counted(self) -> list[Histogram]:
        """The histograms of all groups, added up."""
        histograms = self._empty()
        for group in range(self.shards.groups):
            totals = self._numbers("totals", group)
            part = read_part(self.steps.objects, self.steps.scratch, "histograms", group)
            cuts, bins, counts, held = (column.to_numpy() for column in part.columns)
            for number, histogram in enumerate(histograms):
                first, last = np.searchsorted(cuts, (number, number + 1))
                histogram.counts[bins[first:last]] += counts[first:last]
                histogram.held[bins[first:last]] += held[first:last]
                histogram.over += int(totals["over"][number])
                histogram.bytes += int(totals["bytes"][number])
        return histograms

    def put_near(self, histograms: list[Histogram]) -> int:
        """Stores the bins in which shards begin; returns the number of partitions that sort them."""
        partitions = 0
        for number, histogram in enumerate(histograms):
            places, before = places_of(histogram), histogram.before()
            bins = np.searchsorted(before, places, side="right") - 1
            once, of = np.unique(bins, return_inverse=True)
            counts = histogram.counts[once] * _ORDERS.field("order").type.byte_width
            partition_of = partitions + (np.cumsum(counts) - counts) // NEAR_BYTES
            # Numbers without a gap, though a bin may have more samples than a partition.
            partition_of = partitions + np.unique(partition_of, return_inverse=True)[1]
            self._keep("near", number, places=places, bins=bins, before=before[bins], partitions=partition_of[of])
            partitions += len(np.unique(partition_of))
        return partitions

    def send_near(self, group: int) -> Iterator[AddressedBlock]:
        """Sends the orders of samples that are near a boundary."""
        near = [self._near(number) for number in range(len(self.ways) * self.outputs)]
        partitions = max((int(one.partitions[-1]) + 1 for one in near if len(one.places)), default=1)

        def orders() -> Iterator[tuple[pa.RecordBatch, NDArray[np.int64]]]:
            for some in self._samples(group, []):
                bins = (some.order >> SHIFT).astype(np.int64)
                for one in near[some.output :: self.outputs]:
                    at = np.searchsorted(one.bins, bins)
                    kept = np.flatnonzero(np.append(one.bins, BINS)[at] == bins)
                    orders = pa.RecordBatch.from_arrays([pa.array(some.order[kept])], schema=_ORDERS)
                    yield orders, one.partitions[at[kept]]

        return addressed_blocks(f"near-{group:06d}", orders(), partitions)

    def find(self, partition: int, batches: Batches) -> Iterator[int]:
        """Stores the boundaries in some bins, and the position of the first sample behind each; equal orders stay
        together."""
        orders: Words = np.sort(np.concatenate([batch["order"].to_numpy() for batch in batches]))
        for number in range(len(self.ways) * self.outputs):
            near = self._near(number)
            first, last = np.searchsorted(near.partitions, (partition, partition + 1))
            if first == last:
                continue
            places, bins, before = (one[first:last] for one in (near.places, near.bins, near.before))
            begins = np.searchsorted(orders, bins.astype(np.uint64) << SHIFT)
            boundaries = orders[begins + places - before]
            starts = np.searchsorted(orders, boundaries) - begins + before
            self._keep("boundaries", partition, boundaries=boundaries, starts=starts)
        yield partition

    def found(self, number: int, total: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """The samples of each shard of a cut, and the order at which each but the first begins."""
        if not total:
            return (), ()
        parts = [self._numbers("boundaries", one) for one in np.unique(self._near(number).partitions).tolist()]
        starts = [start for part in parts for start in part["starts"].tolist()]
        boundaries = [boundary for part in parts for boundary in part["boundaries"].tolist()]
        return tuple(np.diff([0, *starts, total]).tolist()), tuple(boundaries)

    def _empty(self) -> list[Histogram]:
        return [Histogram(way.cap) for way in self.ways for _ in range(self.outputs)]

    def _samples(self, group: int, changes: list[Measured]) -> Iterator[Some]:
        for number in self.shards.in_group(group):
            yield from samples_of(self.objects, self.seed, self.shards.all[number], changes)

    def _near(self, number: int) -> _Near:
        return _Near(**self._numbers("near", number))

    def _keep(self, what: str, number: int, **arrays: object) -> None:
        put_numbers(
            self.steps.objects,
            self.steps.scratch,
            what,
            number,
            {name: np.asarray(one) for name, one in arrays.items()},
        )

    def _numbers(self, what: str, number: int) -> dict[str, NDArray[np.int64]]:
        return read_numbers(self.steps.objects, self.steps.scratch, what, number)
