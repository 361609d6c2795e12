"""Scratch files with one segment per partition: writing, merging and reading them by range.

    file    := segment* index          partitions ascending
    segment := run*                    origins and numbers ascending
    run     := Arrow IPC stream*       consecutive blocks of one origin, one stream per block
    index   := JSON list of segments

A file's name is its origin and a hash of its index, so a task that runs twice writes the same object twice.
A reader knows each run's length and checksum before it fetches the bytes.
"""

import hashlib
import mmap
import os
import re
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import BinaryIO, NamedTuple

import msgspec
import orjson
import pyarrow as pa
from isal import isal_zlib

from winnow.pipelines.processes.identity import Process
from winnow.pipelines.processes.run_folder import temporary_folder
from winnow.pipelines.running.exchange.totals import ExchangeError, Run
from winnow.pipelines.store.concurrency import map_objects
from winnow.pipelines.store.facade import ObjectStore
from winnow.pipelines.store.local import LocalStore

READ_BYTES = 8 << 20  # adjacent runs are fetched together up to this size
READS_AT_ONCE = 2  # up to five are then held
_LAST_DIGITS = 2  # in which successive origins differ


@dataclass(frozen=True, slots=True)
class PackedBlock:
    """A block waiting for its file: its address without the origin, and the pieces of one IPC stream."""

    partition: int
    number: int
    rows: int
    stream: tuple[bytes | pa.Buffer, ...]

    @property
    def length(self) -> int:
        """The bytes of the stream."""
        return sum(map(len, self.stream))


@dataclass(frozen=True, slots=True)
class StoredRun(Run):
    """A run, with the length and checksum of its bytes."""

    length: int
    checksum: int  # crc32


@dataclass(frozen=True, slots=True)
class Segment:
    """A partition's part of one file."""

    partition: int
    path: str
    offset: int
    runs: tuple[StoredRun, ...]

    def encode(self) -> bytes:
        """Encodes to JSON."""
        return orjson.dumps(self)

    @classmethod
    def decode(cls, encoded: bytes | memoryview) -> "Segment":
        """The inverse of `encode`."""
        return msgspec.json.decode(encoded, type=cls)


@dataclass(frozen=True, slots=True)
class SegmentFile:
    """A reference to a file, all that Beam carries until it is decided whether to merge files."""

    path: str
    origin: str  # for a merged file, the first one
    segments: int
    index_offset: int  # equals the bytes of all segments
    index_length: int
    index_checksum: int

    def encode(self) -> bytes:
        """Encodes to JSON."""
        return orjson.dumps(self)

    @classmethod
    def decode(cls, encoded: bytes) -> "SegmentFile":
        """The inverse of `encode`."""
        return msgspec.json.decode(encoded, type=cls)


def write_file(store: ObjectStore, prefix: str, origin: str, blocks: list[PackedBlock]) -> SegmentFile:
    """Puts one origin's blocks as one file."""
    ordered = sorted(blocks, key=lambda block: (block.partition, block.number))
    segments: list[tuple[int, list[StoredRun]]] = []
    for partition, members in groupby(ordered, key=lambda block: block.partition):
        segments.append((partition, _runs(origin, members)))
    index = _encode_index(segments)
    # The index has the length and checksum of each run, so it stands for them: hashing all bytes of a shuffle costs
    # more than writing them.
    path = _name(prefix, origin, hashlib.blake2b(index, digest_size=16).hexdigest())
    size = sum(block.length for block in ordered)
    descriptor, name = tempfile.mkstemp(dir=store.scratch(), prefix=Process.this().prefix, suffix=".segments")
    try:
        with open(descriptor, "wb") as unfinished:
            unfinished.writelines([*(piece for block in ordered for piece in block.stream), index])
        store.put(path, Path(name))
    finally:
        Path(name).unlink(missing_ok=True)
    return SegmentFile(path, origin, len(segments), size, len(index), isal_zlib.crc32(index))


def read_index(store: ObjectStore, file: SegmentFile) -> list[Segment]:
    """The segments of a file, partitions ascending."""
    index = _read(store, file.path, file.index_offset, file.index_length, file.index_checksum)
    return _segments(file, index)


def _segments(file: SegmentFile, index: bytes) -> list[Segment]:
    segments, offset = [], 0
    for partition, rows in orjson.loads(index):
        runs = tuple(StoredRun(*row) for row in rows)
        segments.append(Segment(partition, file.path, offset, runs))
        offset += sum(run.length for run in runs)
    return segments


class Successive(NamedTuple):
    """Some successive origins."""

    name: str
    before: int  # how many origins come before them, at least


def successive_origins(origin: str) -> Successive:
    """The hundred origins to which one belongs: those that differ in their last two digits."""
    name = origin[:-_LAST_DIGITS]
    number = re.search(r"[0-9]*$", name)
    return Successive(name, 10**_LAST_DIGITS * int(number[0] if number and number[0] else 0))


def plan_merges(
    files: Iterable[SegmentFile], min_segment_bytes: int, merge_above_files: int, fan_in: int
) -> list[list[SegmentFile]]:
    """The files to read as one, in order of origin: each alone unless there are many with small segments.

    `files`: of successive origins. They are many if those before them are.
    """
    ordered = sorted(set(files), key=lambda file: (file.origin, file.path))
    mean = sum(file.index_offset for file in ordered) / max(1, sum(file.segments for file in ordered))
    many = len(ordered) + (successive_origins(ordered[0].origin).before if ordered else 0) > merge_above_files
    if not many or mean >= min_segment_bytes:
        return [[file] for file in ordered]
    together = max(2, min(fan_in, int(-(-min_segment_bytes // mean))))
    return [ordered[start : start + together] for start in range(0, len(ordered), together)]


def merge_files(store: ObjectStore, prefix: str, files: list[SegmentFile]) -> SegmentFile:
    """Merges the files' segments into one file. Opens each once; holds one run in memory at a time."""
    if len(files) == 1:
        return files[0]
    merged: list[tuple[int, list[StoredRun]]] = []
    digest = hashlib.blake2b(digest_size=16)
    with temporary_folder("merge") as folder, ExitStack() as stack:
        unfinished = Path(folder) / "merged"
        opened = map_objects(store, lambda file: _opened(store, file.path), files)
        streams = [stack.enter_context(stream) for stream in opened]
        by_partition = sorted(
            ((segment, which) for which, file in enumerate(files) for segment in _indexed(store, file, streams[which])),
            key=lambda found: (found[0].partition, found[1]),
        )
        with open(unfinished, "wb") as target:
            for partition, members in groupby(by_partition, key=lambda found: found[0].partition):
                runs: list[StoredRun] = []
                for segment, which in members:
                    for run in segment.runs:
                        content = streams[which].read(run.length)
                        _check_bytes(content, run.length, run.checksum, f"{store.root}/{segment.path}")
                        digest.update(content)
                        target.write(content)
                        runs.append(run)
                merged.append((partition, runs))
            size = target.tell()
            index = _encode_index(merged)
            digest.update(index)
            target.write(index)
        path = _name(prefix, files[0].origin, digest.hexdigest())
        store.put(path, unfinished)
    return SegmentFile(path, files[0].origin, len(merged), size, len(index), isal_zlib.crc32(index))


def _indexed(store: ObjectStore, file: SegmentFile, stream: BinaryIO) -> list[Segment]:
    """A file's segments, read from the stream used later, so that a small remote object is fetched once."""
    stream.seek(file.index_offset)
    index = stream.read(file.index_length)
    _check_bytes(index, file.index_length, file.index_checksum, f"{store.root}/{file.path}")
    stream.seek(0)
    return _segments(file, index)


@dataclass(frozen=True, slots=True)
class PlacedRun:
    """A run and the position of its bytes."""

    run: StoredRun
    path: str
    offset: int


def placed_runs(partition: int, segments: Iterable[Segment]) -> list[PlacedRun]:
    """The runs of a partition's segments in order of origin and number; a run stored twice counts once."""
    placed: list[PlacedRun] = []
    for segment in segments:
        offset = segment.offset
        for run in segment.runs:
            placed.append(PlacedRun(run, segment.path, offset))
            offset += run.length
    placed.sort(key=lambda place: (place.run.origin, place.run.first, place.path, place.offset))
    kept: list[PlacedRun] = []
    for place in placed:
        if kept and (kept[-1].run.origin, kept[-1].run.first) == (place.run.origin, place.run.first):
            if kept[-1].run != place.run:
                raise repeated_block(partition, place.run.origin, place.run.first)
            continue
        kept.append(place)
    return kept


def read_runs(store: ObjectStore, placed: list[PlacedRun]) -> Iterator[pa.RecordBatch]:
    """The batches of the runs, in order; adjacent runs share a read, and remote files are prefetched."""

    def read(group: Sequence[PlacedRun]) -> tuple[Sequence[PlacedRun], pa.Buffer]:
        length = sum(place.run.length for place in group)
        return group, _mapped(store, group[0].path, group[0].offset, length)

    for group, content in map_objects(store, read, _neighbours(placed), READS_AT_ONCE):
        for place in group:
            begin = place.offset - group[0].offset
            yield from _decode_run(content[begin : begin + place.run.length], place.run, f"{store.root}/{place.path}")


def _neighbours(placed: Sequence[PlacedRun]) -> Iterator[Sequence[PlacedRun]]:
    """Groups adjacent runs of one file, up to one read."""
    start = 0
    while start < len(placed):
        end, length = start + 1, placed[start].run.length
        while (
            end < len(placed)
            and placed[end].path == placed[start].path
            and placed[end].offset == placed[start].offset + length
            and length + placed[end].run.length <= READ_BYTES
        ):
            length += placed[end].run.length
            end += 1
        yield placed[start:end]
        start = end


def repeated_block(partition: int, origin: str, number: int) -> ExchangeError:
    """The error for two blocks with one address and different rows."""
    return ExchangeError(
        f"partition {partition}: block {number} of {origin!r} arrived twice with different content: two tasks share "
        f"this origin, or one is not deterministic"
    )


def _runs(origin: str, blocks: Iterable[PackedBlock]) -> list[StoredRun]:
    runs: list[StoredRun] = []
    for block in blocks:
        length, rows, first, count, checksum = block.length, block.rows, block.number, 1, 0
        if runs and runs[-1].first + runs[-1].blocks == block.number:
            last = runs.pop()
            length, rows, first = length + last.length, rows + last.rows, last.first
            count, checksum = last.blocks + 1, last.checksum
        for piece in block.stream:
            checksum = isal_zlib.crc32(piece, checksum)
        runs.append(StoredRun(origin, first, count, rows, length, checksum))
    return runs


def _decode_run(content: pa.Buffer, run: StoredRun, where: str) -> Iterator[pa.RecordBatch]:
    _check_bytes(content, run.length, run.checksum, where)
    reader = pa.BufferReader(content)
    while reader.tell() < run.length:
        with pa.ipc.open_stream(reader) as stream:
            yield from stream  # read to its end, which leaves the reader at the next stream


def _encode_index(segments: list[tuple[int, list[StoredRun]]]) -> bytes:
    return orjson.dumps(
        [
            [partition, [[run.origin, run.first, run.blocks, run.rows, run.length, run.checksum] for run in runs]]
            for partition, runs in segments
        ]
    )


def _name(prefix: str, origin: str, digest: str) -> str:
    readable = re.sub(r"[^A-Za-z0-9._-]+", "-", origin).strip(".-")[:48]
    return f"{prefix}/{readable}.{digest}.segments" if readable else f"{prefix}/{digest}.segments"


def _read(store: ObjectStore, path: str, offset: int, length: int, checksum: int | None = None) -> bytes:
    where = f"{store.root}/{path}"
    try:
        content = store.read(path, offset, length)
    except FileNotFoundError:
        raise _lost(where) from None
    _check_bytes(content, length, checksum, where)
    return content


def _mapped(store: ObjectStore, path: str, offset: int, length: int) -> pa.Buffer:
    """A range of a file, mapped if it is on this machine's disk: copying a whole partition costs more than its rows."""
    if isinstance(store, LocalStore) and length:
        with _opened(store, path) as stream:
            start = offset - offset % mmap.ALLOCATIONGRANULARITY
            if offset + length <= os.fstat(stream.fileno()).st_size:
                mapped = mmap.mmap(stream.fileno(), offset + length - start, access=mmap.ACCESS_READ, offset=start)
                return pa.py_buffer(mapped).slice(offset - start, length)
    return pa.py_buffer(_read(store, path, offset, length))


def _opened(store: ObjectStore, path: str) -> BinaryIO:
    try:
        return store.open(path)
    except FileNotFoundError:
        raise _lost(f"{store.root}/{path}") from None


def _lost(where: str) -> ExchangeError:
    return ExchangeError(f"{where}: a scratch file of the exchange is missing; run the stage again")


def _check_bytes(content: bytes | pa.Buffer, length: int, checksum: int | None, where: str) -> None:
    if len(content) != length:
        raise ExchangeError(
            f"{where}: expected {length} bytes of a segment, found {len(content)}: the scratch file is truncated; "
            f"run the stage again"
        )
    if checksum is not None and isal_zlib.crc32(content) != checksum:
        raise ExchangeError(f"{where}: the scratch file has changed since it was written; run the stage again")
