"""The motion that a codec has found: speeds of the picture's parts from the vectors of one frame.

FFmpeg exports vectors of the H.264 and MPEG families. It says whether a block comes from an earlier or a later frame,
but not from which: it is taken to be the nearest that is no B frame, and only blocks from earlier frames are counted.
Encoders that refer further back, or to other B frames, make motion look up to twice as fast or as slow as it is.
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from winnow.filters.video.decode.reading import side_data_of
from winnow.filters.video.decode.signals import PATCH_COLUMNS, PATCH_ROWS
from winnow.schemas.kernels import arithmetic

if TYPE_CHECKING:
    from av.video.frame import VideoFrame

CODECS: Final = frozenset({"h264", "mpeg4", "mpeg2video", "mpeg1video", "msmpeg4v1", "msmpeg4v2", "msmpeg4v3", "h263"})
"""Those whose vectors are exported."""

_B_FRAME: Final = 3  # AVPictureType
_VECTOR: Final = np.dtype(  # AVMotionVector; PyAV's own `to_ndarray` describes it anew for each frame
    [
        ("source", np.int32), ("w", np.uint8), ("h", np.uint8), ("src_x", np.int16), ("src_y", np.int16),
        ("dst_x", np.int16), ("dst_y", np.int16), ("flags", np.uint64), ("motion_x", np.int32),
        ("motion_y", np.int32), ("motion_scale", np.uint16),
    ],
    align=True,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Motion:
    """Of one frame; speeds are in widths of the picture a second, NaN for patches that no block covers."""

    covered: float
    speed: float
    right: float
    down: float
    patches: NDArray[np.float32]


class Anchors:
    """Keeps when the last frame was shown that others are predicted from."""

    def __init__(self) -> None:
        self._last: float | None = None

    def motion(self, frame: "VideoFrame", seconds: float) -> Motion | None:
        """The motion of the next frame; None for one that is predicted from no earlier frame."""
        last = self._last
        if frame.pict_type != _B_FRAME:
            self._last = seconds
        data = side_data_of(frame, "MOTION_VECTORS")
        if data is None or last is None or not seconds > last:
            return None
        found = np.zeros(4, np.float64)
        patches = np.zeros((PATCH_ROWS, PATCH_COLUMNS), np.float32)
        vectors = np.frombuffer(memoryview(data), _VECTOR)
        _fold(
            vectors["source"], vectors["w"], vectors["h"], vectors["dst_x"], vectors["dst_y"],
            vectors["motion_x"], vectors["motion_y"], vectors["motion_scale"],
            frame.width, frame.height, *_patches_of(frame.width, frame.height), 1.0 / (frame.width * (seconds - last)),
            found, patches,
        )  # fmt: skip
        if not found[0]:
            return None
        covered, speed, right, down = found.tolist()
        return Motion(covered, speed, right, down, patches)


@lru_cache(maxsize=4)
def _patches_of(width: int, height: int) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """The column and the row of patches that each column and line of pixels is in."""
    columns = np.arange(width) * PATCH_COLUMNS // width
    rows = np.arange(height) * PATCH_ROWS // height
    return columns.astype(np.int32), rows.astype(np.int32)


@arithmetic
def _fold(source, w, h, at_x, at_y, motion_x, motion_y, unit, width, height, columns, rows, scale, found, patches):  # type: ignore[no-untyped-def]
    areas = np.zeros(patches.shape, np.float32)
    area = speed = right = down = 0.0
    for block in range(len(source)):
        if source[block] >= 0 or unit[block] == 0:
            continue
        size = float(w[block]) * float(h[block])
        # Vectors point to where a block comes from, so what they show moves the other way.
        across = -motion_x[block] / unit[block] * scale
        along = -motion_y[block] / unit[block] * scale
        fast = np.sqrt(across * across + along * along)
        area += size
        speed += size * fast
        right += size * across
        down += size * along
        top, bottom = max(at_y[block] - h[block] // 2, 0), min(at_y[block] + h[block] // 2, height) - 1
        left, last = max(at_x[block] - w[block] // 2, 0), min(at_x[block] + w[block] // 2, width) - 1
        if top > bottom or left > last:
            continue
        for row in range(rows[top], rows[bottom] + 1):
            for column in range(columns[left], columns[last] + 1):
                areas[row, column] += size
                patches[row, column] += size * fast
    if area > 0:
        found[0] = min(area / (float(width) * height), 1.0)
        found[1], found[2], found[3] = speed / area, right / area, down / area
        for row in range(patches.shape[0]):
            for column in range(patches.shape[1]):
                patches[row, column] = patches[row, column] / areas[row, column] if areas[row, column] else np.nan
