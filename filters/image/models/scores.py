"""Scores of pictures by the user's own models: a head over the vectors of `image.embedding`, or a whole network.

A head is a safetensors file of linear layers, or an ONNX file that reads vectors; a whole network is an ONNX file that
reads pictures. winnow ships no weights for these, so `model` is required.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, fields
from functools import partial
from typing import Annotated, Any, Final, Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from winnow.filters.extras import one_line, required_model
from winnow.filters.image.decode.batches import pixels_of
from winnow.filters.image.models.framing import Framing
from winnow.filters.image.models.networks import EXTRA, PictureNetwork
from winnow.filters.models.formats import format_of
from winnow.filters.models.linear_layers import linear_layers
from winnow.filters.models.onnx.sessions import open_session
from winnow.filters.models.tensors import read_tensors
from winnow.filters.models.unit_vectors import NOT_FINITE
from winnow.filters.operators import STATUS, Assets, Kernel, Operator, PictureOperator, TextOperator
from winnow.schemas.errors import RecipeError
from winnow.schemas.recipe.checks import Between

NO_EMBEDDING: Final = "no_embedding"
"""The status of a row whose pictures have no vectors."""

Numbers = NDArray[np.float64]
Head = Callable[[NDArray[np.float32]], Numbers]
"""From a vector to the numbers that a model gives."""

_EXPECTED = "the path of a head in safetensors or ONNX, or of a whole ONNX network with `reads: pictures`"
_OF_PICTURES = pa.schema([STATUS, pa.field("score", pa.float32())])
_OF_VECTORS = pa.schema([STATUS, pa.field("score", pa.list_(pa.float32()))])
_DECIMALS = 5


@dataclass(frozen=True, slots=True)
class ScoreConfig:
    """The model, its input, and which of its numbers is the score."""

    model: str = ""  # required
    reads: Literal["embedding", "pictures"] = "embedding"
    embedding: str = "image.embedding"  # the layer whose vectors a head reads
    hidden: Literal["relu", "none"] = "relu"  # between the layers of a head in safetensors
    output: str = ""  # for an ONNX file, the output's name; the first by default
    number: Annotated[int, Between(0, 100_000)] = 0  # which of the model's numbers is the score, such as a class
    activation: Literal["none", "sigmoid", "softmax"] = "none"  # applied to the numbers
    framing: Framing = field(default_factory=Framing)  # for a whole network


class _ScoreOperator(PictureOperator):
    """Scores pictures by a whole network; `configured` makes it an operator on rows for a head, which reads vectors."""

    __slots__ = ()

    def configured(self, config: ScoreConfig) -> Operator:
        """The operator itself, or for a head its form on rows."""
        if config.reads == "pictures":
            return self
        same: dict[str, Any] = {one.name: getattr(self, one.name) for one in fields(Operator)}
        return TextOperator(**same, reads=lambda head: (f"{head.embedding}.vector",), needs=())


def score_operator(name: str, summary: str) -> PictureOperator:
    """An operator that writes one score for each picture."""
    return _ScoreOperator(
        name=name,
        version=1,
        summary=summary,
        config=ScoreConfig,
        writes=lambda config: _OF_PICTURES if config.reads == "pictures" else _OF_VECTORS,
        load=partial(_load, name),
        side=lambda config: config.framing.decoded_side,
        assets=lambda config: (required_model(name, config.model, _EXPECTED),),
        resource="model",
        reasons=(NOT_FINITE, NO_EMBEDDING),
    )


def read_head(path: str, hidden: Literal["relu", "none"]) -> Head:
    """The head in a safetensors file: `weight` and `bias`, or `0.weight`, `0.bias`, `2.weight` … as in PyTorch.

    Raises:
        RecipeError: It contains something else.
    """
    layers = linear_layers(read_tensors(path).arrays, path)
    reads = layers[0][0].shape[1]

    def head(vector: NDArray[np.float32]) -> Numbers:
        if len(vector) != reads:
            raise RecipeError(f"{path}: the head reads vectors of {reads} numbers, and these have {len(vector)}")
        found: Numbers = vector.astype(np.float64)
        for number, (weights, bias) in enumerate(layers):
            found = weights @ (np.maximum(found, 0) if number and hidden == "relu" else found) + bias
        return found

    return head


def _load(name: str, config: ScoreConfig, assets: Assets) -> Kernel:
    path = assets.path(required_model(name, config.model, _EXPECTED))
    if config.reads == "pictures":
        network = PictureNetwork(name, path, config.framing, (config.output,) if config.output else ())
        _require_number(path, int(np.prod(network.shapes[0], dtype=np.int64)), config)
        return partial(_of_pictures, path=path, config=config, network=network)
    kind = format_of(path, "expected a head in safetensors, or an ONNX file")
    head = read_head(path, config.hidden) if kind == "safetensors" else _onnx_head(name, path, config)
    return partial(_of_vectors, path=path, config=config, head=head)


def _onnx_head(name: str, path: str, config: ScoreConfig) -> Head:
    session = open_session(name, EXTRA, path)
    inputs = session.get_inputs()
    if len(inputs) != 1 or inputs[0].type != "tensor(float)" or len(inputs[0].shape) != 2:
        described = ", ".join(f"{one.name} is {one.type} {one.shape}" for one in inputs)
        raise RecipeError(f"{path}: {described}; expected one input of shape [pictures, numbers], or `reads: pictures`")
    outputs = [one.name for one in session.get_outputs()]
    if config.output and config.output not in outputs:
        raise RecipeError(f"{path}: no output {config.output}; expected one of: {', '.join(outputs)}")

    def head(vector: NDArray[np.float32]) -> Numbers:
        try:
            (found,) = session.run([config.output or outputs[0]], {inputs[0].name: vector[None]})
            return np.asarray(found, np.float64).reshape(-1)
        except Exception as error:  # noqa: BLE001, the package has a class of its own for each cause, under none in common
            raise RecipeError(f"{path}: the head fails on {len(vector)} numbers: {one_line(error)}") from None

    return head


def _of_pictures(batch: pa.RecordBatch, path: str, config: ScoreConfig, network: PictureNetwork) -> pa.RecordBatch:
    scores = [_score(path, config, network(pixels)[0].astype(np.float64).reshape(-1)) for pixels in pixels_of(batch)]
    statuses = pa.array(["ok" if score is not None else NOT_FINITE for score in scores], pa.string())
    return pa.RecordBatch.from_arrays([statuses, pa.array(scores, pa.float32())], schema=_OF_PICTURES)


def _of_vectors(batch: pa.RecordBatch, path: str, config: ScoreConfig, head: Head) -> pa.RecordBatch:
    """The layer of rows whose pictures have vectors: the head is run once per vector, in microseconds."""
    rows: list[list[float | None] | None] = []
    statuses = []
    for row in batch.column(0):
        vectors = [one.values.to_numpy() if one.is_valid else None for one in row.values] if row.is_valid else []
        scores = [None if vector is None else _score(path, config, head(vector)) for vector in vectors]
        if all(vector is None for vector in vectors):
            statuses.append(NO_EMBEDDING)
        else:
            statuses.append(NOT_FINITE if all(score is None for score in scores) else "ok")
        rows.append(scores if row.is_valid else None)
    columns = [pa.array(statuses, pa.string()), pa.array(rows, _OF_VECTORS.field("score").type)]
    return pa.RecordBatch.from_arrays(columns, schema=_OF_VECTORS)


def _score(path: str, config: ScoreConfig, numbers: Numbers) -> float | None:
    """The score, rounded; None if it is not finite."""
    _require_number(path, len(numbers), config)
    if not np.isfinite(numbers).all():
        return None
    if config.activation == "sigmoid":
        numbers = 1 / (1 + np.exp(-np.clip(numbers, -500, 500)))
    elif config.activation == "softmax":
        likely = np.exp(numbers - numbers.max())
        numbers = likely / likely.sum()
    found = np.float32(round(float(numbers[config.number]), _DECIMALS))
    return float(found) if np.isfinite(found) else None


def _require_number(path: str, count: int, config: ScoreConfig) -> None:
    if config.number >= count:
        raise RecipeError(f"{path}: the model gives {count} numbers; set `number` to less, it is {config.number}")
