"""Decoded pictures in Arrow batches: as arrays, and what an operator says of each as columns."""

from collections.abc import Callable, Iterator, Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from winnow.filters.image.decode.stills import Still
from winnow.filters.operators import IMAGES


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


def batch_of(
    mimes: Sequence[str], sizes: Sequence[int], frames: Sequence[int | None], stills: Sequence[Still]
) -> pa.RecordBatch:
    """Decoded pictures as `winnow.filters.operators.IMAGES`.

    Args:
        mimes: Their types.
        sizes: The bytes of their files.
        frames: How many their files have.
        stills: The pictures.
    """
    offsets = np.concatenate(([0], np.cumsum([still.pixels.nbytes for still in stills]))).astype(np.int64)
    joined = _joined(stills, offsets)
    pixels = pa.LargeBinaryArray.from_buffers(
        pa.large_binary(), len(stills), [None, pa.py_buffer(offsets), pa.py_buffer(joined)]
    )
    numbers = (
        [still.height for still in stills],
        [still.width for still in stills],
        frames,
        [still.pixels.shape[0] for still in stills],
        [still.pixels.shape[1] for still in stills],
    )
    height, width, counted, rows, columns = (pa.array(one, pa.int32()) for one in numbers)
    return pa.RecordBatch.from_arrays(
        [pa.array(mimes, pa.string()), pa.array(sizes, pa.int64()), height, width, counted, pixels, rows, columns],
        schema=IMAGES,
    )


def _address(pixels: NDArray[np.uint8]) -> int:
    found: int = pixels.__array_interface__["data"][0]  # `pixels.ctypes` makes three objects for it
    return found


def _joined(stills: Sequence[Still], offsets: NDArray[np.int64]) -> NDArray[np.uint8]:
    """The pixels of all pictures behind one another: where they are, if they lie so already."""
    if not stills:
        return np.empty(0, np.uint8)
    starts = np.array([_address(still.pixels) for still in stills])
    room = stills[0].pixels.base
    if isinstance(room, np.ndarray) and np.array_equal(starts - starts[0], offsets[:-1]):
        begin = int(starts[0]) - _address(room)
        flat = room.reshape(-1)
        if begin + int(offsets[-1]) <= flat.nbytes:
            return flat[begin : begin + int(offsets[-1])]
    joined = np.empty(int(offsets[-1]), np.uint8)
    for still, start, end in zip(stills, offsets[:-1].tolist(), offsets[1:].tolist(), strict=True):
        joined[start:end] = still.pixels.reshape(-1)
    return joined
