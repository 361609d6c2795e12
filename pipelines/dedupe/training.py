"""Learns something of a sample of all values before they are sent, for kinds whose search asks for it.

The sample is brought to one task. It is made of the values with the smallest digests, so it depends on neither shards
nor workers.
"""

import itertools
from collections.abc import Iterable, Iterator, Mapping

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from winnow.filters.duplicates.searches import BlockSearch, Training
from winnow.pipelines.dedupe.compared import IDS, reader_of
from winnow.pipelines.dedupe.groups import GROUP_SUMMARIES, empty_blocks
from winnow.pipelines.dedupe.search import Search
from winnow.pipelines.running.blocks import AddressedBlock
from winnow.pipelines.running.exchange import addressed_blocks
from winnow.pipelines.running.scratch_parts import put_part, read_part
from winnow.schemas.rows.duplicates import Kind

SAMPLED = pa.schema([pa.field("digest", pa.uint64()), pa.field("value", pa.large_binary())])
"""What shards send to the task that learns."""


def training_of(search: Search, kind: Kind) -> Training | None:
    """Return what a kind's search learns; None if nothing."""
    found = search.kinds[kind].search
    return found.training if isinstance(found, BlockSearch) else None


def sample_values(shard_group: int, search: Search, kind: Kind, rows: int) -> Iterator[AddressedBlock]:
    """Send the values whose digests are small enough that about a sample of the whole store is sent.

    `rows` are those of the store: an item of a row takes part with the same chance.
    """
    training, reader = training_of(search, kind), reader_of(search.kinds[kind])
    assert training is not None
    bound = _bound(training, rows)

    def sampled() -> Iterator[tuple[pa.RecordBatch, NDArray[np.uint32]]]:
        columns = [*reader.columns, IDS]
        read = (search.listed.read(shard, columns) for shard in search.listed.in_group(shard_group))
        for _, batch in itertools.chain.from_iterable(read):
            found = reader.compared(batch)
            digests = _leading(found.digests)
            chosen = np.flatnonzero(digests <= bound)
            chosen = chosen[np.unique(digests[chosen], return_index=True)[1]][: training.sample]
            lines = [pa.array(digests[chosen]), found.values.take(pa.array(chosen)).cast(pa.large_binary())]
            yield pa.RecordBatch.from_arrays(lines, schema=SAMPLED), np.zeros(len(chosen), np.uint32)

    return addressed_blocks(f"{kind}-sample-{shard_group}", sampled(), 1)


def train(search: Search, kind: Kind, rows: int, _: int, batches: Iterable[pa.RecordBatch]) -> Iterator[AddressedBlock]:
    """Store what is learnt; then let every shard group send its values."""
    training = training_of(search, kind)
    assert training is not None
    held = pa.Table.from_batches(batches, schema=SAMPLED)
    digests, at = np.unique(held["digest"].to_numpy(), return_index=True)
    total = round(len(digests) * (2.0**64 / (float(_bound(training, rows)) + 1)))
    shortest = min(map(len, held["value"].to_pylist()), default=0)
    most = min(training.sample, training.sample_bytes // shortest) if shortest else 0
    values = held["value"].take(pa.array(at[:most])).combine_chunks()
    for what, found in training.learn(values, total).items():
        put_part(search.store.objects, search.scratch, f"{kind}/learnt-{what}", 0, pa.record_batch([found], ["value"]))
    yield from empty_blocks(search.listed.groups, "learnt", GROUP_SUMMARIES)


def learnt(search: Search, kind: Kind) -> Mapping[str, pa.Array]:
    """Return what was learnt for a kind; nothing if its search learns nothing."""
    training = training_of(search, kind)
    return {
        what: read_part(search.store.objects, search.scratch, f"{kind}/learnt-{what}", 0)["value"]
        for what in (() if training is None else training.names)
    }


def _bound(training: Training, rows: int) -> np.uint64:
    """Return the largest digest of the sample, among digests of 64 bits."""
    return np.uint64(min((1 << 64) - 1, (training.sample << 64) // max(rows, 1)))


def _leading(digests: pa.FixedSizeBinaryArray) -> NDArray[np.uint64]:
    """Return the first 64 bits of digests."""
    width = digests.type.byte_width
    raw = np.frombuffer(digests.buffers()[1] or b"", np.uint8, len(digests) * width, digests.offset * width)
    return raw.reshape(-1, width)[:, :8].copy().view(">u8").reshape(-1).astype(np.uint64)
