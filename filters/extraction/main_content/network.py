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
_NUMBERS, _TAG_COLUMNS = np.array(NUMBERS, np.int64), np.array(TAG_COLUMNS, np.int64)
MOST_BLOCKS = 1 << 14
"""Pages with more are judged by trees alone."""

_FAR = np.float32(4)  # standard deviations


class Network(NamedTuple):
    """Weights; a layer's are stacked along the first axis."""

    mean: Table
    scale: Table
    tags: Ints  # [tag columns, tags] that have an input of their own
    enter: Table
    enter_bias: Table
    enter_norm: Table  # [2, width] factors and terms
    near: Table  # [layers, 3, width, width] of the block before, of the block itself, of the one after
    group: Table  # [layers, width, width] of the mean over the blocks of equal markup
    section: Table
    page: Table
    bias: Table  # [layers, width]
    norm: Table  # [layers, 2, width]
    leave: Table
    leave_bias: Table


@arithmetic
def _inputs(rows, mean, scale, tags, numbers, tag_columns):  # type: ignore[no-untyped-def]
    width = len(numbers)
    found = np.zeros((len(rows), width + tags.size), np.float32)
    for row in range(len(rows)):
        for place in range(width):
            value = (rows[row, numbers[place]] - mean[place]) / scale[place]
            found[row, place] = min(max(value, -_FAR), _FAR)
        at = width
        for which in range(len(tag_columns)):
            tag = np.int32(rows[row, tag_columns[which]])
            for place in range(tags.shape[1]):
                found[row, at + place] = tag == tags[which, place]
            at += tags.shape[1]
    return found


def inputs(rows: Table, mean: Table, scale: Table, tags: Ints) -> Table:
    """What the network reads of rows of features."""
    return np.asarray(_inputs(rows, mean, scale, tags, _NUMBERS, _TAG_COLUMNS))


@arithmetic
def _add_product(found, values, weights, first, end, shift):  # type: ignore[no-untyped-def]
    """Add to rows the product of the rows so many places further on: each sum in the order of their columns, so that
    every processor gives the same. Four rows at once, as each weight that is loaded then serves four times."""
    width = weights.shape[1]
    whole = first + max(0, end - first) // 4 * 4
    for row in range(first, whole, 4):
        one, two, three, four = found[row], found[row + 1], found[row + 2], found[row + 3]
        at = row + shift
        for place in range(values.shape[1]):
            own = weights[place]
            a, b, c, d = values[at, place], values[at + 1, place], values[at + 2, place], values[at + 3, place]
            for column in range(width):
                weight = own[column]
                one[column] += a * weight
                two[column] += b * weight
                three[column] += c * weight
                four[column] += d * weight
    for row in range(whole, end):
        for place in range(values.shape[1]):
            for column in range(width):
                found[row, column] += values[row + shift, place] * weights[place, column]


@arithmetic
def product(values, weights, bias):  # type: ignore[no-untyped-def]
    """Rows by a matrix, and terms."""
    found = np.empty((len(values), weights.shape[1]), np.float32)
    found[:] = bias
    _add_product(found, values, weights, 0, len(values), 0)
    return found


@arithmetic
def near_sums(values, weights, bias, dilation):  # type: ignore[no-untyped-def]
    """A convolution over the rows before, at and after each; beyond the ends there is nothing."""
    rows = len(values)
    found = np.empty(values.shape, np.float32)
    found[:] = bias
    for which in range(3):
        shift = (which - 1) * dilation
        _add_product(found, values, weights[which], max(0, -shift), min(rows, rows - shift), shift)
    return found


@arithmetic
def segment_means(values, segments, count):  # type: ignore[no-untyped-def]
    """The mean of the rows in each segment."""
    means, sizes = np.zeros((count, values.shape[1]), np.float32), np.zeros(count, np.float32)
    for row in range(len(values)):
        sizes[segments[row]] += 1
        for column in range(values.shape[1]):
            means[segments[row], column] += values[row, column]
    for segment in range(count):
        if sizes[segment]:
            means[segment] /= sizes[segment]
    return means


@arithmetic
def add_rows(sums, values, segments):  # type: ignore[no-untyped-def]
    """Add to each row the values of its segment."""
    for row in range(len(sums)):
        for column in range(sums.shape[1]):
            sums[row, column] += values[segments[row], column]


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


def logits(network: Network, rows: Table, groups: Ints, sections: Ints) -> Table:
    """How much speaks for each block of a page, from its rows, its groups of markup and its headings."""
    read = inputs(rows, network.mean, network.scale, network.tags)
    values = normal(np.maximum(product(read, network.enter, network.enter_bias), 0), network.enter_norm)
    nothing = np.zeros(network.enter.shape[1], np.float32)
    page = np.zeros(len(rows), np.int32)
    for layer, dilation in enumerate(DILATIONS):
        step = near_sums(values, network.near[layer], network.bias[layer], dilation)
        for segments, weights in ((groups, network.group), (sections, network.section), (page, network.page)):
            means = segment_means(values, segments, int(segments.max()) + 1)
            add_rows(step, product(means, weights[layer], nothing), segments)
        values = normal(values + np.maximum(step, 0), network.norm[layer])
    return np.asarray(product(values, network.leave[:, np.newaxis], network.leave_bias)[:, 0])
