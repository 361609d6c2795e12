"""Decoded pictures in Arrow batches: as arrays, and what an operator says of each as columns."""

from collections.abc import Callable, Iterator

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

__all__ = ["measured", "pixels_of"]


def pixels_of(batch: pa.RecordBatch) -> Iterator[NDArray[np.uint8]]:
    """The pixels of every picture of `winnow.filters.operators.IMAGES`: rows of red, green and blue, without a copy."""
    pixels = batch.column("pixels")
    _, offsets, held = pixels.buffers()
    if batch.num_rows == 0:
        return
    bounds = np.frombuffer(offsets, np.int64)[pixels.offset : pixels.offset + len(pixels) + 1].tolist()
    joined = np.frombuffer(held, np.uint8) if held is not None and held.size else np.empty(0, np.uint8)
    shapes = zip(batch.column("rows").to_pylist(), batch.column("columns").to_pylist(), strict=True)
    for number, (rows, columns) in enumerate(shapes):  # a picture each
        yield joined[bounds[number] : bounds[number + 1]].reshape(rows, columns, 3)


def measured(
    batch: pa.RecordBatch, measure: Callable[[NDArray[np.uint8]], tuple[object, ...]], writes: pa.Schema
) -> pa.RecordBatch:
    """The columns of `writes` for `winnow.filters.operators.IMAGES`, from a function of one picture to its row."""
    rows = [measure(pixels) for pixels in pixels_of(batch)]
    columns = list(zip(*rows, strict=True)) or [()] * len(writes)
    arrays = [pa.array(column, field.type) for column, field in zip(columns, writes, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=writes)
