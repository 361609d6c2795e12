"""Kernels of the log-linear model of the next byte.

Single precision, in a fixed order of operations; only logarithms are a library's.
"""

import numpy as np
from numba import uint64

from winnow.schemas.kernels import arithmetic
from winnow.scoring.linear.hashed import OFFSET, PRIME, mixed

BYTES = 256

LANES = 16  # of partial sums
_LOG2_E = np.float32(1.4426950408889634)
_LN2_HIGH = np.float32(0.693359375)  # exact with few bits, so that n · it is
_LN2_LOW = np.float32(-2.12194440e-4)
_LEAST = np.float32(-87.0)  # above which exp is a normal number


@arithmetic
def find_rows(window, buckets, rows):  # type: ignore[no-untyped-def]
    """The table row of each context of a window."""
    value = OFFSET
    for order in range(len(rows)):
        value = (value ^ uint64(window[order + 1])) * PRIME
        rows[order] = np.int64((mixed(value) >> uint64(33)) % uint64(buckets))


@arithmetic
def residual(logits, byte, found, powers, scales):  # type: ignore[no-untyped-def]
    """Compute p - y from logits; returns the loss.

    The exponential is Cephes' for single precision, without a branch, so that a loop makes 16 of them at once.

    Args:
        logits: Of 256 bytes.
        byte: The one that follows.
        found: The output, p - y.
        powers: Room for 256 numbers.
        scales: The same room as 32-bit integers.
    """
    highest = logits[0]
    for one in range(1, BYTES):
        highest = max(highest, logits[one])
    for one in range(BYTES):
        value = max(logits[one] - highest, _LEAST)
        times = np.floor(value * _LOG2_E + np.float32(0.5))
        value = value - times * _LN2_HIGH - times * _LN2_LOW
        poly = np.float32(1.9875691500e-4)
        poly = poly * value + np.float32(1.3981999507e-3)
        poly = poly * value + np.float32(8.3334519073e-3)
        poly = poly * value + np.float32(4.1665795894e-2)
        poly = poly * value + np.float32(1.6666665459e-1)
        poly = poly * value + np.float32(5.0000001201e-1)
        found[one] = poly * value * value + value + np.float32(1)
        scales[one] = (np.int32(times) + np.int32(127)) << np.int32(23)
    for one in range(BYTES):
        found[one] *= powers[one]
    total = 0.0
    for lane in range(LANES):
        powers[lane] = 0
    for start in range(0, BYTES, LANES):
        for lane in range(LANES):
            powers[lane] += found[start + lane]
    for lane in range(LANES):
        total += powers[lane]
    share = np.float32(1.0 / total)
    for one in range(BYTES):
        found[one] *= share
    loss = np.log(total) + np.float64(highest) - np.float64(logits[byte])
    found[byte] -= np.float32(1)
    return loss


@arithmetic
def inner(left, right, lanes):  # type: ignore[no-untyped-def]
    """The sum of products of 256 numbers each."""
    for lane in range(LANES):
        lanes[lane] = 0
    for start in range(0, BYTES, LANES):
        for lane in range(LANES):
            lanes[lane] += left[start + lane] * right[start + lane]
    total = 0.0
    for lane in range(LANES):
        total += lanes[lane]
    return total


@arithmetic
def squared_norm(residuals, hits, count, weight, bias, room, lanes):  # type: ignore[no-untyped-def]
    """The squared norm of a text's gradient: rows hit at several positions are summed before squaring."""
    total = 0.0
    if bias:
        for one in range(BYTES):
            room[one] = 0
        for place in range(count):
            for one in range(BYTES):
                room[one] += residuals[place, one]
        total += inner(room, room, lanes)
    if weight:
        orders = hits.shape[1]
        flat = hits[:count].copy().reshape(count * orders)
        order = np.argsort(flat, kind="mergesort")
        at = 0
        while at < len(order):
            row = flat[order[at]]
            for one in range(BYTES):
                room[one] = 0
            while at < len(order) and flat[order[at]] == row:
                place = order[at] // orders
                for one in range(BYTES):
                    room[one] += residuals[place, one]
                at += 1
            total += inner(room, room, lanes)
    return total


@arithmetic
def measure(  # type: ignore[no-untyped-def]
    content, offsets, table, bias, towards, towards_bias, weight, has_bias, norms, keep,
    hits, residuals, losses, gains, squares,
):  # fmt: skip
    """For each text the loss, -gradient · (towards - weights), and the gradient's squared norm.

    Args:
        content: Windows of all texts.
        offsets: The start of each text's windows.
        table: The weights of contexts.
        bias: Those of bytes.
        towards: Other weights; without rows if gains are not needed.
        towards_bias: Their bias.
        weight: Whether the table counts in gains and norms.
        has_bias: Whether the bias does.
        norms: Whether to compute norms.
        keep: Whether to keep rows and residuals of all windows; else there is room for only one text's.
        hits: Rows of each window.
        residuals: p - y of each window.
        losses: Output: the loss of each text.
        gains: Output: the gain of each text.
        squares: Output: the squared norm of each text.
    """
    moves = len(towards) > 0
    logits, along, powers = np.empty(BYTES, np.float32), np.empty(BYTES, np.float32), np.empty(BYTES, np.float32)
    scales, lanes = powers.view(np.int32), np.empty(LANES, np.float32)
    for row in range(len(offsets) - 1):
        count = offsets[row + 1] - offsets[row]
        first = offsets[row] if keep else 0
        if count == 0:
            losses[row] = np.nan
            continue
        loss = gain = 0.0
        for number in range(count):
            window, at = content[offsets[row] + number], first + number
            find_rows(window, len(table), hits[at])
            for one in range(BYTES):
                logits[one] = bias[one]
            for row_hit in hits[at]:
                for one in range(BYTES):
                    logits[one] += table[row_hit, one]
            loss += residual(logits, window[0], residuals[at], powers, scales)
            if moves:
                for one in range(BYTES):
                    along[one] = towards_bias[one] - bias[one] if has_bias else np.float32(0)
                for row_hit in hits[at] if weight else hits[at, :0]:
                    for one in range(BYTES):
                        along[one] += towards[row_hit, one] - table[row_hit, one]
                gain -= inner(residuals[at], along, lanes)
        losses[row], gains[row] = loss / count, gain / count
        if norms:
            mine = slice(first, first + count)
            total = squared_norm(residuals[mine], hits[mine], count, weight, has_bias, along, lanes)
            squares[row] = total / (np.float64(count) * np.float64(count))


@arithmetic
def update(  # type: ignore[no-untyped-def]
    hits, residuals, offsets, of_weight, of_bias, gradient, seen, mark, table, table_squares, bias, bias_squares,
    towards, distances, rate, kept, epsilon,
):  # fmt: skip
    """One step of Adagrad on the rows that windows hit, and on the bias.

    Args:
        hits: Rows of each window.
        residuals: p - y of each window.
        offsets: The start of each text's windows.
        of_weight: The weight of each text's windows in the table's gradient.
        of_bias: The same for the bias.
        gradient: Working memory for the table's gradient.
        seen: For each row the last step that hit it.
        mark: The number of this step.
        table: Weights, changed.
        table_squares: Sums of their squared gradients, changed.
        bias: Likewise.
        bias_squares: Likewise.
        towards: Other weights; without rows if distances are not needed.
        distances: Each row's squared distance to them, updated.
        rate: The learning rate.
        kept: The factor left by weight decay.
        epsilon: Added to the root.
    """
    touched, count = np.empty(hits.size, np.int64), 0
    slope = np.zeros(BYTES, np.float32)
    for text in range(len(offsets) - 1):
        for place in range(offsets[text], offsets[text + 1]):
            for one in range(BYTES):
                slope[one] += of_bias[text] * residuals[place, one]
            for order in range(hits.shape[1]):
                row = hits[place, order]
                if seen[row] != mark:
                    seen[row] = mark
                    touched[count] = row
                    count += 1
                    for one in range(BYTES):
                        gradient[row, one] = 0
                for one in range(BYTES):
                    gradient[row, one] += of_weight[text] * residuals[place, one]
    _adagrad(bias, bias_squares, slope, rate, kept, epsilon)
    away, lanes = np.empty(BYTES, np.float32), np.empty(LANES, np.float32)
    for number in range(count):
        row = touched[number]
        _adagrad(table[row], table_squares[row], gradient[row], rate, kept, epsilon)
        if len(towards) > 0:
            for one in range(BYTES):
                away[one] = towards[row, one] - table[row, one]
            distances[row] = inner(away, away, lanes)


@arithmetic
def _adagrad(values, squares, slopes, rate, kept, epsilon):  # type: ignore[no-untyped-def]
    for one in range(BYTES):
        squares[one] += slopes[one] * slopes[one]
        values[one] = values[one] * kept - rate * (slopes[one] / (np.sqrt(squares[one]) + epsilon))
