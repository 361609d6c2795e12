"""Parquet in Hugging Face's layout: `data/train-00000-of-00012.parquet`, which `datasets` finds by name.

Columns: id (hexadecimal), text, source, class, language, family, band (where the mixture has bands), licence, url,
metadata (canonical JSON), copy. With `media` also captions, and the media in Hugging Face's way: `image`, a struct of
bytes and path; `images`, a list of them; `video`; `audio`; and sha256, width, height, original_width, original_height
of each. The files' schema says so to `datasets`. Row groups are bounded in rows and bytes, so that streaming needs
little memory.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Annotated

import pyarrow as pa
import pyarrow.parquet as pq

from winnow.pipelines.export.formats.columns import table_columns
from winnow.pipelines.export.formats.counting import SHARD, Counted, output_of, parquet_rows
from winnow.pipelines.export.formats.protocol import ExportFormat, Made, ShardName
from winnow.pipelines.export.formats.wanted_media import (
    MediaOptions,
    contents,
    filled_texts,
    large_apart,
    listed,
    media_facts,
    media_names,
)
from winnow.schemas.identity import Json, canonical_json
from winnow.schemas.recipe.checks import Between

_REPEATED = ["source", "class", "language", "family", "band", "licence"]
"""Columns with few values, the only ones worth trying a dictionary for."""
_ORDERED = ["copy", *_REPEATED]
"""Columns whose minimum and maximum are useful to a reader."""


_HUGGING_FACE = b"huggingface"
"""The key of what `datasets` is told of the columns. Without Arrow's own schema, nothing is written of it by itself."""


@dataclass(frozen=True)
class ParquetConfig(MediaOptions):
    """How the files are written."""

    level: Annotated[int, Between(1, 22)] = 1  # of zstd; pyarrow's default
    row_group_rows: Annotated[int, Between(1, 1 << 20)] = 16_384
    row_group_bytes: Annotated[int, Between(1 << 16, 1 << 30)] = 64 << 20  # in memory


class Parquet(ExportFormat):
    """The Parquet format."""

    name = "parquet"
    config = ParquetConfig

    def identity(self, config: ParquetConfig) -> Json:
        """The options."""
        own = {
            "level": config.level,
            "row_group_rows": config.row_group_rows,
            "row_group_bytes": config.row_group_bytes,
        }
        return {**own, **config.identity()}

    def write(self, config: ParquetConfig, folder: Path, shard: ShardName, rows: Iterator[pa.RecordBatch]) -> Made:
        """Writes one file."""
        path = f"data/{shard.stem()}.parquet"
        (folder / "data").mkdir()
        samples = groups = 0
        features: dict[str, Json] = {}
        described: Mapping[bytes, bytes] = {}
        writer: pq.ParquetWriter | None = None
        try:
            for group in _groups(rows, config):
                if writer is None:
                    writer = _writer(folder / path, group.schema, config)
                    described = group.schema.metadata or {}
                    features = {field.name: str(field.type) for field in group.schema}
                writer.write_table(group, row_group_size=group.num_rows)
                samples += group.num_rows
                groups += 1
        finally:
            if writer is not None:
                if config.wants_media:
                    writer.add_key_value_metadata({_HUGGING_FACE: described[_HUGGING_FACE]})
                writer.close()
        return Made((path,), samples, {"features": features, "row_groups": groups})

    def count(self, folder: Path, path: str) -> Sequence[Counted]:
        """Counts rows for the audit, by footers."""
        output = output_of(rf"data/{SHARD}\.parquet", path)
        return [] if output is None else [Counted(output, parquet_rows(folder / path))]


def _with_media(batch: pa.RecordBatch, config: ParquetConfig) -> pa.RecordBatch:
    """The columns with captions and media, and what they are to Hugging Face's readers."""
    table = table_columns(batch)
    columns: dict[str, pa.Array] = dict(zip(table.schema.names, table.columns, strict=True))
    columns["text"] = filled_texts(batch, config)
    items = batch.column("media").flatten()
    paths = pa.array(media_names(batch, config), pa.string())
    media = pa.StructArray.from_arrays([contents(items), paths], names=["bytes", "path"])
    columns["captions"] = batch.column("captions")
    columns[config.column] = listed(media, batch.column("media")) if config.many else media
    columns |= media_facts(batch, config)
    found = pa.RecordBatch.from_pydict(columns)
    features = {field.name: _feature(field.type) for field in found.schema}
    assert config.kind is not None
    one: Json = {"_type": config.kind.feature}
    features[config.column] = [one] if config.many else one
    described = {"info": {"features": features}}
    return found.replace_schema_metadata({_HUGGING_FACE: canonical_json(described)})


def _feature(kind: pa.DataType) -> Json:
    """A type as Hugging Face's `datasets` describes it."""
    if pa.types.is_list(kind):
        return [_feature(kind.value_type)]
    if pa.types.is_struct(kind):
        return {field.name: _feature(field.type) for field in kind}
    return {"_type": "Value", "dtype": "string" if pa.types.is_large_string(kind) else str(kind)}


def _writer(path: Path, schema: pa.Schema, config: ParquetConfig) -> pq.ParquetWriter:
    return pq.ParquetWriter(
        path,
        schema,
        compression="zstd",
        compression_level=config.level,
        use_dictionary=[name for name in _REPEATED if name in schema.names],
        write_statistics=[name for name in _ORDERED if name in schema.names],
        write_page_checksum=True,
        store_schema=False,  # so that texts are read as string, not as large_string
    )


def _groups(rows: Iterator[pa.RecordBatch], config: ParquetConfig) -> Iterator[pa.Table]:
    """The rows as tables of one row group each, which ends at the first batch that reaches a bound."""
    held: list[pa.RecordBatch] = []
    count = size = 0
    for batch in chain.from_iterable(map(large_apart, rows)) if config.wants_media else rows:
        columns = _with_media(batch, config) if config.wants_media else table_columns(batch)
        while columns.num_rows:
            head = columns.slice(0, config.row_group_rows - count)
            columns = columns.slice(head.num_rows)
            held.append(head)
            count += head.num_rows
            size += head.nbytes
            if count >= config.row_group_rows or size >= config.row_group_bytes:
                yield pa.Table.from_batches(held)
                held, count, size = [], 0, 0
    if held:
        yield pa.Table.from_batches(held)


FORMAT = Parquet()
