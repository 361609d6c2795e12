"""Where a picture shows text: turned rectangles around the regions that a detector's map marks.

The detector is PP-OCRv6's, which gives for each pixel how likely it is within a shrunk line of text ("Real-time Scene
Text Detection with Differentiable Binarization", Liao et al., arXiv 1911.08947). Regions, their scores, and by how much
rectangles grow back are as in rapidocr, which ships the file, but for holes in regions, which are no regions here.
"""

import math
from typing import Final

import numpy as np
from numba import float64, int64
from numpy.typing import NDArray

from winnow.filters.models.pictures.framing import Framing
from winnow.schemas.assets import Asset
from winnow.schemas.kernels import kernel

__all__ = ["MODEL", "covered_by", "framing_for", "text_boxes"]

LIKELY: Final = 0.3  # rapidocr's `thresh`
GROWTH: Final = 1.6  # its `unclip_ratio`
SMALLEST: Final = 3  # its `min_size`, in pixels
MAX_BOXES: Final = 1_000  # its `max_candidates`
_COLUMNS: Final = 6  # of a box: its centre, half its sides, and the direction of the first

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
    """What the network sees: blue, green and red from -1 to 1."""
    return Framing(side, "pad", colours="bgr")


def text_boxes(likely: NDArray[np.float32], least: float) -> NDArray[np.float64]:
    """The boxes of a map: centre across and down, half the first side and half the second, and the first's direction.

    Args:
        likely: How likely each pixel is within a line, of the picture alone.
        least: The least mean within a box.
    """
    regions, count = _regions(_marked(np.ascontiguousarray(likely)))
    found: NDArray[np.float64] = _boxes(np.ascontiguousarray(likely), regions, count, least)
    return found


def covered_by(boxes: NDArray[np.float64], height: int, width: int) -> NDArray[np.bool_]:
    """Which pixels of a picture have their centres within a box."""
    inside = np.zeros((height, width), np.bool_)
    for box in boxes:  # at most 1,000
        _paint(inside, box)
    return inside


@kernel
def _marked(likely):  # type: ignore[no-untyped-def]
    """Likely pixels, and those below, right, and below right of them: rapidocr dilates so."""
    height, width = likely.shape
    found = np.zeros((height, width), np.bool_)
    for row in range(height):
        for column in range(width):
            if likely[row, column] > LIKELY:
                found[row : row + 2, column : column + 2] = True
    return found


@kernel
def _regions(marked):  # type: ignore[no-untyped-def]
    """The number of each pixel's region from 1, 0 for none, and how many there are; corners connect."""
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
    return regions, count


@kernel
def _boxes(likely, regions, count, least):  # type: ignore[no-untyped-def]
    height, width = likely.shape
    tops, lefts = np.full(count + 1, height, np.int64), np.full(count + 1, width, np.int64)
    bottoms, rights = np.full(count + 1, -1, np.int64), np.full(count + 1, -1, np.int64)
    for row in range(height):
        for column in range(width):
            region = regions[row, column]
            if region:
                tops[region], bottoms[region] = min(tops[region], row), max(bottoms[region], row)
                lefts[region], rights[region] = min(lefts[region], column), max(rights[region], column)
    found = np.empty((min(count, MAX_BOXES), _COLUMNS), np.float64)
    kept = 0
    edges = np.empty((2 * height, 2), np.int64)
    for region in range(1, min(count, MAX_BOXES) + 1):
        points = 0
        for row in range(tops[region], bottoms[region] + 1):  # the first and the last pixel of each row have the hull
            first, last = -1, -1
            for column in range(lefts[region], rights[region] + 1):
                if regions[row, column] == region:
                    last = column
                    if first < 0:
                        first = column
            if first >= 0:
                edges[points, 0], edges[points, 1] = first, row
                edges[points + 1, 0], edges[points + 1, 1] = last, row
                points += 2
        box = _smallest_rectangle(_hull(edges[:points]))
        if 2 * min(box[2], box[3]) < SMALLEST or _mean_within(likely, box) < least:
            continue
        area, around = 4 * box[2] * box[3], 4 * (box[2] + box[3])
        grown = area * GROWTH / around
        box[2] += grown
        box[3] += grown
        if 2 * min(box[2], box[3]) < SMALLEST + 2:
            continue
        found[kept] = box
        kept += 1
    return found[:kept]


@kernel
def _hull(points):  # type: ignore[no-untyped-def]
    """The convex hull of points that come by row, each row's first before its last (Andrew's monotone chain)."""
    count = len(points)
    hull = np.empty((2 * count + 2, 2), np.int64)
    size = 0
    for side in range(2):
        start = size
        for step in range(count):
            point = points[step] if side == 0 else points[count - 1 - step]
            while size >= start + 2 and _turn(hull[size - 2], hull[size - 1], point) <= 0:
                size -= 1
            hull[size] = point
            size += 1
        size -= 1
    return hull[: max(size, 1)]


@kernel
def _turn(first, second, third):  # type: ignore[no-untyped-def]
    # Rows are the first coordinate of the order: points come sorted by it, then by column.
    return int64(second[1] - first[1]) * int64(third[0] - first[0]) - int64(second[0] - first[0]) * int64(
        third[1] - first[1]
    )


@kernel
def _smallest_rectangle(hull):  # type: ignore[no-untyped-def]
    """The rectangle of the least area around a hull; one of its sides lies on an edge of the hull."""
    best = np.zeros(_COLUMNS, np.float64)
    count = len(hull)
    least = np.inf
    for at in range(count):
        across = float64(hull[(at + 1) % count, 0] - hull[at, 0])
        down = float64(hull[(at + 1) % count, 1] - hull[at, 1])
        length = math.sqrt(across * across + down * down)
        across, down = (across / length, down / length) if length > 0 else (1.0, 0.0)
        low = high = hull[0, 0] * across + hull[0, 1] * down
        near = far = hull[0, 1] * across - hull[0, 0] * down
        for point in range(1, count):
            along = hull[point, 0] * across + hull[point, 1] * down
            beside = hull[point, 1] * across - hull[point, 0] * down
            low, high = min(low, along), max(high, along)
            near, far = min(near, beside), max(far, beside)
        area = (high - low) * (far - near)
        if area < least:
            least = area
            middle, aside = (low + high) / 2, (near + far) / 2
            best[0], best[1] = middle * across - aside * down, middle * down + aside * across
            best[2], best[3] = (high - low) / 2, (far - near) / 2
            best[4], best[5] = across, down
    return best


@kernel
def _mean_within(likely, box):  # type: ignore[no-untyped-def]
    height, width = likely.shape
    top, bottom, left, right = _bounds(box, height, width)
    total, count = 0.0, 0
    for row in range(top, bottom):
        for column in range(left, right):
            if _within(box, column, row):
                total += likely[row, column]
                count += 1
    return total / count if count else 0.0


@kernel
def _paint(inside, box):  # type: ignore[no-untyped-def]
    height, width = inside.shape
    top, bottom, left, right = _bounds(box, height, width)
    for row in range(top, bottom):
        for column in range(left, right):
            if _within(box, column, row):
                inside[row, column] = True


@kernel
def _bounds(box, height, width):  # type: ignore[no-untyped-def]
    """The rows and columns that a box may touch."""
    tall = abs(box[2] * box[5]) + abs(box[3] * box[4])
    wide = abs(box[2] * box[4]) + abs(box[3] * box[5])
    top, bottom = max(int64(math.floor(box[1] - tall)), 0), min(int64(math.ceil(box[1] + tall)) + 1, height)
    left, right = max(int64(math.floor(box[0] - wide)), 0), min(int64(math.ceil(box[0] + wide)) + 1, width)
    return top, bottom, left, right


@kernel
def _within(box, column, row):  # type: ignore[no-untyped-def]
    across, down = column - box[0], row - box[1]
    along, beside = across * box[4] + down * box[5], down * box[4] - across * box[5]
    return abs(along) <= box[2] + 1e-9 and abs(beside) <= box[3] + 1e-9
