"""ONNX models that read tokens of texts, run by ONNX Runtime on one thread, one window at a time."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from winnow.filters.extras import one_line
from winnow.filters.models.onnx.sessions import open_session
from winnow.filters.models.text_windows import INPUTS, Window
from winnow.schemas.errors import RecipeError
from winnow.schemas.problems import listed

_INTEGERS = {"tensor(int64)": np.int64, "tensor(int32)": np.int32}
_FLOATS = ("tensor(float)", "tensor(double)", "tensor(float16)")


class OnnxModel:
    """An ONNX model: computes an array of numbers from a window.

    Args:
        operator: The operator's name, for messages.
        path: The model's file.
        max_tokens: The most tokens of a window.
        pad: The token that fills up windows of models that read a fixed number of tokens.
        problems: What is wrong with the shape of an output, without the number of texts, which is its first side.
        output: The name of the output that is read; the first by default.

    Raises:
        RecipeError: A package is missing, or the file is not a model, or not one for texts.
    """

    def __init__(
        self,
        operator: str,
        path: str,
        max_tokens: int,
        pad: int,
        problems: Callable[[Sequence[int | str | None]], str],
        output: str = "",
    ) -> None:
        self._path = path
        self._session = open_session(operator, "onnx", path)
        inputs, outputs = self._session.get_inputs(), self._session.get_outputs()
        wrong = [problem for one in inputs if (problem := _input_problem(one, max_tokens))]
        if "input_ids" not in {one.name for one in inputs}:
            wrong.append("no input input_ids")
        lengths = {one.shape[1] for one in inputs if len(one.shape) == 2 and isinstance(one.shape[1], int)}
        if len(lengths) > 1:
            wrong.append(f"inputs of different lengths: {', '.join(map(str, sorted(lengths)))}")
        read = next((one for one in outputs if one.name == output), None) if output else outputs[0]
        if read is None:
            wrong.append(f"no output {output!r}; it has {listed([one.name for one in outputs])}")
        else:
            called = f"the output {output}" if output else f"the first output, {read.name},"
            wrong += _output_problems(called, read, problems)
        if wrong or read is None:
            raise RecipeError(f"{path}: {'; '.join(wrong)}")
        self._inputs = {one.name: _INTEGERS[one.type] for one in inputs}
        self._output = read.name
        self._length = max(lengths, default=0)
        self._pad = pad

    def __call__(self, window: Window) -> npt.NDArray[np.float64]:
        """The output for a window, without the side of the texts."""
        fed = window.inputs(self._length, self._pad)
        given = {name: np.array([fed[name]], kind) for name, kind in self._inputs.items()}
        try:
            (found,) = self._session.run([self._output], given)
        except Exception as error:  # noqa: BLE001, the package has a class of its own for each cause, under none in common
            raise RecipeError(f"{self._path}: the model fails on {len(window.ids)} tokens: {one_line(error)}") from None
        return np.asarray(np.asarray(found, np.float64)[0])


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


def _output_problems(called: str, one: Any, problems: Callable[[Sequence[int | str | None]], str]) -> list[str]:
    described = f"{called} is {one.type} {one.shape}"
    if one.type not in _FLOATS:
        return [f"{described}; expected numbers"]
    found = problems(one.shape)
    return [f"{described}; {found}"] if found else []
