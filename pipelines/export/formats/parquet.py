"""Parquet in Hugging Face's layout: `data/train-00000-of-00012.parquet`, which `datasets` finds by name.

Columns: id (hexadecimal), text, source, class, language, family, band (where the mixture has bands), licence, url,
metadata (canonical JSON), copy. Row groups are bounded in rows and bytes, so that streaming needs little memory.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated

import pyarrow as pa
import pyarrow.parquet as pq

from winnow.pipelines.export.formats.columns import table_columns
from winnow.pipelines.export.formats.counting import SHARD, Counted, output_of, parquet_rows
from winnow.pipelines.export.formats.protocol import About, Made, ShardName, WrittenShard
from winnow.schemas.identity import Json
from winnow.schemas.recipe.checks import Between

_REPEATED = ["source", "class", "language", "family", "band", "licence"]
"""Columns with few values, the only ones worth trying a dictionary for."""
_ORDERED = ["copy", *_REPEATED]
"""Columns whose minimum and maximum are useful to a reader."""


@dataclass(frozen=True)
class ParquetConfig:
    """How the files are written."""

    level: Annotated[int, Between(1, 22)] = 1  # of zstd; pyarrow's default
    row_group_rows: Annotated[int, Between(1, 1 << 20)] = 16_384
    row_group_bytes: Annotated[int, Between(1 << 16, 1 << 30)] = 64 << 20  # in memory


class Parquet:
    """The Parquet format."""

    name = "parquet"
    config = ParquetConfig

    def check(self, config: ParquetConfig) -> None:
        """Checks nothing further."""

    def identity(self, config: ParquetConfig) -> Json:
        """The options."""
        return asdict(config)

    def write(self, config: ParquetConfig, folder: Path, shard: ShardName, rows: Iterator[pa.RecordBatch]) -> Made:
        """Writes one file."""
        path = f"data/{shard.stem()}.parquet"
        (folder / "data").mkdir()
        samples = groups = 0
        features: dict[str, Json] = {}
        writer: pq.ParquetWriter | None = None
        try:
            for group in _groups(rows, config):
                if writer is None:
                    writer = _writer(folder / path, group.schema, config)
                    features = {field.name: str(field.type) for field in group.schema}
                writer.write_table(group, row_group_size=group.num_rows)
                samples += group.num_rows
                groups += 1
        finally:
            if writer is not None:
                writer.close()
        return Made((path,), samples, {"features": features, "row_groups": groups})

    def finish(
        self,
        config: ParquetConfig,  # noqa: ARG002, of the protocol
        shards: Sequence[WrittenShard],  # noqa: ARG002
        about: About,  # noqa: ARG002
    ) -> Mapping[str, bytes]:
        """Writes nothing: the card says which files belong to which split."""
        return {}

    def count(self, folder: Path, path: str) -> Sequence[Counted]:
        """Counts rows for the audit, by footers."""
        output = output_of(rf"data/{SHARD}\.parquet", path)
        return [] if output is None else [Counted(output, parquet_rows(folder / path))]


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
    for batch in rows:
        columns = table_columns(batch)
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
