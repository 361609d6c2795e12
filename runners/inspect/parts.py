"""Parts: shards that are read together, so that a hundred thousand of a few rows take no longer than their rows need.

A part is neighbouring shards of one source, up to some 16,384 rows of them; a shard that has more is a part of its own,
and is read from the store whenever it is asked for. Opening a small object costs more than its rows, so the narrow
columns of a layer are taken all at once when a part of several shards is first read: they stay in a file without a
name, which goes with what is shown. What was read is not read again by a request that follows one that was given up.
"""

import os
import tempfile
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from winnow.pipelines.processes.cancelling import check_cancelled
from winnow.pipelines.reading.columns import Column, leaf_of, read_aligned
from winnow.pipelines.rules.deciding import NARROW_BLOCK_ROWS
from winnow.pipelines.rules.pinning import PinnedShards, ShardObjects, is_wide
from winnow.pipelines.store.facade import ObjectStore
from winnow.pipelines.store.hiding.redaction import redacted_batches
from winnow.pipelines.store.hiding.scans import NOTHING
from winnow.pipelines.store.tables import read_batches, read_schema
from winnow.schemas.errors import StoreError

PART_ROWS: Final = 16_384
PART_SHARDS: Final = 1_024  # at most, so that work is given up, and told of, between some seconds

Block = dict[str, pa.Array]
Fields = tuple[str, tuple[str, ...]]  # some fields of a layer


@dataclass(frozen=True, slots=True)
class Part:
    """Shards with these numbers, whose rows begin at `start` in the frame."""

    start: int
    rows: int
    first: int
    end: int

    @property
    def is_joined(self) -> bool:
        """Whether it is of several shards."""
        return self.end - self.first > 1


def parts_of(starts: NDArray[np.int64], sources: Sequence[str]) -> tuple[Part, ...]:
    """The parts of shards that begin at these rows, the number of all rows last; `sources`: of each shard."""
    found: list[Part] = []
    bounds, first = starts.tolist(), 0
    for end in range(1, len(bounds)):
        is_last = end == len(bounds) - 1
        if (
            is_last
            or sources[end] != sources[first]
            or end - first == PART_SHARDS
            or bounds[end + 1] - bounds[first] > PART_ROWS
        ):
            found.append(Part(bounds[first], bounds[end] - bounds[first], first, end))
            first = end
    return tuple(found)


Key = tuple[str, tuple[str, ...], Part]


@dataclass(frozen=True, eq=False)
class Packs:
    """What was read of parts of several shards. Safe to use from several threads."""

    _held: dict[Key, tuple[int, int]] = field(default_factory=dict)  # places in the file
    _schemas: dict[str, pa.Schema] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def nbytes(self) -> int:
        """Nearly nothing: it is on the disk."""
        return 0

    @property
    def batches(self) -> int:
        """How many batches are held."""
        return len(self._held)

    @cached_property
    def _file(self) -> int:
        with tempfile.TemporaryFile(prefix="winnow-inspect-") as file:
            return os.dup(file.fileno())

    def __del__(self) -> None:
        """Let go of the file, which has no name any longer."""
        if "_file" in self.__dict__:
            os.close(self._file)

    def schema(self, objects: ObjectStore, layer: str, path: str) -> pa.Schema:
        """The columns of a layer, an object of which lies there."""
        if layer not in self._schemas:
            self._schemas[layer] = read_schema(objects, path)
        return self._schemas[layer]

    def find(self, key: Key) -> pa.RecordBatch | None:
        """What was put, if it was."""
        place = self._held.get(key)
        if place is None:
            return None
        with pa.ipc.open_stream(os.pread(self._file, place[1], place[0])) as stream:
            return stream.read_next_batch()

    def put(self, key: Key, batch: pa.RecordBatch) -> None:
        """Hold what was read; where the disk is full, it is read again when it is needed."""
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, batch.schema, options=pa.ipc.IpcWriteOptions(compression="lz4")) as stream:
            stream.write_batch(batch)
        content = sink.getvalue()
        with self._lock, suppress(OSError):
            at = os.lseek(self._file, 0, os.SEEK_END)
            written = 0
            while written < len(content):
                written += os.pwrite(self._file, memoryview(content)[written:], at + written)
            self._held[key] = at, len(content)


@dataclass(frozen=True)
class PartReader:
    """Reads columns of parts; forgotten rows as those that a purge makes of them."""

    objects: ObjectStore
    shards: PinnedShards
    packs: Packs

    def blocks(self, part: Part, columns: Iterable[Column]) -> Iterator[Block]:
        """The columns of a part, some rows at a time."""
        wanted = list(dict.fromkeys(columns))
        by_set = self._sets(self.shards[part.first], wanted) if part.is_joined else None
        if by_set is None:
            for shard in self.shards[part.first : part.end]:
                yield from read_aligned(self.objects, shard.objects, wanted, NARROW_BLOCK_ROWS, shard.hidden)
            return
        found: Block = {}
        packed = self._packed(part, by_set)
        hidden = joined(self.shards[part.first : part.end]).hidden if self.shards.hidden else NOTHING.rows
        for (layer, fields), own in by_set.items():
            batch = packed[layer, fields]
            if len(hidden):
                (batch,) = redacted_batches(layer, [batch], hidden)
            found |= {column.name: leaf_of(batch, column.leaf) for column in own}
        yield found

    def _sets(self, shard: ShardObjects, columns: Sequence[Column]) -> dict[Fields, list[Column]] | None:
        """The columns by the fields of a layer that are read with them; None if one of them may be of long texts.

        All fields of plain values are read together, those of structs and lists one by one.
        """
        found: dict[Fields, list[Column]] = {}
        for column in columns:
            schema = self.packs.schema(self.objects, column.layer, shard.objects[column.layer])
            name = column.leaf.partition(".")[0]
            if name not in schema.names or _is_long(column.layer, name):
                return None
            plain = tuple(
                one.name for one in schema if not (pa.types.is_nested(one.type) or _is_long(column.layer, one.name))
            )
            found.setdefault((column.layer, plain if name in plain else (name,)), []).append(column)
        return found

    def _packed(self, part: Part, wanted: Iterable[Fields]) -> dict[Fields, pa.RecordBatch]:
        """Some fields of some layers; what is not held is read of one shard after another, and held."""
        keys = list(wanted)
        found = {key: batch for key in keys if (batch := self.packs.find((*key, part))) is not None}
        read: dict[Fields, list[pa.RecordBatch]] = {key: [] for key in keys if key not in found}
        for shard in self.shards[part.first : part.end] if read else ():
            check_cancelled()
            for (layer, fields), batches in read.items():
                some = list(read_batches(self.objects, shard.objects[layer], list(fields)))
                if sum(batch.num_rows for batch in some) != shard.rows:
                    raise StoreError(f"{self.objects.root}: {shard.objects[layer]} has other rows; run 'winnow audit'")
                batches += some
        for key, batches in read.items():
            found[key] = pa.concat_batches(batches)
            self.packs.put((*key, part), found[key])
        return found


def joined(shards: Sequence[ShardObjects]) -> ShardObjects:
    """Shards as one, under the name of the first."""
    shards = tuple(shards)
    starts = np.cumsum([0, *(shard.rows for shard in shards)])
    hidden = [shard.hidden + start for shard, start in zip(shards, starts[:-1], strict=True) if len(shard.hidden)]
    first, every = shards[0], np.concatenate([np.zeros(0, np.int64), *hidden])
    return ShardObjects(first.shard, first.source, int(starts[-1]), first.objects, every)


def _is_long(layer: str, name: str) -> bool:
    """Whether a column may have megbytes in a row, and is not of lists that every view of media reads."""
    return is_wide(f"{layer}.{name}") and name not in ("media", "captions")
