"""JSON lines: `train-00000-of-00012.jsonl.zst`, one object per sample, with the columns of the Parquet export.

`metadata` is an object here, not a string.
"""

import gzip
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import BinaryIO, Literal, cast

import orjson
import pyarrow as pa
import zstandard

from winnow.pipelines.export.formats.columns import table_columns
from winnow.pipelines.export.formats.counting import SHARD, Counted, lines_of, output_of
from winnow.pipelines.export.formats.protocol import ExportFormat, Made, ShardName
from winnow.schemas.identity import Json

_LEVELS = {"zstd": 3, "gzip": 6}
SUFFIXES = {"zstd": ".zst", "gzip": ".gz", "none": ""}
_WRITE_BYTES = 1 << 20


@dataclass(frozen=True)
class JsonlConfig:
    """Compression of the files."""

    compression: Literal["zstd", "gzip", "none"] = "zstd"


class Jsonl(ExportFormat):
    """The JSON lines format."""

    name = "jsonl"
    config = JsonlConfig

    def identity(self, config: JsonlConfig) -> Json:
        """The options."""
        return asdict(config)

    def write(self, config: JsonlConfig, folder: Path, shard: ShardName, rows: Iterator[pa.RecordBatch]) -> Made:
        """Writes one file."""
        path = f"{shard.stem()}.jsonl{SUFFIXES[config.compression]}"
        samples = size = 0
        dtypes: list[Json] = []
        with open(folder / path, "wb") as file, compressed(file, config.compression) as stream:
            for batch in rows:
                for lines in _lines(batch):
                    stream.write(lines)
                    size += len(lines)
                samples += batch.num_rows
                dtypes = dtypes or _dtypes(batch)
        return Made((path,), samples, {"bytes": size, "dtypes": dtypes})

    def count(self, folder: Path, path: str) -> Sequence[Counted]:
        """Counts lines for the audit."""
        output = output_of(rf"{SHARD}\.jsonl(\.zst|\.gz)?", path)
        return [] if output is None else [Counted(output, lines_of(folder / path))]


def _dtypes(batch: pa.RecordBatch) -> list[Json]:
    """Each column and its Hugging Face type, for the card.

    Its reader guesses types from the first ten megabytes; a column that is null there, or whose metadata has one shape
    there and another later, could not be read at all.
    """
    schema = table_columns(batch.slice(0, 0)).schema
    return [
        [field.name, "json" if field.name == "metadata" else str(field.type).removeprefix("large_")] for field in schema
    ]


def _lines(batch: pa.RecordBatch) -> Iterator[bytes]:
    """The lines of a batch, about one mebibyte at a time."""
    table = table_columns(batch)
    names = table.schema.names
    values = [column.to_pylist() for column in table.columns]
    values[names.index("metadata")] = [orjson.Fragment(one) for one in values[names.index("metadata")]]
    held: list[bytes] = []
    size = 0
    # A loop over rows: JSON is written value by value, and orjson makes a line in about a microsecond.
    for row in zip(*values, strict=True):
        line = orjson.dumps(dict(zip(names, row, strict=True)), option=orjson.OPT_APPEND_NEWLINE)
        held.append(line)
        size += len(line)
        if size >= _WRITE_BYTES:
            yield b"".join(held)
            held, size = [], 0
    yield b"".join(held)


def compressed(file: BinaryIO, compression: str) -> AbstractContextManager[BinaryIO]:
    """A file that what is written to is compressed into: `zstd`, `gzip` or `none`."""
    if compression == "zstd":
        compressor = zstandard.ZstdCompressor(level=_LEVELS["zstd"], write_checksum=True)
        return cast(AbstractContextManager[BinaryIO], compressor.stream_writer(file, closefd=False))
    if compression == "gzip":  # without name or time in its header
        made = gzip.GzipFile(filename="", mode="wb", fileobj=file, compresslevel=_LEVELS["gzip"], mtime=0)
        return cast(AbstractContextManager[BinaryIO], made)
    return nullcontext(file)


FORMAT = Jsonl()
