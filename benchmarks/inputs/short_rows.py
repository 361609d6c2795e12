"""Short texts without number, in files of Parquet: what a corpus of posts, titles or sentences looks like.

A row is four to twelve real passages of one of the languages in `benchmarks.inputs.passages`, some 150 bytes. Every
tenth row has the text of the row before it. What is random depends on the seed and the number of a block, so that a
corpus of more rows begins with the rows of a smaller one, and memory does not grow with it.
"""

import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.inputs.pages import CACHE
from benchmarks.inputs.passages import Passages, real_passages, strings_of

SCHEMA = pa.schema([pa.field("id", pa.int64(), nullable=False), pa.field("text", pa.large_string(), nullable=False)])
LEAST, MOST = 4, 12  # passages of a row
COPIES = 10  # one row of so many has the text of the row before it
BLOCK_ROWS = 100_000
FILE_BLOCKS = 10
SEED = 7
_VERSION = "1"  # of this file's rules; another one makes cached rows anew


def short_rows(rows: int, passages: Passages) -> Iterator[pa.RecordBatch]:
    """All rows (`SCHEMA`), in blocks."""
    for first in range(0, rows, BLOCK_ROWS):
        texts = _texts(first // BLOCK_ROWS, passages)
        ids = pa.array(np.arange(first, first + BLOCK_ROWS))
        yield pa.RecordBatch.from_arrays([ids, texts], schema=SCHEMA).slice(0, rows - first)


def cached_short_rows(rows: int, cache: Path = CACHE, passages: Passages | None = None) -> Path:
    """A folder with so many rows, `*.parquet`, of all real passages if no others are given."""
    folder = cache / f"short-rows-{rows}"
    marker = folder / "made-for"
    if not marker.exists() or marker.read_text() != _VERSION:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        blocks = short_rows(rows, passages or real_passages())
        for number in range(-(-rows // (BLOCK_ROWS * FILE_BLOCKS))):
            with pq.ParquetWriter(folder / f"{number:05d}.parquet", SCHEMA, compression="zstd") as writer:
                for _, block in zip(range(FILE_BLOCKS), blocks, strict=False):
                    writer.write_batch(block)
        marker.write_text(_VERSION)
    return folder


def _texts(block: int, passages: Passages) -> pa.LargeStringArray:
    random, pool = np.random.default_rng([SEED, block]), passages.passages
    languages = random.integers(0, len(passages.languages), BLOCK_ROWS)
    counts = random.integers(LEAST, MOST + 1, BLOCK_ROWS)
    language = np.repeat(languages, counts)
    within = (random.random(len(language)) * pool.sizes[language]).astype(np.int64)
    chosen = pool.texts.take(pa.array(pool.starts[language] + within))
    bounds = np.frombuffer(chosen.buffers()[1], np.int64)
    texts = strings_of(bounds[np.concatenate([[0], np.cumsum(counts)])], chosen.buffers()[2])
    rows = np.arange(BLOCK_ROWS)
    return texts.take(pa.array(rows - (rows % COPIES == COPIES - 1)))
