"""What lies in an export, read by the layouts alone: nothing of winnow's formats is used but two readers of tests.

Each gives, by output, the shards in order, and of each the samples in order: (id, copy, text).
"""

import io
import json
import re
import struct
import tarfile
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import zstandard

from tests.pipelines.export.formats.test_megatron import documents

Sample = tuple[str, int, str]
Shards = dict[str, list[list[Sample]]]


def parquet(folder: Path) -> Shards:
    return _by_name(folder / "data", "*.parquet", lambda file: _of_rows(pq.read_table(file).to_pylist()))


def jsonl(folder: Path) -> Shards:
    def lines(file: Path) -> list[Sample]:
        with zstandard.open(file, "rt", encoding="utf-8") as stream:
            return _of_rows([json.loads(line) for line in stream])

    return _by_name(folder, "*.jsonl.zst", lines)


def webdataset(folder: Path) -> Shards:
    def members(file: Path) -> list[Sample]:
        with tarfile.open(file) as archive:
            texts = [
                (name, archive.extractfile(name).read().decode())  # type: ignore[union-attr]
                for name in archive.getnames()
                if name.endswith(".txt")
            ]
        keys = [(*name.removesuffix(".txt").split("-"), text) for name, text in texts]
        return [(identity, int(copy), text) for identity, copy, text in keys]

    return _by_name(folder, "*.tar", members)


def mds(folder: Path) -> Shards:
    """By MDS's layout: of each sample the sizes of the columns of varying size, and then all columns by name."""

    def samples(file: Path, entry: Mapping[str, Any]) -> list[Sample]:
        raw = file.read_bytes()
        (count,) = struct.unpack_from("<I", raw)
        offsets = struct.unpack_from(f"<{count + 1}I", raw, 4)
        found = []
        for begin in offsets[:-1]:
            stream = io.BytesIO(raw[begin:])
            sizes = [size or struct.unpack("<I", stream.read(4))[0] for size in entry["column_sizes"]]
            row = dict(zip(entry["column_names"], (stream.read(size) for size in sizes), strict=True))
            found.append((row["id"].decode(), struct.unpack("<q", row["copy"])[0], row["text"].decode()))
        return found

    shards: Shards = {}
    for index in sorted(folder.glob("*/index.json")):
        entries = json.loads(index.read_bytes())["shards"]
        shards[index.parent.name] = [samples(index.parent / one["raw_data"]["basename"], one) for one in entries]
    return shards


def arrayrecord(folder: Path) -> Shards:
    """A record is a `tf.train.Example`: fields are looked for by their names, with no library of protocol buffers."""
    from array_record.python.array_record_module import ArrayRecordReader

    def feature(record: bytes, name: bytes, kind: int) -> bytes:
        at = record.index(bytes([0x0A, len(name)]) + name + b"\x12") + 2 + len(name)
        _, at = _varint(record, at + 1)  # of the feature
        assert record[at] == kind << 3 | 2
        _, at = _varint(record, at + 1)  # of its list
        assert record[at] == 0x0A
        size, at = _varint(record, at + 1)  # of its only value
        return record[at : at + size]

    def records(file: Path) -> list[Sample]:
        reader = ArrayRecordReader(str(file))
        raw = [reader.read([number])[0] for number in range(reader.num_records())]
        reader.close()
        return [
            (feature(one, b"id", 1).decode(), feature(one, b"copy", 3)[0], feature(one, b"text", 1).decode())
            for one in raw
        ]

    shards: Shards = {}
    for file in sorted(folder.glob("mixture/1.0.0/*.array_record-*")):
        (output,) = re.findall(r"^mixture-(\w+)\.", file.name)
        shards.setdefault(output, []).append(records(file))
    return shards


def megatron(folder: Path) -> dict[str, list[list[str]]]:
    """Megatron's datasets hold no ids: the texts alone."""
    shards: dict[str, list[list[str]]] = {}
    for file in sorted(folder.glob("*.idx")):
        output = file.name.partition("_")[0]
        found = documents(file.with_suffix(""))
        assert {tokens[-1] for tokens in found} == {256}
        shards.setdefault(output, []).append([bytes(tokens[:-1]).decode() for tokens in found])
    return shards


READERS: Mapping[str, Callable[[Path], Shards]] = {
    "parquet": parquet,
    "jsonl": jsonl,
    "webdataset": webdataset,
    "mds": mds,
    "arrayrecord": arrayrecord,
}


def _of_rows(rows: Iterable[Mapping[str, object]]) -> list[Sample]:
    return [(str(row["id"]), int(str(row["copy"])), str(row["text"])) for row in rows]


def _by_name(folder: Path, pattern: str, read: Callable[[Path], list[Sample]]) -> Shards:
    shards: Shards = {}
    for file in sorted(folder.glob(pattern)):
        shards.setdefault(file.name.split("-")[0], []).append(read(file))
    return shards


def _varint(raw: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        value |= (raw[at] & 0x7F) << shift
        shift += 7
        at += 1
        if not raw[at - 1] & 0x80:
            return value, at
