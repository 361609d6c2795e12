"""A Parquet file that a command lists rows in: it is there only once it is whole."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq


@contextmanager
def whole_parquet(file: Path, schema: pa.Schema) -> Iterator[pq.ParquetWriter]:
    """A writer of the file, which replaces another one at the end of the block unless there is an error."""
    unfinished = file.with_name(f".{file.name}.{os.getpid()}")
    try:
        with pq.ParquetWriter(unfinished, schema, compression="zstd") as writer:
            yield writer
        os.replace(unfinished, file)
    finally:
        unfinished.unlink(missing_ok=True)
