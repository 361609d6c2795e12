"""Pictures as tasks get them: squares of pixels, which the stage has decoded and resized."""

from typing import Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from winnow.schemas.errors import ScoreError
from winnow.scoring.protocol import NO_INPUT, OK, picture_type

_ROOM: Final = 256 << 20  # bytes of a batch's pixels


def require_room(task: str, side: int, images: int, max_bytes: int) -> None:
    """Raise if the images of a batch exceed the memory budget, at least `_ROOM`.

    Raises:
        ScoreError: They do.
    """
    need, room = images * picture_type(side).byte_width, max(max_bytes, _ROOM)
    if need > room:
        raise ScoreError(
            f"{task}: `batch`: {images:,} images of {side:,} pixels a side take {need:,} bytes, more than "
            f"`memory_bytes`: {room:,}; lower `size` or `batch`, or give more `memory_bytes`"
        )


def squares_of(column: pa.Array, wanted: NDArray[np.bool_], side: int) -> tuple[NDArray[np.object_], NDArray[np.uint8]]:
    """The status of each row, and a copy of the pictures of wanted rows that have one, in order.

    Args:
        column: Pictures as `winnow.scoring.protocol.picture_type`.
        wanted: The rows to take; for the others only the presence of a picture is checked.
        side: The pixels per side.
    """
    if column.type != picture_type(side):
        raise ScoreError(f"pictures are of type {column.type}; expected {picture_type(side)}")
    there = column.is_valid().to_numpy(zero_copy_only=False)
    size = column.type.byte_width
    held = column.buffers()[1]
    flat = np.empty(0, np.uint8) if held is None else np.frombuffer(held, np.uint8)
    begin = column.offset * size
    pixels = flat[begin : begin + len(column) * size].reshape(len(column), side, side, 3)
    return np.where(there, OK, NO_INPUT).astype(object), pixels[wanted & there]
