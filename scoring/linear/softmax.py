"""Kernels over the logits of a softmax head: losses, scores and p - y, in double precision.

The order of operations is fixed; only the products that give logits, and logarithms, are libraries'.
"""

import numpy as np

from winnow.schemas.kernels import arithmetic

_LOG2_E = 1.4426950408889634
_LN2_HIGH = 6.93145751953125e-1  # exact with few bits, so that n · it is
_LN2_LOW = 1.42860682030941723212e-6
_LEAST = -708.0  # above which exp is a normal number


@arithmetic
def raise_all(logits, top, found):  # type: ignore[no-untyped-def]
    """Exponentials of logits minus the highest one (Cephes, branchless and so vectorised).

    Args:
        logits: All logits of a sample.
        top: The index of the highest.
        found: Output of the same length; NaN stays NaN.
    """
    bits = found.view(np.int64)
    highest = logits[top]
    for one in range(len(logits)):
        value = logits[one] - highest
        value = _LEAST if value < _LEAST else value
        bits[one] = (np.int64(np.int32(np.floor(value * _LOG2_E + 0.5))) + 1023) << 52
    for one in range(len(logits)):
        value = logits[one] - highest
        value = _LEAST if value < _LEAST else value
        times = np.floor(value * _LOG2_E + 0.5)
        value = value - times * _LN2_HIGH - times * _LN2_LOW
        square = value * value
        upper = 1.26177193074810590878e-4 * square + 3.02994407707441961300e-2
        upper = value * (upper * square + 9.99999999999999999910e-1)
        lower = 3.00198505138664455042e-6 * square + 2.52448340349684104192e-3
        lower = (lower * square + 2.27265548208155028766e-1) * square + 2.0
        found[one] *= 1.0 + 2.0 * (upper / (lower - upper))


@arithmetic
def loss_and_slope(logits, moves, label, raised):  # type: ignore[no-untyped-def]
    """The loss, -(p - y)·moves, and |p - y| squared, avoiding the cancellation in p - 1.

    Args:
        logits: Of a sample.
        moves: The change of its logits towards other weights.
        label: Its class.
        raised: Working memory of the same length.
    """
    top = 0
    for one in range(1, len(logits)):
        if logits[one] > logits[top]:
            top = one
    raise_all(logits, top, raised)
    rest = 0.0  # of the sum of exponentials; the highest logit's is 1
    gain = other = square = 0.0
    for one in range(len(logits)):
        value = raised[one]
        rest += 0.0 if one == top else value
        value = 0.0 if one == label else value
        gain += value * (moves[label] - moves[one])
        other += value
        square += value * value
    total = raised[top] + rest
    # With an infinite highest logit all of them are NaN.
    loss = np.log1p(rest) + (logits[top] - logits[label])
    return loss, gain / total, (square + other * other) / (total * total)


@arithmetic
def measure(made, labels, bias, losses, squares):  # type: ignore[no-untyped-def]
    """The loss (NaN where infinite) and |p - y| squared of each row of products with a head's weight."""
    classes = len(bias)
    logits, raised = np.empty(classes), np.empty(classes)
    for row in range(len(labels)):
        for one in range(classes):
            logits[one] = made[row, one] + bias[one]
        loss, _, square = loss_and_slope(logits, logits, labels[row], raised)
        losses[row] = loss if np.isfinite(loss) else np.nan
        squares[row] = square


@arithmetic
def score(made, labels, biases, steps, norms, squares, weight, bias, cosine, losses, scores):  # type: ignore[no-untyped-def]
    """Losses and scores of each row at several heads.

    Args:
        made: Products with the reference's weight, then with the steps towards it from each head's.
        labels: The label of each row.
        biases: The bias of each head.
        steps: The step from each bias to the reference's; zero if the bias does not count.
        norms: The norm of each direction.
        squares: The squared norm of each row's features, for the cosine.
        weight: Whether the weight counts.
        bias: Whether the bias counts.
        cosine: Whether scores are divided by the gradient's norm.
        losses: Output: losses per head.
        scores: Output: scores per head.
    """
    heads, classes = biases.shape
    logits, moves, raised = np.empty(classes), np.empty(classes), np.empty(classes)
    for row in range(len(labels)):
        for head in range(heads):
            for one in range(classes):
                step = np.float64(made[row, (head + 1) * classes + one])
                logits[one] = made[row, one] - step + biases[head, one]
                moves[one] = steps[head, one] + (step if weight else 0.0)
            loss, gain, square = loss_and_slope(logits, moves, labels[row], raised)
            found = gain / norms[head]
            if cosine:
                found /= np.sqrt(square * (squares[row] + (1.0 if bias else 0.0)))
            losses[head, row] = loss if np.isfinite(loss) else np.nan
            scores[head, row] = found if np.isfinite(loss) and np.isfinite(found) else np.nan


@arithmetic
def residuals(made, bias, labels, found, losses, squares):  # type: ignore[no-untyped-def]
    """p - y, the loss, and |p - y| squared of each row of products."""
    rows, classes = made.shape
    logits, raised = np.empty(classes), np.empty(classes)
    for row in range(rows):
        for one in range(classes):
            logits[one] = np.float64(made[row, one]) + np.float64(bias[one])
        losses[row], _, squares[row] = loss_and_slope(logits, logits, labels[row], raised)
        total = other = 0.0
        for one in range(classes):
            total += raised[one]
            other += 0.0 if one == labels[row] else raised[one]
        for one in range(classes):
            found[row, one] = raised[one] / total
        found[row, labels[row]] = -other / total
