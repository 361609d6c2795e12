"""How many samples an export's files hold, by means that share no code with those that write them (law 3).

A format's `count` says which output a file is of, and counts with what is here.
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

from winnow.pipelines.ingest.counting import count_jsonl, count_parquet
from winnow.pipelines.ingest.records import ReadLimits
from winnow.schemas.errors import ExportError
from winnow.schemas.identity import Json

FILES = "files"

SHARD = r"(?P<output>[a-z][a-z0-9_]*)-\d{5}-of-\d{5}"
"""How the stem of a shard is spelt, with the name of its output."""

_NO_CAP = ReadLimits(max_member_bytes=1 << 62)  # a count holds no more than a block
_STEP = 1 << 20
_BLOCK = 512
_TAR_PLAIN = (b"0", b"\0")
_IDX = struct.Struct("<9sQBQQ")
_ID_BYTES = {4: 4, 8: 2}


@dataclass(frozen=True, slots=True)
class Counted:
    """So many samples of an output, as one file says or holds."""

    output: str
    samples: int
    by: str = FILES  # or what lists them for readers, such as index.json: each adds up to the whole by itself


def output_of(pattern: str, path: str) -> str | None:
    """The output that a file is of, where its path is of the pattern, which has a group of that name."""
    found = re.fullmatch(pattern, path)
    return None if found is None else found["output"]


def parquet_rows(file: Path) -> int:
    """By the footer."""
    with file.open("rb") as stream:
        rows = count_parquet(stream)
    if rows is None:
        raise ExportError("has no footer that can be read")
    return rows


def lines_of(file: Path) -> int:
    """By the newlines of what is decompressed."""
    with file.open("rb") as stream:
        counted = count_jsonl(stream, _NO_CAP)
    if not counted.complete:
        raise ExportError("cannot be decompressed to its end")
    return counted.lines


def tar_samples(file: Path) -> int:
    """By a walk over the headers of a tar: members that share a key and follow one another are a sample."""
    samples, of_all = 0, b""
    key, suffixes = b"", b""
    with file.open("rb") as stream:
        while any(head := stream.read(_BLOCK)):
            name, size = _tar_member(head)
            own, _, suffix = name.partition(b".")
            if not samples or own != key:
                of_all = of_all or suffixes
                if suffixes != of_all:
                    break
                samples, key, suffixes = samples + 1, own, b""
            suffixes += b"." + suffix
            stream.seek(-(-size // _BLOCK) * _BLOCK, 1)
        if suffixes != (of_all or suffixes):
            raise ExportError(f"sample {key.decode(errors='replace')} has other members than its first one")
        if len(head) < _BLOCK or any(stream.read(_BLOCK)):
            raise ExportError("ends without the blocks that end a tar")
    return samples


def _tar_member(head: bytes) -> tuple[bytes, int]:
    try:
        name, size, said = head[:100].partition(b"\0")[0], int(head[124:136].rstrip(b"\0 "), 8), int(head[148:154], 8)
    except ValueError:
        name, size, said = b"", -1, -1
    found = sum(head) - sum(head[148:156]) + 8 * ord(" ")
    if len(head) < _BLOCK or size < 0 or said != found or head[156:157] not in _TAR_PLAIN:
        raise ExportError("has a block that is no header of a file in a tar")
    return name, size


def mds_samples(file: Path) -> int:
    """By the header, whose last offset is the shard's size."""
    with file.open("rb") as raw:
        stream: BinaryIO = raw
        if file.suffix == ".zstd":
            stream = cast(BinaryIO, zstandard.ZstdDecompressor().stream_reader(raw))
        try:
            samples = int.from_bytes(_exactly(stream, 4), "little")
            held = 4
            end = -1
            left = 4 * (samples + 1)
            while left:  # the offsets may be many
                piece = _exactly(stream, min(left, _STEP))
                held, left, end = held + len(piece), left - len(piece), int.from_bytes(piece[-4:], "little")
            while piece := stream.read(_STEP):
                held += len(piece)
        except zstandard.ZstdError as error:
            raise ExportError(f"cannot be decompressed: {error}") from None
    if held != end:
        raise ExportError(f"is of {held:,} bytes, its offsets say {end:,}")
    return samples


def indexed_samples(index: Path, binary: Path) -> int:
    """By the head of a Megatron index, whose lengths add up to the size of the .bin."""
    size = index.stat().st_size
    with index.open("rb") as stream:
        magic, version, code, sequences, documents = _IDX.unpack(_exactly(stream, _IDX.size))
        if magic != b"MMIDIDX\0\0" or version != 1 or code not in _ID_BYTES:
            raise ExportError("is no Megatron index of version 1")
        if documents != sequences + 1 or size != _IDX.size + 12 * sequences + 8 * documents:
            raise ExportError(f"is of {size:,} bytes, with {sequences:,} sequences and {documents:,} documents")
        tokens, left = 0, sequences
        while left:
            lengths = np.frombuffer(_exactly(stream, 4 * min(left, _STEP)), "<i4")
            tokens, left = tokens + int(lengths.sum(dtype=np.int64)), left - len(lengths)
    held = binary.stat().st_size
    if held != tokens * _ID_BYTES[code]:
        raise ExportError(f"says that its .bin holds {tokens:,} tokens; that is of {held:,} bytes")
    return int(sequences)


def json_of(file: Path) -> Mapping[str, Json]:
    """An index or a description that a trainer reads."""
    try:
        found = orjson.loads(file.read_bytes())
    except orjson.JSONDecodeError:
        found = None
    if not isinstance(found, dict):
        raise ExportError("is no JSON object")
    return found


def _exactly(stream: BinaryIO, count: int) -> bytes:
    raw = stream.read(count)
    while len(raw) < count and (more := stream.read(count - len(raw))):
        raw += more
    if len(raw) < count:
        raise ExportError("ends within its header")
    return raw
