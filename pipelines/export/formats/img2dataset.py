"""Pairs of pictures and captions in img2dataset's layout: `train/00000.tar`, `00000.parquet` and `00000_stats.json`.

In a tar a sample is `<key>.jpg`, `<key>.json` and `<key>.txt`, its text or caption. A key is the shard's number and the
sample's in it, as img2dataset numbers them. The Parquet file has the same facts without the picture: `url`, `caption`,
`key`, `status`, `error_message`, `width`, `height`, `original_width`, `original_height`, `sha256`, as there; and what
winnow knows besides: `id`, `copy`, `source`, `language`, `licence`, and `captions`, all with their origins and
languages. The statistics count what was written, with times of 0: the same rows give the same bytes.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import BinaryIO, Final

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from winnow.pipelines.export.formats.columns import as_binary, blocks, identity_of, sample_name
from winnow.pipelines.export.formats.counting import Counted, json_of, output_of, parquet_rows, tar_samples
from winnow.pipelines.export.formats.protocol import ExportFormat, Made, ShardName, WrittenShard
from winnow.pipelines.export.formats.tar import MAX_MEMBER, end, sizes_of, write_samples
from winnow.pipelines.export.formats.wanted_media import (
    KINDS,
    MediaKind,
    MediaOptions,
    WantedMedia,
    contents,
    filled_texts,
    large_apart,
)
from winnow.pipelines.export.formats.webdataset import notes_without_text
from winnow.schemas.errors import ExportError
from winnow.schemas.identity import Json
from winnow.schemas.rows.samples import CAPTION

_FILE: Final = r"(?P<output>[a-z][a-z0-9_]*)/\d{5,}"
_STATS: Final = "_stats.json"
_SUCCESS: Final = "success"
_TABLE = pa.schema(
    [
        pa.field("url", pa.string()),
        pa.field("caption", pa.string()),
        pa.field("key", pa.string()),
        pa.field("status", pa.string()),
        pa.field("error_message", pa.string()),
        *(pa.field(name, pa.int32()) for name in ("width", "height", "original_width", "original_height")),
        pa.field("sha256", pa.string()),
        pa.field("id", pa.string()),
        pa.field("copy", pa.int32()),
        *(pa.field(name, pa.string()) for name in ("source", "language", "licence")),
        pa.field("captions", pa.list_(pa.field("item", CAPTION))),
    ]
)


@dataclass(frozen=True)
class Img2datasetConfig(MediaOptions):
    """Options of the format."""

    media: MediaKind = "image"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.many or self.kind is None or self.kind.feature != "Image":
            pictures = ", ".join(name for name, kind in KINDS.items() if kind.feature == "Image" and name != "images")
            raise ValueError(f"a pair has one picture, not media: {self.media}; write one of {pictures}")


class Img2dataset(ExportFormat):
    """img2dataset's layout."""

    name = "img2dataset"
    config = Img2datasetConfig

    def identity(self, config: Img2datasetConfig) -> Json:
        """The options."""
        return {"version": 1, **config.identity()}

    def wanted_media(self, config: Img2datasetConfig) -> WantedMedia | None:
        """The requirement on every sample: one picture, and no other choice."""
        wanted = config.wanted()
        return None if wanted is None else replace(wanted, fixed=True)

    def write(self, config: Img2datasetConfig, folder: Path, shard: ShardName, rows: Iterator[pa.RecordBatch]) -> Made:
        """Writes one tar, its table and its statistics; the table is held until the tar is complete."""
        stem = f"{shard.output}/{shard.digits}"
        (folder / shard.output).mkdir()
        tables: list[pa.RecordBatch] = []
        samples = size = without = 0
        with (folder / f"{stem}.tar").open("xb") as file:
            for batch in rows:
                for block in (part for one in blocks(batch) for part in large_apart(one)):
                    table = _table(config, block, shard.digits, samples)
                    size += _write(config, block, table, file)
                    tables.append(table)
                    samples += len(block)
                    without += table.column("caption").null_count
            file.write(end(size))
        pq.write_table(pa.Table.from_batches(tables, _TABLE), folder / f"{stem}.parquet", compression="zstd")
        (folder / f"{stem}{_STATS}").write_bytes(_statistics(samples))
        files = tuple(f"{stem}{suffix}" for suffix in (".tar", ".parquet", _STATS))
        return Made(files, samples, {"without_text": without} if without else {})

    def notes(self, _: Img2datasetConfig, shards: Sequence[WrittenShard]) -> Sequence[str]:
        """Reports, for each output, the samples without a caption."""
        return notes_without_text(shards)

    def count(self, folder: Path, path: str) -> Sequence[Counted]:
        """Counts for the audit: samples in each tar, rows of each table, and what the statistics say."""
        for suffix, how in ((".tar", tar_samples), (".parquet", parquet_rows), (_STATS, _counted)):
            output = output_of(f"{_FILE}{re.escape(suffix)}", path)
            if output is not None:
                samples = how(folder / path)
                return [Counted(output, samples) if suffix == ".tar" else Counted(output, samples, f"*{suffix}")]
        return []


def _table(config: Img2datasetConfig, block: pa.RecordBatch, digits: str, first: int) -> pa.RecordBatch:
    """What is known of each pair."""
    items = block.column("media").flatten()
    ids, copies = identity_of(block)
    count = len(block)
    columns = {name: pc.struct_field(items, name) for name in _TABLE.names if name in items.type.names}
    columns |= {name: block.column(name) for name in ("url", "source", "language", "licence", "captions")}
    columns |= {
        "caption": filled_texts(block, config),
        "key": pa.array([f"{digits}{first + row:04d}" for row in range(count)]),
        "status": pa.array([_SUCCESS] * count),
        "error_message": pa.nulls(count, pa.string()),
        "id": pa.array(ids),
        "copy": pa.array(copies),
    }
    return pa.RecordBatch.from_arrays([columns[field.name].cast(field.type) for field in _TABLE], schema=_TABLE)


def _write(config: Img2datasetConfig, block: pa.RecordBatch, table: pa.RecordBatch, file: BinaryIO) -> int:
    """Writes the members of some pairs; returns their bytes."""
    media = block.column("media")
    wanted = FORMAT.wanted_media(config)
    assert wanted is not None
    wrong = np.flatnonzero(np.asarray(pc.list_value_length(media)) != 1)
    if not len(wrong) and not config.changes.encodes:  # else they are of another type than in the store
        wrong = wanted.misfits(media)
    if len(wrong):
        row = int(wrong[0])
        told = f"{sample_name(block, row)} has {wanted.has(media[row])}; {wanted.expected}: {wanted.remedy}"
        raise ExportError(told)
    pictures = contents(media.flatten())
    if len(pictures) and int(sizes_of(pictures).max()) > MAX_MEMBER:
        row = int(np.argmax(sizes_of(pictures)))
        raise ExportError(f"{sample_name(block, row)}: its picture is larger than 8 GiB, the limit of a tar")
    said = pa.array([orjson.dumps(row) for row in table.to_pylist()], pa.large_binary())
    held = pa.concat_arrays([pictures, said, as_binary(table.column("caption"))])
    count = len(block)
    keys = table.column("key").to_pylist()
    names = [f"{key}.{suffix}".encode() for key in keys for suffix in (config.suffix, "json", "txt")]
    order = np.arange(3 * count).reshape(3, count).T.reshape(-1)
    return int(write_samples(file, names, held.take(pa.array(order)), np.full(count, 3)).sum())


def _statistics(samples: int) -> bytes:
    """The statistics of a shard, as img2dataset's logger reads them."""
    said: dict[str, Json] = {
        "count": samples,
        "successes": samples,
        "failed_to_download": 0,
        "failed_to_resize": 0,
        "duration": 0.0,
        "start_time": 0.0,
        "end_time": 0.0,
        "status_dict": {_SUCCESS: samples},
    }
    return orjson.dumps(said, option=orjson.OPT_INDENT_2)


def _counted(file: Path) -> int:
    return int(str(json_of(file).get("successes")))


FORMAT = Img2dataset()
