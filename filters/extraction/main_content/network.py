"""A small network over all blocks of a page: each block's numbers, its neighbours, and means over what it belongs to.

Two layers; each joins a convolution over neighbouring blocks with the means over the blocks of equal markup, over
those under the same heading, and over the page. Trees judge a block by thresholds, this by how a page's blocks differ:
their errors differ, and the mean of the two is better than either.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from winnow.filters.extraction.main_content.features import COLUMNS
from winnow.schemas.kernels import arithmetic

Table = npt.NDArray[np.float32]
Ints = npt.NDArray[np.int32]

TAG_COLUMNS = tuple(COLUMNS.index(name) for name in ("tag", "around_1_tag", "around_2_tag"))
NUMBERS = tuple(
    place
    for place, name in enumerate(COLUMNS)
    if name != "tag" and not name.endswith("_tag") and name[:4] not in ("tag+", "tag-")
)
"""The columns that are numbers; the others name tags, of which the network sees some."""

DILATIONS = (1, 4)
MOST_BLOCKS = 1 << 14
"""Pages with more are judged by trees alone."""

_FAR = 4.0  # standard deviations


class Network(NamedTuple):
    """Weights; a layer's are stacked along the first axis."""

    mean: Table
    scale: Table
    tags: Ints  # [tag columns, tags] that have an input of their own
    enter: Table
    enter_bias: Table
    enter_norm: Table  # [2, width] factors and terms
    near: Table  # [layers, 3, width, width]
    near_bias: Table
    join: Table  # [layers, 4 * width, width]
    join_bias: Table
    norm: Table  # [layers, 2, width]
    leave: Table
    leave_bias: Table


def inputs(rows: Table, mean: Table, scale: Table, tags: Ints) -> Table:
    """What the network reads of rows of features."""
    numbers = np.clip((rows[:, NUMBERS] - mean) / scale, -_FAR, _FAR)
    named = [rows[:, column].astype(np.int32)[:, None] == own for column, own in zip(TAG_COLUMNS, tags, strict=True)]
    return np.concatenate([numbers, *named], axis=1, dtype=np.float32)


@arithmetic
def segment_means(values, segments, count):  # type: ignore[no-untyped-def]
    """Of each row, the mean of the rows in its segment."""
    sums, sizes = np.zeros((count, values.shape[1]), np.float32), np.zeros(count, np.float32)
    for row in range(len(values)):
        sizes[segments[row]] += 1
        for column in range(values.shape[1]):
            sums[segments[row], column] += values[row, column]
    found = np.empty_like(values)
    for row in range(len(values)):
        for column in range(values.shape[1]):
            found[row, column] = sums[segments[row], column] / sizes[segments[row]]
    return found


@arithmetic
def product(values, weights, bias):  # type: ignore[no-untyped-def]
    """Rows by a matrix, and terms: each sum in the order of the rows' columns, so that every processor gives the same.

    Four rows at once, as each weight that is loaded then serves four times.
    """
    rows, width = len(values), weights.shape[1]
    found = np.empty((rows, width), np.float32)
    found[:] = bias
    whole = rows - rows % 4
    for row in range(0, whole, 4):
        first, second, third, fourth = found[row], found[row + 1], found[row + 2], found[row + 3]
        for place in range(values.shape[1]):
            own = weights[place]
            a, b, c, d = values[row, place], values[row + 1, place], values[row + 2, place], values[row + 3, place]
            for column in range(width):
                weight = own[column]
                first[column] += a * weight
                second[column] += b * weight
                third[column] += c * weight
                fourth[column] += d * weight
    for row in range(whole, rows):
        for place in range(values.shape[1]):
            for column in range(width):
                found[row, column] += values[row, place] * weights[place, column]
    return found


@arithmetic
def normal(values, norm):  # type: ignore[no-untyped-def]
    """Each row with mean 0 and deviation 1, then scaled and moved."""
    found = np.empty_like(values)
    width = values.shape[1]
    for row in range(len(values)):
        mean = np.float32(0)
        for column in range(width):
            mean += values[row, column]
        mean /= np.float32(width)
        variance = np.float32(0)
        for column in range(width):
            distance = values[row, column] - mean
            variance += distance * distance
        deviation = np.sqrt(variance / np.float32(width) + np.float32(1e-5))
        for column in range(width):
            found[row, column] = (values[row, column] - mean) / deviation * norm[0, column] + norm[1, column]
    return found


def _shifted(values: Table, by: int) -> Table:
    """The rows so many places further on; zeros beyond the ends."""
    found = np.zeros_like(values)
    if 0 <= by < len(values):
        found[: len(values) - by] = values[by:]
    elif -len(values) < by < 0:
        found[-by:] = values[:by]
    return found


def logits(network: Network, rows: Table, groups: Ints, sections: Ints) -> Table:
    """How much speaks for each block of a page, from its rows, its groups of markup and its headings."""
    read = inputs(rows, network.mean, network.scale, network.tags)
    values = normal(np.maximum(product(read, network.enter, network.enter_bias), 0), network.enter_norm)
    group_count, section_count = int(groups.max()) + 1, int(sections.max()) + 1
    page = np.zeros(len(rows), np.int32)
    for layer, dilation in enumerate(DILATIONS):
        near = network.near[layer].reshape(-1, network.near.shape[-1])
        around = np.concatenate([_shifted(values, -dilation), values, _shifted(values, dilation)], axis=1)
        joined = [
            product(around, near, network.near_bias[layer]),
            segment_means(values, groups, group_count),
            segment_means(values, sections, section_count),
            segment_means(values, page, 1),
        ]
        step = product(np.concatenate(joined, axis=1), network.join[layer], network.join_bias[layer])
        values = normal(values + np.maximum(step, 0), network.norm[layer])
    return np.asarray(product(values, network.leave[:, np.newaxis], network.leave_bias)[:, 0])
