"""MosaicML's MDS: one folder per output with `shard.00000.mds` and `index.json`; read by `streaming`.

A shard holds the number of samples, their offsets and the end (32 bits each, from the shard's first byte), a JSON
description of the columns, and the samples: the sizes of variable-size columns, then all columns by name.
All bytes, including the index, equal those of streaming's own MDSWriter for the same rows with `size_limit=None`.

Columns: copy (int), and as str, empty where missing: id (hex), text, source, source_class, family, language,
band, licence, url and metadata (JSON). Media are not included.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Literal, TypeAlias

import numpy as np
import pyarrow as pa
import zstandard

from winnow.pipelines.export.formats.columns import as_binary, blocks, count_media, identity_of
from winnow.pipelines.export.formats.counting import Counted, json_of, mds_samples, output_of
from winnow.pipelines.export.formats.protocol import About, Made, ShardName, WrittenShard
from winnow.pipelines.export.formats.tar import binary, buffer_of, joined, sizes_of
from winnow.schemas.errors import ExportError
from winnow.schemas.identity import Json
from winnow.schemas.recipe.checks import Between

HashName: TypeAlias = Literal["blake2b", "blake2s", "md5", "sha1", "sha224", "sha256", "sha384", "sha512"]

Piece: TypeAlias = bytes | pa.Buffer

MAX_BYTES = (1 << 32) - 1  # per shard: offsets have 32 bits

# By name, in the order of a sample.
_COLUMNS: Mapping[str, str] = MappingProxyType(
    {
        "band": "str",
        "copy": "int",
        "family": "str",
        "id": "str",
        "language": "str",
        "licence": "str",
        "metadata": "str",
        "source": "str",
        "source_class": "str",
        "text": "str",
        "url": "str",
    }
)
_FIXED: Mapping[str, int] = MappingProxyType({"int": 8})  # bytes of fixed-size encodings


@dataclass(frozen=True)
class MdsConfig:
    """Options of the format."""

    compression: Literal["none", "zstd"] = "none"
    level: Annotated[int, Between(1, 22)] = 3  # of zstd; MDSWriter's own default
    hashes: tuple[HashName, ...] = ("sha1",)  # of each file, in the index; a reader selects one as `validate_hash`

    def __post_init__(self) -> None:
        if len(set(self.hashes)) != len(self.hashes):
            raise ValueError("'hashes' lists a hash twice")


@dataclass(frozen=True, slots=True)
class Mds:
    """The MDS format."""

    name: str = "mds"
    config: type[MdsConfig] = MdsConfig
    max_shard_bytes: int = MAX_BYTES

    def check(self, config: MdsConfig) -> None:
        """Checks nothing: winnow brings all that is needed."""

    def identity(self, config: MdsConfig) -> Json:
        """The options."""
        compression = _compression(config)
        return {"version": 1, "compression": compression, "hashes": sorted(config.hashes)}

    def write(self, config: MdsConfig, folder: Path, shard: ShardName, rows: Iterator[pa.RecordBatch]) -> Made:
        """Writes one shard, held in memory as a whole because the sizes precede the samples."""
        held: list[pa.Buffer] = []
        sizes = [np.zeros(1, np.int64)]
        left_out = 0
        for batch in rows:
            for block in blocks(batch):
                samples = _samples(block)
                held.append(buffer_of(samples))
                sizes.append(sizes_of(samples))
                left_out += count_media(block)
        ends = np.concatenate(sizes).cumsum()
        description = json.dumps(_description(config), sort_keys=True).encode()
        offsets = ends + 4 + 4 * len(ends) + len(description)
        if offsets[-1] > MAX_BYTES:
            raise ExportError(
                f"{shard.output}: shard {shard.number} has {int(offsets[-1]):_} bytes, but MDS allows less than 4 GiB; "
                "set a smaller shard_bytes"
            )
        head = (len(ends) - 1).to_bytes(4, "little") + offsets.astype("<u4").tobytes() + description
        pieces: list[Piece] = [head, *held]
        name = f"shard.{shard.number:05d}.mds"
        facts: dict[str, Json] = {"raw_data": _file(config, name, pieces), "zip_data": None}
        if config.compression == "zstd":
            name += ".zstd"
            held.clear()
            raw = _in_one(pieces, int(offsets[-1]))  # because zstd's output depends on how its input is split
            pieces = [zstandard.ZstdCompressor(level=config.level).compress(raw)]
            facts["zip_data"] = _file(config, name, pieces)
        path = f"{shard.output}/{name}"
        (folder / shard.output).mkdir()
        with (folder / path).open("xb") as file:
            file.writelines(pieces)
        if left_out:
            facts["media_left_out"] = left_out
        return Made((path,), len(ends) - 1, facts)

    def finish(self, config: MdsConfig, shards: Sequence[WrittenShard], about: About) -> Mapping[str, bytes]:
        """The index of each output."""
        indices: dict[str, bytes] = {}
        for output in about.outputs:
            own = sorted((one for one in shards if one.shard.output == output), key=lambda one: one.shard.number)
            entries = [
                {
                    "samples": one.samples,
                    "raw_data": one.facts["raw_data"],
                    "zip_data": one.facts["zip_data"],
                    **_description(config),
                }
                for one in own
            ]
            if entries:
                indices[f"{output}/index.json"] = json.dumps({"version": 2, "shards": entries}, sort_keys=True).encode()
        return indices

    def count(self, folder: Path, path: str) -> Sequence[Counted]:
        """Counts for the audit: the samples in each shard, and those in the index."""
        output = output_of(r"(?P<output>[^/]+)/shard\.\d{5}\.mds(\.zstd)?", path)
        if output is not None:
            return [Counted(output, mds_samples(folder / path))]
        output = output_of(r"(?P<output>[^/]+)/index\.json", path)
        if output is None:
            return []
        listed = json_of(folder / path).get("shards")
        found = [one.get("samples") for one in listed if isinstance(one, Mapping)] if isinstance(listed, list) else []
        return [Counted(output, sum(int(str(samples)) for samples in found), "index.json")]


def _compression(config: MdsConfig) -> str | None:
    if config.compression == "none":
        return None
    return "zstd" if config.level == 3 else f"zstd:{config.level}"


def _description(config: MdsConfig) -> dict[str, Json]:
    return {
        "version": 2,
        "format": "mds",
        "compression": _compression(config),
        "hashes": sorted(config.hashes),
        "size_limit": None,
        "column_names": list(_COLUMNS),
        "column_encodings": list(_COLUMNS.values()),
        "column_sizes": [_FIXED.get(encoding) for encoding in _COLUMNS.values()],
    }


def _file(config: MdsConfig, name: str, pieces: Sequence[Piece]) -> Json:
    found: dict[str, Json] = {}
    for one in sorted(config.hashes):
        state = hashlib.new(one, usedforsecurity=False)
        for piece in pieces:
            state.update(piece)
        found[one] = state.hexdigest()
    return {"basename": name, "bytes": sum(len(memoryview(piece)) for piece in pieces), "hashes": found}


def _in_one(pieces: list[Piece], length: int) -> bytearray:
    """Joins the pieces of a shard, releasing each in turn so that two copies are never in memory."""
    raw = bytearray(length)
    at = length
    while pieces:
        piece = memoryview(pieces.pop())
        raw[at - len(piece) : at] = piece
        at -= len(piece)
    return raw


def _samples(block: pa.RecordBatch) -> pa.Array:
    """The rows in MDS layout."""
    names, _ = identity_of(block)
    columns = {
        "copy": binary(np.asarray(block.column("copy")).astype("<i8").view(np.uint8).reshape(-1, 8)),
        "id": pa.array(names, pa.large_string()).cast(pa.large_binary()),
    }
    parts = [columns.get(name) if name in columns else as_binary(block.column(name)) for name in _COLUMNS]
    varying = [part for part, kind in zip(parts, _COLUMNS.values(), strict=True) if kind not in _FIXED]
    head = np.stack([sizes_of(part) for part in varying], axis=1).astype("<u4")
    return joined([binary(head.view(np.uint8)), *parts])


FORMAT = Mds()
