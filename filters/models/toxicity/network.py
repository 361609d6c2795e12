"""The network: an LSTM in each direction over 100 words, max pooling, and two dense layers.

Every sum is taken in a fixed order in single precision, never fused or reordered, and exponentials are a polynomial of
our own: a window's scores are the same on any machine, whatever else is scored. Words' contributions to the gates are
looked up, as they do not depend on position; four windows go through the recurrent weights at once.
"""

from collections.abc import Mapping
from typing import TypeAlias, cast

import numpy as np
import numpy.typing as npt

from winnow.filters.models.tensors import Array, read_tensors
from winnow.filters.models.toxicity.conversion import LABELS, SHAPES, TOKENS, UNITS, WORDS
from winnow.schemas.errors import RecipeError
from winnow.schemas.kernels import inlined, kernel

_LANES = 4  # windows at once, unrolled in `_recur`
_WIDE = 52  # UNITS, padded so that every row of weights is whole vectors
_GATES = 4 * _WIDE  # input, forget, cell, output, in Keras's order
_STEP = 5  # rows of recurrent weights at once
_LOWEST = np.float32(-1)  # lowest possible output

_Floats: TypeAlias = npt.NDArray[np.float32]
_Numbers: TypeAlias = npt.NDArray[np.uint16]


class Network:
    """The published weights, ready to score."""

    def __init__(self, path: str) -> None:
        arrays = read_tensors(path).arrays
        self.words: list[str] = _words(path, arrays)
        weights = _checked(path, arrays)
        self._forward = _direction(weights, "forward")
        self._backward = _direction(weights, "backward")
        self._head = tuple(weights[f"{layer}.{part}"] for layer in ("hidden", "output") for part in ("kernel", "bias"))
        self._empty = np.zeros((TOKENS + 1, 3, _WIDE), np.float32)
        _walk_padding(*self._forward, self._empty)

    def score(self, windows: _Numbers) -> _Floats:
        """The six probabilities of each window.

        Args:
            windows: Rows of `TOKENS` word numbers; those with fewer words begin with zeros.
        """
        padding = np.argmax(windows != 0, axis=1) if len(windows) else np.zeros(0, np.int64)
        # Windows with equal padding go together, so the padding is processed once for all.
        order = np.argsort(-padding, kind="stable")
        order = np.concatenate([order, np.repeat(order[-1:], -len(order) % _LANES)])
        highest = np.empty((len(windows), 2 * UNITS), np.float32)
        _run_forward(windows, order, padding, *self._forward, self._empty, highest)
        _run_backward(windows, order, *self._backward, highest)
        scores = np.empty((len(windows), len(LABELS)), np.float32)
        _judge(highest, *self._head, scores)
        return scores


def _words(path: str, arrays: Mapping[str, Array]) -> list[str]:
    found = arrays.get("words")
    words = found.tobytes().decode("utf-8", "replace").split("\n") if found is not None else []
    if len(set(words)) != WORDS - 1 or "" in words:
        raise RecipeError(f"{path}: {len(set(words)):,} words; expected {WORDS - 1:,}; fetch it again")
    return words


def _checked(path: str, arrays: Mapping[str, Array]) -> dict[str, _Floats]:
    for name, shape in SHAPES.items():
        array = arrays.get(name)
        if array is None or array.shape != shape or array.dtype != np.float32 or not np.isfinite(array).all():
            raise RecipeError(f"{path}: no weights {name} of shape {shape}; fetch it again")
    return {name: cast(_Floats, arrays[name]) for name in SHAPES}


def _direction(weights: Mapping[str, _Floats], name: str) -> tuple[_Floats, _Floats]:
    """Each word's contribution to the gates, and the recurrent weights."""
    words = np.empty((WORDS, _GATES), np.float32)
    kernel_, recurrent, bias = (_wide(weights[f"{name}.{part}"]) for part in ("kernel", "recurrent", "bias"))
    _project(weights["embedding"], kernel_, bias, words)
    return words, np.ascontiguousarray(recurrent).ravel()


def _wide(weights: _Floats) -> _Floats:
    """Gate weights with padding after each gate."""
    gates = weights.reshape(*weights.shape[:-1], 4, UNITS)
    wide = np.zeros((*weights.shape[:-1], 4, _WIDE), np.float32)
    wide[..., :UNITS] = gates
    return wide.reshape(*weights.shape[:-1], _GATES)


@kernel
def _add_product(into, scale, row):  # type: ignore[no-untyped-def]
    for at in range(len(into)):
        into[at] += scale * row[at]


@kernel
def _copy(into, row):  # type: ignore[no-untyped-def]
    for at in range(len(into)):
        into[at] = row[at]


@kernel
def _project(vectors, weights, bias, words):  # type: ignore[no-untyped-def]
    for word in range(len(vectors)):
        _copy(words[word], bias)
        for at in range(vectors.shape[1]):
            _add_product(words[word], vectors[word, at], weights[at])


@inlined
def _exp(x):  # type: ignore[no-untyped-def]
    """The exponential of -20 to 20, to 3 units in the last place: two to the whole part, times a polynomial."""
    # Adding 1.5 * 2**23 leaves the whole part, biased as exponents are, in the lowest bits.
    scaled = x * np.float32(1.442695041)
    rounded = scaled + np.float32(12_583_039.0)
    part = scaled - (rounded - np.float32(12_583_039.0))
    power = np.float32(1.54035304e-4)  # Taylor coefficient of two to this power
    power = power * part + np.float32(1.33335581e-3)
    power = power * part + np.float32(9.61812911e-3)
    power = power * part + np.float32(5.55041087e-2)
    power = power * part + np.float32(2.40226507e-1)
    power = power * part + np.float32(6.93147181e-1)
    power = power * part + np.float32(1.0)
    return power * np.int32(np.float32(rounded).view(np.int32) << 23).view(np.float32)


@inlined
def _within(x, bound):  # type: ignore[no-untyped-def]
    return min(max(x, -bound), bound)


@kernel
def _pass_gates(gates, outputs, cells, highest):  # type: ignore[no-untyped-def]
    """One step of four windows: their cells, their outputs, and the highest outputs so far.

    Sigmoids and hyperbolic tangents are quotients of exponentials; those that are multiplied share a division. Beyond
    the bounds they are 0 or 1 in single precision.
    """
    one, far, half_far = np.float32(1), np.float32(18), np.float32(9)
    for lane in range(_LANES):
        for unit in range(_WIDE):
            at, gate = lane * _WIDE + unit, lane * _GATES + unit
            let_in = one + _exp(-_within(gates[gate], far))
            keep = one + _exp(-_within(gates[gate + _WIDE], far))
            new = _exp(np.float32(2) * _within(gates[gate + 2 * _WIDE], half_far))
            let_out = one + _exp(-_within(gates[gate + 3 * _WIDE], far))
            both = let_in * (new + one)
            # np.divide, as a plain division would check for zeros one by one.
            cell = np.divide(cells[at] * both + (new - one) * keep, both * keep)
            shown = _exp(np.float32(2) * _within(cell, half_far))
            output = np.divide(shown - one, (shown + one) * let_out)
            cells[at] = cell
            outputs[at] = output
            highest[at] = max(highest[at], output)


@inlined
def _five(values, at):  # type: ignore[no-untyped-def]
    return values[at], values[at + 1], values[at + 2], values[at + 3], values[at + 4]


@kernel
def _recur(gates, outputs, weights):  # type: ignore[no-untyped-def]
    """Add the contributions of four windows' outputs to their gates.

    Unrolled, so that five rows of weights are read once for four windows: the loop is bound only by arithmetic.
    """
    for unit in range(0, UNITS, _STEP):
        a0, a1, a2, a3, a4 = _five(outputs, unit)
        b0, b1, b2, b3, b4 = _five(outputs, unit + _WIDE)
        c0, c1, c2, c3, c4 = _five(outputs, unit + 2 * _WIDE)
        d0, d1, d2, d3, d4 = _five(outputs, unit + 3 * _WIDE)
        row = unit * _GATES
        for at in range(_GATES):
            w0 = weights[row + at]
            w1 = weights[row + _GATES + at]
            w2 = weights[row + 2 * _GATES + at]
            w3 = weights[row + 3 * _GATES + at]
            w4 = weights[row + 4 * _GATES + at]
            gates[at] = gates[at] + a0 * w0 + a1 * w1 + a2 * w2 + a3 * w3 + a4 * w4
            gates[_GATES + at] = gates[_GATES + at] + b0 * w0 + b1 * w1 + b2 * w2 + b3 * w3 + b4 * w4
            gates[2 * _GATES + at] = gates[2 * _GATES + at] + c0 * w0 + c1 * w1 + c2 * w2 + c3 * w3 + c4 * w4
            gates[3 * _GATES + at] = gates[3 * _GATES + at] + d0 * w0 + d1 * w1 + d2 * w2 + d3 * w3 + d4 * w4


@kernel
def _step(windows, order, first, place, words, weights, gates, outputs, cells, highest):  # type: ignore[no-untyped-def]
    """One word of four windows."""
    for lane in range(_LANES):
        _copy(gates[lane * _GATES : (lane + 1) * _GATES], words[windows[order[first + lane], place]])
    _recur(gates, outputs, weights)
    _pass_gates(gates, outputs, cells, highest)


@kernel
def _beginning():  # type: ignore[no-untyped-def]
    """Gates, outputs, cells and highest outputs of four windows before their first word."""
    return (
        np.zeros(_LANES * _GATES, np.float32),
        np.zeros(_LANES * _WIDE, np.float32),
        np.zeros(_LANES * _WIDE, np.float32),
        np.full(_LANES * _WIDE, _LOWEST, np.float32),
    )


@kernel
def _walk_padding(words, weights, states):  # type: ignore[no-untyped-def]
    """The outputs, cells and highest outputs after each amount of padding."""
    windows, order = np.zeros((_LANES, TOKENS), np.uint16), np.zeros(_LANES, np.int64)
    gates, outputs, cells, highest = _beginning()
    states[0, 2] = _LOWEST
    for place in range(TOKENS):
        _step(windows, order, 0, place, words, weights, gates, outputs, cells, highest)
        states[place + 1, 0] = outputs[:_WIDE]
        states[place + 1, 1] = cells[:_WIDE]
        states[place + 1, 2] = highest[:_WIDE]


@kernel
def _run_forward(windows, order, padding, words, weights, states, found):  # type: ignore[no-untyped-def]
    gates, outputs, cells, highest = _beginning()
    for first in range(0, len(order), _LANES):
        begin = padding[order[first + _LANES - 1]]  # the least of the four, which are sorted by it
        for lane in range(_LANES):
            outputs[lane * _WIDE : (lane + 1) * _WIDE] = states[begin, 0]
            cells[lane * _WIDE : (lane + 1) * _WIDE] = states[begin, 1]
            highest[lane * _WIDE : (lane + 1) * _WIDE] = states[begin, 2]
        for place in range(begin, TOKENS):
            _step(windows, order, first, place, words, weights, gates, outputs, cells, highest)
        for lane in range(_LANES):
            found[order[first + lane], :UNITS] = highest[lane * _WIDE : lane * _WIDE + UNITS]


@kernel
def _run_backward(windows, order, words, weights, found):  # type: ignore[no-untyped-def]
    gates, outputs, cells, highest = _beginning()
    for first in range(0, len(order), _LANES):
        outputs[:] = 0
        cells[:] = 0
        highest[:] = _LOWEST
        for place in range(TOKENS - 1, -1, -1):
            _step(windows, order, first, place, words, weights, gates, outputs, cells, highest)
        for lane in range(_LANES):
            found[order[first + lane], UNITS:] = highest[lane * _WIDE : lane * _WIDE + UNITS]


@kernel
def _judge(highest, hidden, hidden_bias, output, output_bias, scores):  # type: ignore[no-untyped-def]
    """The dense layers."""
    middle, last = np.zeros(len(hidden_bias), np.float32), np.zeros(len(output_bias), np.float32)
    one, far = np.float32(1), np.float32(18)
    for window in range(len(highest)):
        _copy(middle, hidden_bias)
        for at in range(len(hidden)):
            _add_product(middle, highest[window, at], hidden[at])
        _copy(last, output_bias)
        for at in range(len(output)):
            _add_product(last, max(middle[at], np.float32(0)), output[at])
        for at in range(len(last)):
            scores[window, at] = np.divide(one, one + _exp(-_within(last[at], far)))
