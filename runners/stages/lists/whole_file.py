"""Writes a file with rows of a store: it is registered first, so that `winnow forget` knows it whatever happens.

The file is there only once it is whole. What a killed command left beside it goes with the next one that writes it.
"""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from winnow.pipelines.forgetting.outputs import register, register_finished, unfinished_file, unfinished_files
from winnow.pipelines.store.facade import ObjectStore
from winnow.schemas.errors import WinnowError


@contextmanager
def registered_file(objects: ObjectStore, kind: str, file: str | Path, generation: int) -> Iterator[None]:
    """Registers an output of a generation while the block writes it, and alone once it is written."""
    register(objects, kind, file, generation)
    yield
    register_finished(objects, kind, file, generation)


@contextmanager
def whole_file(file: Path) -> Iterator[Path]:
    """A path to write to, which replaces the file at the end of the block unless there is an error.

    It is locked for as long as this process lives; those without a lock are of processes that were killed.
    """
    for left in unfinished_files(file):
        _remove_dead(left)
    unfinished = unfinished_file(file)
    held = os.open(unfinished, os.O_RDWR | os.O_CREAT, 0o666)
    try:
        fcntl.flock(held, fcntl.LOCK_EX)
        yield unfinished
        os.replace(unfinished, file)
    finally:
        unfinished.unlink(missing_ok=True)
        os.close(held)


def _remove_dead(unfinished: Path) -> None:
    with suppress(OSError), unfinished.open("rb") as stream:
        fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)  # an error if its process lives
        unfinished.unlink()


@contextmanager
def whole_parquet(file: Path, schema: pa.Schema) -> Iterator[pq.ParquetWriter]:
    """The same as a writer of a Parquet file."""
    with whole_file(file) as unfinished, pq.ParquetWriter(unfinished, schema, compression="zstd") as writer:
        yield writer


def require_writable(option: str, file: Path) -> None:
    """Raise unless the path is a regular file, or a new file in an existing folder."""
    if file.exists() and not file.is_dir() and not file.is_file():
        raise WinnowError(f"{option} {file}: is not a regular file; give a file name")
    if file.is_dir() or not file.parent.is_dir():
        what = "is a folder; give a file name" if file.is_dir() else "its folder does not exist; create it first"
        raise WinnowError(f"{option} {file}: {what}")
