"""MosaicML's MDS: one folder per output with `shard.00000.mds` and `index.json`; read by `streaming`.

A shard holds the number of samples, their offsets and the end (32 bits each, from the shard's first byte), a JSON
description of the columns, and the samples: the sizes of variable-size columns, then all columns by name.
All bytes, including the index, equal those of streaming's own MDSWriter for the same rows with `size_limit=None`.

Columns: copy (int), and as str, empty where missing: id (hex), text, source, source_class, family, language,
band, licence, url and metadata (JSON). With `media` also captions (JSON), and the media: `image` as jpeg or png, which
is how readers open any picture, `images` as a list of them, `video` and `audio` as bytes.
"""

import hashlib
import itertools
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Final, Literal, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import zstandard

from winnow.pipelines.export.formats.columns import as_binary, blocks, captions_in_json, count_media, identity_of
from winnow.pipelines.export.formats.counting import Counted, json_of, mds_samples, output_of
from winnow.pipelines.export.formats.protocol import About, ExportFormat, Made, ShardName, WrittenShard
from winnow.pipelines.export.formats.tar import binary, buffer_of, joined, sizes_of
from winnow.pipelines.export.formats.wanted_media import MediaOptions, contents, filled_texts, in_pieces
from winnow.schemas.errors import ExportError, RecipeError
from winnow.schemas.identity import Json
from winnow.schemas.recipe.checks import Between

HashName: TypeAlias = Literal["blake2b", "blake2s", "md5", "sha1", "sha224", "sha256", "sha384", "sha512"]

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
class MdsConfig(MediaOptions):
    """Options of the format."""

    compression: Literal["none", "zstd"] = "none"
    level: Annotated[int, Between(1, 22)] = 3  # of zstd; MDSWriter's own default
    hashes: tuple[HashName, ...] = ("sha1",)  # of each file, in the index; a reader selects one as `validate_hash`

    def __post_init__(self) -> None:
        super().__post_init__()
        if len(set(self.hashes)) != len(self.hashes):
            raise ValueError("'hashes' lists a hash twice")

    @property
    def columns(self) -> Mapping[str, str]:
        """The encoding of each column, by name."""
        if self.kind is None:
            return _COLUMNS
        encoding = "bytes"
        if self.kind.feature == "Image":
            one = "png" if self.suffix == "png" else "jpeg"  # either opens any picture
            encoding = f"list[{one}]" if self.many else one
        return dict(sorted({**_COLUMNS, "captions": "str", self.column: encoding}.items()))


class Mds(ExportFormat):
    """The MDS format."""

    name = "mds"
    config = MdsConfig
    max_shard_bytes = MAX_BYTES

    def check(self, config: MdsConfig) -> None:
        """Raises RecipeError if the packages that change pictures are missing, or the installed reader is too old."""
        config.require_packages()
        reader = _reader_version() if config.many else None
        if reader is not None and reader < _READS_LISTS:
            raise RecipeError(
                f"several pictures a sample are written as {config.columns[config.column]}, which the installed "
                f"mosaicml-streaming {'.'.join(map(str, reader))} cannot read; run: pip install "
                f"'mosaicml-streaming>={'.'.join(map(str, _READS_LISTS))}', or write parquet"
            )

    def identity(self, config: MdsConfig) -> Json:
        """The options."""
        compression = _compression(config)
        return {"version": 1, "compression": compression, "hashes": sorted(config.hashes), **config.identity()}

    def write(self, config: MdsConfig, folder: Path, shard: ShardName, rows: Iterator[pa.RecordBatch]) -> Made:
        """Writes one shard; its samples first lie in a file of their own, as the sizes precede them."""
        sizes = [np.zeros(1, np.int64)]
        left_out = 0
        body = folder / "samples"
        with body.open("xb") as file:
            for batch in rows:
                for block in blocks(batch):
                    samples = _samples(block, config)
                    file.write(buffer_of(samples))
                    sizes.append(sizes_of(samples))
                    left_out += 0 if config.wants_media else count_media(block)
        ends = np.concatenate(sizes).cumsum()
        description = json.dumps(_description(config), sort_keys=True).encode()
        offsets = ends + 4 + 4 * len(ends) + len(description)
        if offsets[-1] > MAX_BYTES:
            body.unlink()
            raise ExportError(
                f"{shard.output}: shard {shard.number} has {int(offsets[-1]):_} bytes, but MDS allows less than 4 GiB; "
                "set a smaller shard_bytes"
            )
        head = (len(ends) - 1).to_bytes(4, "little") + offsets.astype("<u4").tobytes() + description
        name = f"shard.{shard.number:05d}.mds"  # with more digits only where it needs them, as MDSWriter's
        path = folder / shard.output / name
        path.parent.mkdir()
        facts: dict[str, Json] = {"raw_data": _file(config, path, itertools.chain([head], in_pieces(str(body))))}
        facts["zip_data"] = None
        body.unlink()
        if config.compression == "zstd":
            raw = path.read_bytes()  # as a whole, because zstd's output depends on how its input is split
            path.unlink()
            path = path.with_name(f"{name}.zstd")
            facts["zip_data"] = _file(config, path, [zstandard.ZstdCompressor(level=config.level).compress(raw)])
        if left_out:
            facts["media_left_out"] = left_out
        return Made((f"{shard.output}/{path.name}",), len(ends) - 1, facts)

    def finish(self, config: MdsConfig, shards: Sequence[WrittenShard], about: About) -> Mapping[str, bytes]:
        """The index of each output."""
        indices: dict[str, bytes] = {}
        for output in about.outputs:
            own = sorted((shard for shard in shards if shard.shard.output == output), key=lambda one: one.shard.number)
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
        output = output_of(r"(?P<output>[^/]+)/shard\.\d{5,}\.mds(\.zstd)?", path)
        if output is not None:
            return [Counted(output, mds_samples(folder / path))]
        output = output_of(r"(?P<output>[^/]+)/index\.json", path)
        if output is None:
            return []
        listed = json_of(folder / path).get("shards")
        found = [one.get("samples") for one in listed if isinstance(one, Mapping)] if isinstance(listed, list) else []
        return [Counted(output, sum(int(str(samples)) for samples in found), "index.json")]


_READS_LISTS: Final = (0, 12)  # the first version of mosaicml-streaming that has lists of pictures


def _reader_version() -> tuple[int, ...] | None:
    """The first two numbers of the installed reader's version; None if there is none here."""
    try:
        installed = version("mosaicml-streaming")
    except PackageNotFoundError:
        return None
    return tuple(int(number) for number in re.findall(r"\d+", installed)[:2])


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
        "column_names": list(config.columns),
        "column_encodings": list(config.columns.values()),
        "column_sizes": [_FIXED.get(encoding) for encoding in config.columns.values()],
    }


def _file(config: MdsConfig, path: Path, pieces: Iterable[bytes]) -> Json:
    """Writes a file; what the index says of it."""
    states = {one: hashlib.new(one, usedforsecurity=False) for one in sorted(config.hashes)}
    size = 0
    with path.open("xb") as file:
        for piece in pieces:
            file.write(piece)
            size += len(piece)
            for state in states.values():
                state.update(piece)
    hashes: dict[str, Json] = {one: state.hexdigest() for one, state in states.items()}
    return {"basename": path.name, "bytes": size, "hashes": hashes}


def _samples(block: pa.RecordBatch, config: MdsConfig) -> pa.Array:
    """The rows in MDS layout."""
    names, _ = identity_of(block)
    columns = {
        "copy": binary(np.asarray(block.column("copy")).astype("<i8").view(np.uint8).reshape(-1, 8)),
        "id": pa.array(names, pa.large_string()).cast(pa.large_binary()),
        "text": as_binary(filled_texts(block, config)),
    }
    if config.wants_media:
        media = block.column("media")
        found = contents(media.flatten())
        columns["captions"] = pa.array(captions_in_json(block), pa.large_string()).cast(pa.large_binary())
        columns[config.column] = _lists(found, media) if config.many else found
    parts = [columns[name] if name in columns else as_binary(block.column(name)) for name in config.columns]
    varying = [part for part, kind in zip(parts, config.columns.values(), strict=True) if kind not in _FIXED]
    head = np.stack([sizes_of(part) for part in varying], axis=1).astype("<u4")
    return joined([binary(head.view(np.uint8)), *parts])


def _lists(found: pa.LargeBinaryArray, media: pa.ListArray) -> pa.Array:
    """Streaming's lists: a zero, the number of items, the size of each, and the items. Row by row: items are large."""
    values: list[bytes] = []
    start = 0
    for count in pc.list_value_length(media).to_pylist():
        items = found.slice(start, count).to_pylist()
        values.append(np.array([0, count, *map(len, items)], "<u4").tobytes() + b"".join(items))
        start += count
    return pa.array(values, pa.large_binary())


FORMAT = Mds()
