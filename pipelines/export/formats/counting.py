"""Counts the samples in an export's files, by code independent of the writers (law 3).

A format's `count` says which output a file belongs to, and counts with these functions.
"""

import re
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, cast

import numpy as np
import orjson
import zstandard

from winnow.pipelines.ingest.records import ReadLimits
from winnow.pipelines.ingest.tiling.counting import count_jsonl, count_parquet
from winnow.schemas.errors import ExportError
from winnow.schemas.identity import Json

FILES = "files"

SHARD = r"(?P<output>[a-z][a-z0-9_]*)-\d{5,}-of-\d{5,}"
"""Pattern of a shard's file stem, with the name of its output."""

_NO_CAP = ReadLimits(max_member_bytes=1 << 62)  # counting holds no more than a block
_STEP = 1 << 20
_BLOCK = 512
_TAR_PLAIN = (b"0", b"\0")
_IDX = struct.Struct("<9sQBQQ")
_ID_BYTES = {4: 4, 8: 2}


@dataclass(frozen=True, slots=True)
class Counted:
    """The number of samples of an output that one file holds or declares."""

    output: str
    samples: int
    by: str = FILES  # or the index that lists them, such as index.json; each must add up to the total


def output_of(pattern: str, path: str) -> str | None:
    """The output that a file belongs to, if its path matches the pattern, which has a group of that name."""
    found = re.fullmatch(pattern, path)
    return None if found is None else found["output"]


def parquet_rows(file: Path) -> int:
    """Counts the rows in the footer."""
    with file.open("rb") as stream:
        rows = count_parquet(stream)
    if rows is None:
        raise ExportError("has no readable footer")
    return rows


def lines_of(file: Path) -> int:
    """Counts the newlines after decompression."""
    with file.open("rb") as stream:
        counted = count_jsonl(stream, _NO_CAP)
    if not counted.complete:
        raise ExportError("cannot be fully decompressed")
    return counted.lines


def tar_samples(file: Path, *, alike: bool = True) -> int:
    """Walks the headers of a tar: successive members that share a key are one sample; all have the same if `alike`."""
    samples, of_all = 0, b""
    key, suffixes = b"", b""
    with file.open("rb") as stream:
        while any(head := stream.read(_BLOCK)):
            name, size = _tar_member(head)
            own, _, suffix = name.partition(b".")
            if not samples or own != key:
                of_all = of_all or suffixes
                if alike and suffixes != of_all:
                    break
                samples, key, suffixes = samples + 1, own, b""
            suffixes += b"." + suffix
            stream.seek(-(-size // _BLOCK) * _BLOCK, 1)
        if alike and suffixes != (of_all or suffixes):
            raise ExportError(f"sample {key.decode(errors='replace')} has different members than the first")
        if len(head) < _BLOCK or any(stream.read(_BLOCK)):
            raise ExportError("lacks the end-of-archive blocks of a tar")
    return samples


def _tar_member(head: bytes) -> tuple[bytes, int]:
    try:
        name, size, said = head[:100].partition(b"\0")[0], int(head[124:136].rstrip(b"\0 "), 8), int(head[148:154], 8)
    except ValueError:
        name, size, said = b"", -1, -1
    found = sum(head) - sum(head[148:156]) + 8 * ord(" ")
    if len(head) < _BLOCK or size < 0 or said != found or head[156:157] not in _TAR_PLAIN:
        raise ExportError("has an invalid tar header")
    return name, size


def mds_samples(file: Path) -> int:
    """Counts by the header, whose last offset is the shard's size."""
    with file.open("rb") as raw:
        stream: BinaryIO = raw
        if file.suffix == ".zstd":
            stream = cast(BinaryIO, zstandard.ZstdDecompressor().stream_reader(raw))
        try:
            samples = int.from_bytes(_exactly(stream, 4), "little")
            held = 4
            end = -1
            left = 4 * (samples + 1)
            while left:  # there may be many offsets
                piece = _exactly(stream, min(left, _STEP))
                held, left, end = held + len(piece), left - len(piece), int.from_bytes(piece[-4:], "little")
            while piece := stream.read(_STEP):
                held += len(piece)
        except zstandard.ZstdError as error:
            raise ExportError(f"cannot be decompressed: {error}") from None
    if held != end:
        raise ExportError(f"has {held:,} bytes, but its offsets say {end:,}")
    return samples


def indexed_samples(index: Path, binary: Path) -> int:
    """Counts by the header of a Megatron index, whose lengths must add up to the size of the .bin."""
    size = index.stat().st_size
    with index.open("rb") as stream:
        magic, version, code, sequences, documents = _IDX.unpack(_exactly(stream, _IDX.size))
        if magic != b"MMIDIDX\0\0" or version != 1 or code not in _ID_BYTES:
            raise ExportError("is not a Megatron index of version 1")
        if documents != sequences + 1 or size != _IDX.size + 12 * sequences + 8 * documents:
            raise ExportError(f"has {size:,} bytes, with {sequences:,} sequences and {documents:,} documents")
        tokens, left = 0, sequences
        while left:
            lengths = np.frombuffer(_exactly(stream, 4 * min(left, _STEP)), "<i4")
            tokens, left = tokens + int(lengths.sum(dtype=np.int64)), left - len(lengths)
    held = binary.stat().st_size
    if held != tokens * _ID_BYTES[code]:
        raise ExportError(f"declares {tokens:,} tokens for its .bin, which has {held:,} bytes")
    return int(sequences)


def json_of(file: Path) -> Mapping[str, Json]:
    """Reads a JSON index or description that trainers use."""
    try:
        found = orjson.loads(file.read_bytes())
    except orjson.JSONDecodeError:
        found = None
    if not isinstance(found, dict):
        raise ExportError("is not a JSON object")
    return found


def _exactly(stream: BinaryIO, count: int) -> bytes:
    raw = stream.read(count)
    while len(raw) < count and (more := stream.read(count - len(raw))):
        raw += more
    if len(raw) < count:
        raise ExportError("ends inside its header")
    return raw
