"""A small network over all blocks of a page: each block's features, its neighbours, and means over its groups.

Two layers; each adds a convolution over neighbouring blocks and the means over the blocks of equal markup, over those
under the same heading, and over the page. Trees judge a block by thresholds, the network by how the blocks of a page
differ: their errors differ, and the mean of the two is better than either.
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
    """The weights; those of layers are stacked along the first axis."""

    mean: Table
    scale: Table
    tags: Ints  # tags with an input of their own
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
    """The network's inputs from rows of features."""
    return np.asarray(_inputs(rows, mean, scale, tags, _NUMBERS, _TAG_COLUMNS))


@arithmetic
def _add_product(found, values, weights, first, end, shift):  # type: ignore[no-untyped-def]
    """Add to rows the product of the rows so many places further on: each sum in the order of their columns, so that
    every processor gives the same. Four columns of four rows at once: what is loaded then serves four times."""
    width, inner = weights.shape[1], weights.shape[0]
    whole, deep = first + max(0, end - first) // 4 * 4, inner // 4 * 4
    for row in range(first, whole, 4):
        one, two, three, four = found[row], found[row + 1], found[row + 2], found[row + 3]
        a, b, c, d = values[row + shift], values[row + shift + 1], values[row + shift + 2], values[row + shift + 3]
        for at in range(0, deep, 4):
            w, x, y, z = weights[at], weights[at + 1], weights[at + 2], weights[at + 3]
            a0, a1, a2, a3 = a[at], a[at + 1], a[at + 2], a[at + 3]
            b0, b1, b2, b3 = b[at], b[at + 1], b[at + 2], b[at + 3]
            c0, c1, c2, c3 = c[at], c[at + 1], c[at + 2], c[at + 3]
            d0, d1, d2, d3 = d[at], d[at + 1], d[at + 2], d[at + 3]
            for column in range(width):
                w0, w1, w2, w3 = w[column], x[column], y[column], z[column]
                one[column] = one[column] + a0 * w0 + a1 * w1 + a2 * w2 + a3 * w3
                two[column] = two[column] + b0 * w0 + b1 * w1 + b2 * w2 + b3 * w3
                three[column] = three[column] + c0 * w0 + c1 * w1 + c2 * w2 + c3 * w3
                four[column] = four[column] + d0 * w0 + d1 * w1 + d2 * w2 + d3 * w3
    for row in range(first, end):
        for at in range(deep if row < whole else 0, inner):
            for column in range(width):
                found[row, column] += values[row + shift, at] * weights[at, column]


@arithmetic
def _product(values, weights, bias):  # type: ignore[no-untyped-def]
    """Rows by a matrix, and terms."""
    found = np.empty((len(values), weights.shape[1]), np.float32)
    found[:] = bias
    _add_product(found, values, weights, 0, len(values), 0)
    return found


@arithmetic
def _near_sums(values, weights, bias, dilation):  # type: ignore[no-untyped-def]
    """A convolution over the rows before, at and after each; beyond the ends there is nothing."""
    rows = len(values)
    found = np.empty(values.shape, np.float32)
    found[:] = bias
    for which in range(3):
        shift = (which - 1) * dilation
        _add_product(found, values, weights[which], max(0, -shift), min(rows, rows - shift), shift)
    return found


@arithmetic
def _numbered(names):  # type: ignore[no-untyped-def]
    """The same segments, numbered as they come, and how many there are."""
    numbers = np.full(names.max() + 1, -1, np.int32)
    found = np.empty(len(names), np.int32)
    count = 0
    for row in range(len(names)):
        if numbers[names[row]] < 0:
            numbers[names[row]] = count
            count += 1
        found[row] = numbers[names[row]]
    return found, count


@arithmetic
def _add_means(sums, values, segments, count, weights):  # type: ignore[no-untyped-def]
    """Add to each row the product of the mean of the rows in its segment."""
    means, sizes = np.zeros((count, values.shape[1]), np.float32), np.zeros(count, np.float32)
    for row in range(len(values)):
        mean = means[segments[row]]
        sizes[segments[row]] += 1
        for column in range(values.shape[1]):
            mean[column] += values[row, column]
    for segment in range(count):
        means[segment] /= sizes[segment]
    added = np.zeros((count, weights.shape[1]), np.float32)
    _add_product(added, means, weights, 0, count, 0)
    for row in range(len(sums)):
        own, term = sums[row], added[segments[row]]
        for column in range(sums.shape[1]):
            own[column] += term[column]


@arithmetic
def _normal(values, norm):  # type: ignore[no-untyped-def]
    """Give each row mean 0 and deviation 1, then scale and move it."""
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
            values[row, column] = (values[row, column] - mean) / deviation * norm[0, column] + norm[1, column]


@arithmetic
def _logits(network, rows, groups, sections, numbers, tag_columns):  # type: ignore[no-untyped-def]
    read = _inputs(rows, network.mean, network.scale, network.tags, numbers, tag_columns)
    values = np.maximum(_product(read, network.enter, network.enter_bias), np.float32(0))
    _normal(values, network.enter_norm)
    group, group_count = _numbered(groups)
    section, section_count = _numbered(sections)
    page = np.zeros(len(rows), np.int32)
    for layer in range(len(DILATIONS)):
        step = _near_sums(values, network.near[layer], network.bias[layer], DILATIONS[layer])
        _add_means(step, values, group, group_count, network.group[layer])
        _add_means(step, values, section, section_count, network.section[layer])
        _add_means(step, values, page, 1, network.page[layer])
        values += np.maximum(step, np.float32(0))
        _normal(values, network.norm[layer])
    return _product(values, network.leave.reshape(-1, 1), network.leave_bias)[:, 0]


def logits(network: Network, rows: Table, groups: Ints, sections: Ints) -> Table:
    """The logit of each block of a page, from its features, its groups of markup and its headings."""
    return np.asarray(_logits(network, rows, groups, sections, _NUMBERS, _TAG_COLUMNS))
