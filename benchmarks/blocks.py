"""What an export sends and asks for, by the number of shards: counted, not timed.

    python -m benchmarks.blocks [--quick] [--json]

A store of synthetic shards is drawn whole and exported in files of 256 MiB. One sender packs rows by the exchange's own
packer, and what it sends is multiplied by the number of senders, so that a million shards are counted in seconds.
Counted are blocks, their bytes and announcements, scratch objects, the requests that write and read them, the largest
element that one worker is handed, and what the command's own process asks for and holds while it cuts outputs.
"""

import sys
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from benchmarks.measuring.reporting import Limit, benchmark_arguments, judged
from winnow.pipelines.export.planning.cutting import COUNTED, MOST_GROUPS, NEAR_BYTES
from winnow.pipelines.export.planning.sizing import BINS
from winnow.pipelines.mix.draws import DrawnShard
from winnow.pipelines.running.blocks import AddressedBlock, encode_batch
from winnow.pipelines.running.exchange import Route, addressed_blocks
from winnow.pipelines.running.exchange.files import Files
from winnow.pipelines.running.exchange.segments import SegmentFile
from winnow.pipelines.running.job_tasks import OPENING_BYTES
from winnow.pipelines.running.shard_groups import ROW_BYTES, groups_for, successive_groups
from winnow.pipelines.store.memory import MemoryStore
from winnow.schemas.rows.draws import MIXED

SHARDS = (1_000, 10_000, 100_000, 1_000_000)
QUICK_SHARDS = (1_000, 100_000)
SHARD_ROWS = 10_000
TEXT_BYTES = 5_000
FILE_BYTES = 256 << 20  # of the export
SAMPLE_BYTES = 48 << 20  # that are really packed
ENCODED = 50  # blocks of a sample that are really encoded
BATCH_ROWS = 1_000  # read at once
LAYERS = ("samples", "extract.main", "text.pii")  # that an export reads
_HISTOGRAM_BYTES = 2 * 8 * BINS
SUCCESSIVE = 100  # senders whose files one worker sees
FILES = Files(MemoryStore("blocks"), "x")

# Of a gigabyte of text, or of one element or process, whatever the size of the store.
MOST_SENDERS = 4_096
LEAST_BLOCK_BYTES = 64 << 10
MOST_ANNOUNCED = 2 * (1 << 30) // LEAST_BLOCK_BYTES  # each byte travels at most twice
MOST_REQUESTS = 10_000
MOST_ELEMENT_BYTES = 8 << 20
MOST_DRIVER_REQUESTS = 1_000
MOST_DRIVER_BYTES = 1 << 30


@dataclass(frozen=True)
class Export:
    """A store that is drawn whole, and the files that it becomes."""

    shards: int

    @property
    def rows(self) -> int:
        """All rows."""
        return self.shards * SHARD_ROWS

    @property
    def bytes(self) -> int:
        """All bytes, about."""
        return self.rows * TEXT_BYTES

    @property
    def partitions(self) -> int:
        """The files of the export."""
        return max(1, -(-self.bytes // FILE_BYTES))


@dataclass(frozen=True)
class Sent:
    """What one exchange carries."""

    senders: int
    receivers: int
    blocks: int
    bytes: int
    objects: int
    requests: int
    element: int  # bytes of the largest element that one worker is handed besides blocks


@dataclass(frozen=True)
class Driver:
    """What the command's own process asks for and holds, to cut outputs."""

    requests: int
    bytes: int


def rows_of(count: int, partitions: int) -> Iterator[tuple[pa.RecordBatch, NDArray[np.uint32]]]:
    """Rows of an export, in batches, with the partition of each: export order is random."""
    random = np.random.Generator(np.random.PCG64(1))
    batch = _mixed(min(count, BATCH_ROWS))
    for start in range(0, count, BATCH_ROWS):
        part = batch.slice(0, min(BATCH_ROWS, count - start))
        yield part, random.integers(0, partitions, part.num_rows, np.uint32)


def exchanged(senders: int, share: float, receivers: int, blocks_of: Iterator[AddressedBlock], together: int) -> Sent:
    """What `senders` like this one send to `receivers` in all, each packing `share` times the rows of the sample.

    `together`: of so many successive senders one worker decides which files are merged.
    """
    blocks = list(blocks_of)
    encoded = [len(encode_batch(block.batch)) for block in blocks[:: max(1, len(blocks) // ENCODED)]]
    count = max(1, round(len(blocks) * share))
    size = int(count * np.mean(encoded))
    files = max(1, -(-size // FILES.max_file_bytes))
    addressed = len({block.partition for block in blocks})
    segments = max(addressed, min(count, addressed * files))  # of one sender, in all its files
    written = senders * files
    joined = 1
    if written > FILES.merge_above_files:
        joined = max(1, min(FILES.merge_fan_in, -(-FILES.min_segment_bytes * segments // size)))
    left = -(-written // joined)
    merging = written + left if joined > 1 else 0  # each file is read, and each merged one written
    requests = written + merging + left + -(-senders * segments // joined)  # with the index of each file
    reference = SegmentFile("x/place-00000000." + "0" * 32 + ".segments", "place-00000000", segments, size, 1_000, 1)
    element = min(together, senders) * files * len(reference.encode())
    return Sent(senders, receivers, senders * count, senders * size, written, requests, element)


def by_shard(export: Export) -> list[Sent]:
    """As it was before there were places: a shard is a sender, and its blocks go straight to the files."""
    sampled = min(SHARD_ROWS, SAMPLE_BYTES // TEXT_BYTES)
    blocks = addressed_blocks("shard", rows_of(sampled, export.partitions), export.partitions)
    return [exchanged(export.shards, SHARD_ROWS / sampled, export.partitions, blocks, export.shards)]


def by_place(export: Export) -> list[Sent]:
    """As it is: successive shards send together, through relays if there are many files."""
    senders = len(successive_groups(np.full(export.shards, OPENING_BYTES + SHARD_ROWS * TEXT_BYTES, np.int64)))
    route = Route(senders, export.partitions)
    sampled = min(export.rows // senders, SAMPLE_BYTES // TEXT_BYTES)
    share = export.rows / senders / sampled
    blocks = list(route.send(senders // 2, rows_of(sampled, export.partitions)))
    receivers = route.relays if route.relayed else export.partitions
    first = exchanged(senders, share, receivers, iter(blocks), SUCCESSIVE)
    if not route.relayed:
        return [first]
    sampled = min(-(-export.rows // route.relays), SAMPLE_BYTES // TEXT_BYTES)
    received = route.send(0, rows_of(sampled, route.width))  # what one relay receives
    relayed = route.relay(0, (block.batch for block in received))
    share = export.rows / route.relays / sampled
    return [first, exchanged(route.relays, share, export.partitions, relayed, SUCCESSIVE)]


def cut_here(export: Export) -> Driver:
    """As it was: the command's own process read every draw twice, and held all samples near a boundary."""
    near = int(export.rows * min(1.0, export.partitions / BINS))
    return Driver(2 * export.shards, _lists(export) + _HISTOGRAM_BYTES + 8 * near)


def cut_by_tasks(export: Export) -> Driver:
    """As it is: tasks read draws, and sort the samples near boundaries; the driver adds up one histogram of each."""
    size = export.shards * 2 * OPENING_BYTES + export.rows * ROW_BYTES
    groups = min(MOST_GROUPS, groups_for(size, 1024))
    sorts = -(-int(8 * export.rows * min(1.0, export.partitions / BINS)) // NEAR_BYTES)
    bins = min(BINS, export.rows // groups)
    part = bins * sum(field.type.bit_width // 8 for field in COUNTED)
    return Driver(2 * groups + sorts, _lists(export) + _HISTOGRAM_BYTES + part + 40 * export.partitions)


def _lists(export: Export) -> int:
    """The list of tasks, which the driver holds until it is written."""
    objects = {name: f"layers/{name}/0123456789abcdef/crawl-0123-{'0' * 32}.parquet" for name in LAYERS}
    shard = DrawnShard("crawl-0123456789abcdef-00000", "crawl", f"plans/0123456789abcdef/{'0' * 64}", objects, 1, 1)
    return export.shards * len(shard.to_json())


def main() -> int:
    """Count and print."""
    options = benchmark_arguments(str(__doc__)).parse_args()
    print(
        f"{'shards':>9}{'files':>9}  {'way':<10}{'senders':>10}{'receivers':>10}{'blocks':>16}{'bytes each':>12}"
        f"{'objects':>11}{'requests':>15}{'element':>14}{'driver asks':>13}{'driver bytes':>15}"
    )
    limits: list[Limit] = []
    for shards in QUICK_SHARDS if options.quick else SHARDS:
        export = Export(shards)
        for name, sent, driver in (
            ("by shard", by_shard(export), cut_here(export)),
            ("by place", by_place(export), cut_by_tasks(export)),
        ):
            _show(export, name, sent, driver)
        limits += _limits(export, sent, driver)
    return judged("blocks", limits, options.json)


def _show(export: Export, name: str, sent: list[Sent], driver: Driver) -> None:
    for number, one in enumerate(sent):
        planned = f"{driver.requests:>13,}{driver.bytes:>15,}" if not number else ""
        print(
            f"{export.shards:>9,}{export.partitions:>9,}  {name if not number else '':<10}{one.senders:>10,}"
            f"{one.receivers:>10,}{one.blocks:>16,}{one.bytes // max(1, one.blocks):>12,}{one.objects:>11,}"
            f"{one.requests:>15,}{one.element:>14,}{planned}"
        )


def _limits(export: Export, sent: list[Sent], driver: Driver) -> list[Limit]:
    gigabytes = export.bytes / (1 << 30)
    blocks = sum(one.blocks for one in sent)
    about = f"of {export.shards:,} shards"
    return [
        Limit(f"senders {about}", sent[0].senders, MOST_SENDERS, "senders"),
        Limit(f"smallest blocks {about}", LEAST_BLOCK_BYTES * blocks / sum(one.bytes for one in sent), 1, "of 64 KiB"),
        Limit(f"announcements {about}", blocks / gigabytes, MOST_ANNOUNCED, "a GiB"),
        Limit(f"requests {about}", sum(one.requests for one in sent) / gigabytes, MOST_REQUESTS, "a GiB"),
        Limit(f"largest element {about}", max(one.element for one in sent), MOST_ELEMENT_BYTES, "bytes"),
        Limit(f"driver requests {about}", driver.requests, MOST_DRIVER_REQUESTS, "requests"),
        Limit(f"driver memory {about}", driver.bytes, MOST_DRIVER_BYTES, "bytes"),
    ]


def _mixed(rows: int) -> pa.RecordBatch:
    columns = []
    for one in MIXED:
        if pa.types.is_integer(one.type):
            columns.append(pa.array(np.zeros(rows, np.int64)).cast(one.type))
        elif pa.types.is_fixed_size_binary(one.type):
            columns.append(pa.array([bytes(one.type.byte_width)] * rows, one.type))
        elif pa.types.is_list(one.type):
            columns.append(pa.array([[]] * rows, one.type))
        else:
            columns.append(pa.array(["x" * TEXT_BYTES if one.name == "text" else one.name] * rows, one.type))
    return pa.RecordBatch.from_arrays(columns, schema=MIXED)


if __name__ == "__main__":
    sys.exit(main())
