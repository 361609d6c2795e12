"""Finds text in pictures: rotated rectangles around the regions that a detector's map marks.

The detector is PP-OCRv6's, which gives for each pixel the probability that it lies in a shrunk line of text ("Real-time
Scene Text Detection with Differentiable Binarization", Liao et al., arXiv 1911.08947). Regions, their scores and the
growth of rectangles follow rapidocr, which ships the file, except that holes in regions do not count as regions.
"""

import math
from collections.abc import Iterator
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from winnow.filters.image.models.framing import Framing
from winnow.schemas.assets import Asset
from winnow.schemas.kernels import kernel

LIKELY: Final = 0.3  # rapidocr's `thresh`
GROWTH: Final = 1.6  # its `unclip_ratio`
SMALLEST: Final = 3  # its `min_size`, in pixels
MAX_BOXES: Final = 1_000  # its `max_candidates`
_COLUMNS: Final = 6  # of a box: its centre, half its sides, and the direction of the first

Boxes: TypeAlias = NDArray[np.float64]

MODEL: Final = Asset(
    name="pp-ocrv6-det",
    summary="lines of text in pictures: the small detector of PP-OCRv6",
    registry="pip",
    package="rapidocr==3.10.0",
    member="rapidocr/models/PP-OCRv6_det_small.onnx",
    size_bytes=9_929_594,
    sha256="090f04abcd9d9a7498bc4ebf677e4cb9bdce1fe4197ddb7e529f1ef44e1ff94f",
    licence="Apache-2.0",
    optional=True,
)


def framing_for(side: int) -> Framing:
    """The network's input: BGR from -1 to 1."""
    return Framing(side, "pad", colours="bgr")


def text_boxes(likely: NDArray[np.float32], least: float) -> Boxes:
    """The boxes of a map: the centre, half the first side and half the second, and the first's direction.

    Args:
        likely: The probability that each pixel lies in a line, without padding.
        least: The least mean probability within a box.
    """
    found = [box for points in _edges(_regions(_marked(likely))) if (box := _box(likely, points, least)) is not None]
    return np.array(found, np.float64).reshape(-1, _COLUMNS)


def covered_by(boxes: Boxes, height: int, width: int) -> NDArray[np.bool_]:
    """Which pixels of a picture have their centres within a box."""
    inside = np.zeros((height, width), np.bool_)
    for box in boxes:  # at most 1,000
        place, within = _within(box, height, width)
        inside[place] |= within
    return inside


def _marked(likely: NDArray[np.float32]) -> NDArray[np.bool_]:
    """The likely pixels and their neighbours below, right, and below right: rapidocr dilates so."""
    marked = likely > LIKELY
    marked[1:] |= marked[:-1].copy()
    marked[:, 1:] |= marked[:, :-1].copy()
    return marked


@kernel
def _regions(marked):  # type: ignore[no-untyped-def]
    """The number of each pixel's region from 1, or 0; regions connect at corners."""
    height, width = marked.shape
    regions = np.zeros((height, width), np.int32)
    waiting = np.empty((height * width, 2), np.int32)
    count = 0
    for row in range(height):
        for column in range(width):
            if not marked[row, column] or regions[row, column]:
                continue
            count += 1
            regions[row, column] = count
            waiting[0, 0], waiting[0, 1] = row, column
            left = 1
            while left:
                left -= 1
                at, beside = waiting[left, 0], waiting[left, 1]
                for y in range(max(at - 1, 0), min(at + 2, height)):
                    for x in range(max(beside - 1, 0), min(beside + 2, width)):
                        if marked[y, x] and not regions[y, x]:
                            regions[y, x] = count
                            waiting[left, 0], waiting[left, 1] = y, x
                            left += 1
    return regions


def _edges(regions: NDArray[np.int32]) -> Iterator[list[tuple[int, int]]]:
    """The first and last pixel of each row of each region, which determine its hull: columns and rows, by row."""
    rows, columns = np.nonzero(regions)
    if not len(rows):
        return
    numbers = regions[rows, columns]
    order = np.argsort(numbers, kind="stable")[: np.count_nonzero(numbers <= MAX_BOXES)]
    rows, columns, numbers = rows[order], columns[order], numbers[order]
    new = np.flatnonzero(np.diff(numbers, prepend=0) | np.diff(rows, prepend=-1))  # where a region or a row begins
    ends = np.append(new[1:], len(rows)) - 1
    points = np.stack([columns[new], rows[new], columns[ends], rows[ends]], axis=1)
    for part in np.split(points, np.flatnonzero(np.diff(numbers[new])) + 1):
        yield [(column, row) for one in part.tolist() for column, row in (one[:2], one[2:])]


def _box(likely: NDArray[np.float32], points: list[tuple[int, int]], least: float) -> NDArray[np.float64] | None:
    """The box around a region; None if it is too small, or too little of it is likely."""
    box = _smallest_rectangle(np.array(_hull(points), np.float64))
    if 2 * min(box[2:4]) < SMALLEST:
        return None
    place, within = _within(box, *likely.shape)
    if (likely[place][within].mean(dtype=np.float64) if within.any() else 0.0) < least:
        return None
    box[2:4] += 4 * box[2] * box[3] * GROWTH / (4 * (box[2] + box[3]))
    return box if 2 * min(box[2:4]) >= SMALLEST + 2 else None


def _hull(points: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """The convex hull of points that come by row, each row's first before its last (Andrew's monotone chain)."""
    hull: list[tuple[int, int]] = []
    for side in (points, points[::-1]):
        chain: list[tuple[int, int]] = []
        for x, y in side:
            while len(chain) >= 2:
                (first_x, first_y), (second_x, second_y) = chain[-2:]
                if (second_y - first_y) * (x - first_x) - (second_x - first_x) * (y - first_y) > 0:
                    break
                chain.pop()
            chain.append((x, y))
        hull += chain[:-1]
    return hull or points[:1]


def _smallest_rectangle(hull: NDArray[np.float64]) -> NDArray[np.float64]:
    """The rectangle of the least area around a hull; one of its sides lies on an edge of the hull."""
    edges = np.roll(hull, -1, axis=0) - hull
    lengths = np.sqrt((edges * edges).sum(axis=1, keepdims=True))
    edges = np.where(lengths > 0, edges / np.where(lengths > 0, lengths, 1), (1.0, 0.0))
    across, down = edges.T[:, :, None]
    along, beside = hull[:, 0] * across + hull[:, 1] * down, hull[:, 1] * across - hull[:, 0] * down
    low, high, near, far = along.min(axis=1), along.max(axis=1), beside.min(axis=1), beside.max(axis=1)
    at = np.argmin((high - low) * (far - near))
    (across, down), middle, aside = edges[at], (low[at] + high[at]) / 2, (near[at] + far[at]) / 2
    centre = middle * across - aside * down, middle * down + aside * across
    return np.array([*centre, (high[at] - low[at]) / 2, (far[at] - near[at]) / 2, across, down])


def _within(box: NDArray[np.float64], height: int, width: int) -> tuple[tuple[slice, slice], NDArray[np.bool_]]:
    """The rows and columns that a box may touch, and which of their pixels have their centres within it."""
    tall = abs(box[2] * box[5]) + abs(box[3] * box[4])
    wide = abs(box[2] * box[4]) + abs(box[3] * box[5])
    rows = slice(max(math.floor(box[1] - tall), 0), max(min(math.ceil(box[1] + tall) + 1, height), 0))
    columns = slice(max(math.floor(box[0] - wide), 0), max(min(math.ceil(box[0] + wide) + 1, width), 0))
    across = np.arange(columns.start, columns.stop) - box[0]
    down = (np.arange(rows.start, rows.stop) - box[1])[:, None]
    along, beside = across * box[4] + down * box[5], down * box[4] - across * box[5]
    return (rows, columns), (abs(along) <= box[2] + 1e-9) & (abs(beside) <= box[3] + 1e-9)
