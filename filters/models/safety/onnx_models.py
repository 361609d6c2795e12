"""ONNX models, run by ONNX Runtime on one thread, one window at a time."""

from typing import Any

import numpy as np
import numpy.typing as npt

from winnow.filters.extras import one_line
from winnow.filters.models.onnx.sessions import open_session
from winnow.filters.models.safety.tokens import INPUTS, OPERATOR, Window
from winnow.schemas.errors import RecipeError

_INTEGERS = {"tensor(int64)": np.int64, "tensor(int32)": np.int32}
_FLOATS = ("tensor(float)", "tensor(double)", "tensor(float16)")


class OnnxModel:
    """An ONNX model: computes one number per label from a window."""

    def __init__(self, path: str, max_tokens: int, labels: int, pad: int) -> None:
        self._path = path
        self._session = open_session(OPERATOR, "onnx", path)
        inputs, outputs = self._session.get_inputs(), self._session.get_outputs()
        wrong = [problem for one in inputs if (problem := _input_problem(one, max_tokens))]
        if "input_ids" not in {one.name for one in inputs}:
            wrong.append("no input input_ids")
        lengths = {one.shape[1] for one in inputs if len(one.shape) == 2 and isinstance(one.shape[1], int)}
        if len(lengths) > 1:
            wrong.append(f"inputs of different lengths: {', '.join(map(str, sorted(lengths)))}")
        wrong += _output_problems(outputs[0], labels)
        if wrong:
            raise RecipeError(f"{path}: {'; '.join(wrong)}")
        self._inputs = {one.name: _INTEGERS[one.type] for one in inputs}
        self._output = outputs[0].name
        self._length = max(lengths, default=0)
        self._pad = pad

    def __call__(self, window: Window) -> npt.NDArray[np.float64]:
        """The model's outputs, before any activation."""
        fed = window.inputs(self._length, self._pad)
        given = {name: np.array([fed[name]], kind) for name, kind in self._inputs.items()}
        try:
            (found,) = self._session.run([self._output], given)
        except Exception as error:  # noqa: BLE001, the package has a class of its own for each cause, under none in common
            raise RecipeError(f"{self._path}: the model fails on {len(window.ids)} tokens: {one_line(error)}") from None
        return np.asarray(found, np.float64).reshape(-1)


def _input_problem(one: Any, max_tokens: int) -> str | None:
    """The problem with an input, or None."""
    described = f"the input {one.name} is {one.type} {one.shape}"
    if one.name not in INPUTS:
        return f"{described}; texts provide only {', '.join(INPUTS)}"
    if one.type not in _INTEGERS or len(one.shape) != 2:
        return f"{described}; expected int64 or int32 of shape [texts, tokens]"
    texts, tokens = one.shape
    if isinstance(texts, int) and texts != 1:
        return f"{described}; expected one text at a time"
    if isinstance(tokens, int) and tokens < max_tokens:
        return f"{described}; set `max_tokens` to at most {tokens}"
    return None


def _output_problems(one: Any, labels: int) -> list[str]:
    described = f"the first output, {one.name}, is {one.type} {one.shape}"
    if one.type not in _FLOATS:
        return [f"{described}; expected numbers of shape [texts, labels]"]
    if len(one.shape) != 2 or (isinstance(one.shape[1], int) and one.shape[1] != labels):
        return [f"{described}; `labels` names {labels}"]
    return []
