"""A quality head: one linear layer or two over a text's embedding, in one safetensors file.

The file holds the layers as PyTorch names them, the curves of its calibration, and its card as JSON in the metadata:
all that decides its answers is under the file's hash. Another program's linear head in safetensors has no card; its
answer is its score.

Scores are exact: vectors, weights and what lies between layers are rounded to whole numbers so small that every sum is
one that a double holds. So a row's score depends neither on its batch nor on the library of matrix products.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
import orjson
from numpy.typing import NDArray

from winnow.filters.models.formats import format_of
from winnow.filters.models.heads.curves import POOLED, Answer, Curve, Floats, calibrated
from winnow.filters.models.linear_layers import Layer, linear_layers
from winnow.filters.models.tensors import Array, read_tensors, tensors_bytes
from winnow.schemas.errors import RecipeError
from winnow.schemas.identity import Json
from winnow.schemas.typed_json import read_value

DECIMALS: Final = 6
MAX_WIDTH: Final = 1 << 14

_FORMAT = 1
_CARD = "winnow.head"
_CURVE = "calibration."
_SUM_BITS, _WEIGHT_BITS = 52, 20  # inputs get what is left of a double, 18 bits or more
_ROWS = 1024  # of a block of vectors: 8 MiB at 1,024 numbers
_EXPECTED = "expected a head in safetensors, such as one made by `winnow train-quality`"


@dataclass(frozen=True, slots=True)
class HeadCard:
    """What a head says of itself. Only `answer` decides how it is used."""

    answer: Answer
    method: str
    threshold: float
    embedding: Mapping[str, Json]  # the layer that it was trained on, with its key by source
    training: Mapping[str, Json] = field(default_factory=dict)  # counts and settings
    held_out: Mapping[str, Json] = field(default_factory=dict)  # measured on texts not used in training
    versions: Mapping[str, Json] = field(default_factory=dict)


@dataclass(frozen=True)
class Head:
    """A head that is ready to score."""

    layers: Sequence[Layer]
    curves: Mapping[str, Curve]  # by language; none for another program's head
    card: HeadCard | None
    _exact: "tuple[_ExactLayer, ...]" = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        exact, largest, length = [], 1.0, 1.0  # vectors have unit length
        for weights, bias in self.layers:
            exact.append(_ExactLayer.of(weights, bias, largest))
            bounds = np.sqrt(np.square(weights).sum(axis=1)) * length + np.abs(bias)  # Cauchy and Schwarz
            largest, length = float(bounds.max()), float(np.sqrt(np.square(bounds).sum()))
        object.__setattr__(self, "_exact", tuple(exact))

    @property
    def width(self) -> int:
        """The numbers of a vector that it reads."""
        return int(self.layers[0][0].shape[1])

    def scores(self, vectors: NDArray[np.float32]) -> Floats:
        """The score of each vector, before calibration."""
        found = np.empty(len(vectors))
        for begin in range(0, len(vectors), _ROWS):
            values = vectors[begin : begin + _ROWS].astype(np.float64)
            for number, layer in enumerate(self._exact):
                values = layer(np.maximum(values, 0) if number else values)
            found[begin : begin + _ROWS] = values[:, 0]
        rounded: Floats = np.round(found, DECIMALS)
        return rounded

    def answers(self, scores: Floats, languages: Sequence[str | None]) -> Floats:
        """The probability or grade for each score."""
        rounded: Floats = np.round(calibrated(self.curves, scores, languages), DECIMALS)
        return rounded


@dataclass(frozen=True)
class _ExactLayer:
    """A layer in whole numbers: `weights` times inputs in steps of `step`, and the size of a unit of the product."""

    weights: Floats  # whole
    bias: Floats
    step: float
    unit: float

    @classmethod
    def of(cls, weights: Floats, bias: Floats, largest: float) -> "_ExactLayer":
        """The layer for inputs of at most this size."""
        bits = _SUM_BITS - _WEIGHT_BITS - int(weights.shape[1] - 1).bit_length()
        step = _power_of_two(largest) / (1 << bits)
        grain = _power_of_two(float(np.abs(weights).max())) / (1 << _WEIGHT_BITS)
        return cls(np.ascontiguousarray(np.rint(weights / grain).T), bias, step, step * grain)

    def __call__(self, inputs: Floats) -> Floats:
        found: Floats = (np.rint(inputs / self.step) @ self.weights) * self.unit + self.bias
        return found


def _power_of_two(value: float) -> float:
    """The smallest power of two that is not below a number: dividing by it is exact."""
    return float(2.0 ** np.ceil(np.log2(value))) if value > 0 else 1.0


def head_bytes(head: Head) -> bytes:
    """The file of a head; equal heads give equal bytes."""
    arrays: dict[str, Array] = {}
    for number, (weights, bias) in enumerate(head.layers):
        # As PyTorch's Sequential numbers them, with the ReLU between two layers.
        arrays[f"{2 * number}.weight"] = weights.astype(np.float32)
        arrays[f"{2 * number}.bias"] = bias.astype(np.float32)
    for language, curve in head.curves.items():
        arrays[f"{_CURVE}{language}.scores"] = curve.scores.astype(np.float64)
        arrays[f"{_CURVE}{language}.values"] = curve.values.astype(np.float64)
    if head.card is None:
        return tensors_bytes(arrays, {})
    card = {"format": _FORMAT} | {name: getattr(head.card, name) for name in HeadCard.__dataclass_fields__}
    return tensors_bytes(arrays, {_CARD: orjson.dumps(card, option=orjson.OPT_SORT_KEYS).decode()})


def read_head(path: str) -> Head:
    """Read a head.

    Raises:
        RecipeError: It is another file, a pickle, damaged, or its arrays do not fit together.
    """
    if format_of(path, _EXPECTED) != "safetensors":
        raise RecipeError(f"{path}: not a safetensors file; {_EXPECTED}")
    file = read_tensors(path)
    layers = linear_layers({name: array for name, array in file.arrays.items() if not name.startswith(_CURVE)}, path)
    if layers[-1][0].shape[0] != 1:
        raise RecipeError(f"{path}: the head gives {layers[-1][0].shape[0]} numbers; expected one")
    if (width := layers[0][0].shape[1]) > MAX_WIDTH:
        raise RecipeError(f"{path}: the head reads vectors of {width:,} numbers; expected {MAX_WIDTH:,} at most")
    return Head(layers, _curves(path, file.arrays), _card(path, file.metadata))


def _card(path: str, metadata: Mapping[str, str]) -> HeadCard | None:
    if _CARD not in metadata:
        return None
    try:
        value = orjson.loads(metadata[_CARD])
        if not isinstance(value, dict) or value.pop("format", None) != _FORMAT:
            raise ValueError("its card is of another format")
        return read_value(HeadCard, value)
    except ValueError as error:
        raise RecipeError(f"{path}: not a head of this version of winnow: {error}; train it again") from None


def _curves(path: str, arrays: Mapping[str, Array]) -> dict[str, Curve]:
    curves = {}
    ends = (f"{_CURVE}", ".scores")
    for name in sorted(arrays):
        if not name.startswith(_CURVE):
            continue
        language = name.removeprefix(ends[0]).removesuffix(".scores").removesuffix(".values")
        pair = [arrays.get(f"{_CURVE}{language}.{part}") for part in ("scores", "values")]
        if any(one is None or one.ndim != 1 or not len(one) or not np.isfinite(one).all() for one in pair):
            raise RecipeError(f"{path}: {name}: not a curve of finite numbers; train it again")
        scores, values = (np.asarray(one, np.float64) for one in pair)
        if len(scores) != len(values) or (np.diff(scores) <= 0).any() or (np.diff(values) < 0).any():
            raise RecipeError(f"{path}: {name}: not a rising curve; train it again")
        curves[language] = Curve(scores, values)
    if curves and POOLED not in curves:
        raise RecipeError(f"{path}: no curve for all languages together; train it again")
    return curves
