"""Runs an ONNX network on pictures, one at a time, so that no result depends on the others of a batch."""

from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from winnow.filters.extras import one_line
from winnow.filters.models.formats import format_of
from winnow.filters.models.onnx.sessions import open_session
from winnow.filters.models.pictures.framing import Framing, colour_values, framed, tensor
from winnow.schemas.errors import RecipeError

EXTRA = "image-models"

_Number: TypeAlias = np.floating[Any] | np.uint8
_TYPES: Mapping[str, type[_Number]] = {
    "tensor(float)": np.float32,
    "tensor(float16)": np.float16,
    "tensor(uint8)": np.uint8,
}
_BYTES: NDArray[np.float32] = np.tile(np.arange(256, dtype=np.float32), (3, 1))
"""What a network that reads bytes is given for each level of a colour: the level."""


class PictureNetwork:
    """A network whose only input is a picture; it is run once when loaded, on black.

    Args:
        operator: The operator's name, for messages.
        path: Its ONNX file.
        framing: How pictures become its input.
        outputs: The names of the wanted outputs; by default the first.
        content: The network where it was made from weights, which the path names then.

    Raises:
        RecipeError: A package is missing, or the file is not a model, or not one for such pictures.
    """

    def __init__(
        self,
        operator: str,
        path: str,
        framing: Framing,
        outputs: tuple[str, ...] = (),
        content: bytes | None = None,
    ) -> None:
        if content is None and format_of(path, "expected an ONNX file") != "onnx":
            raise RecipeError(
                f"{path}: weights in safetensors; expected a network as an ONNX file, as torch.onnx.export writes it"
            )
        self._path, self._framing = path, framing
        self._session = open_session(operator, EXTRA, path, content, varying=framing.fit == "pad")
        self._input = self._checked_input()
        self._values = _BYTES if self._input[1] is np.uint8 else colour_values(framing)
        given = [one.name for one in self._session.get_outputs()]
        absent = [name for name in outputs if name not in given]
        if absent:
            raise RecipeError(f"{path}: no output {absent[0]}; expected one of: {', '.join(given)}")
        self._outputs = list(outputs or given[:1])
        black = np.zeros((framing.side, framing.side, 3), np.uint8)
        self.shapes = tuple(one.shape[1:] for one in self(black))

    def __call__(self, pixels: NDArray[np.uint8]) -> tuple[NDArray[np.float32], ...]:
        """The outputs for one picture, each as a batch of one; numbers may not be finite."""
        return self.run(framed(pixels, self._framing))

    def run(self, seen: NDArray[np.uint8]) -> tuple[NDArray[np.float32], ...]:
        """The outputs for a picture in the network's input size."""
        name, kind, channels_last = self._input
        given = tensor(seen, self._values, self._framing.colours, channels_last=channels_last).astype(kind, copy=False)
        try:
            found = self._session.run(self._outputs, {name: given})
            return tuple(_batch_of_one(one) for one in found)
        except Exception as error:  # noqa: BLE001, the package has a class of its own for each cause, under none in common
            height, width = seen.shape[:2]
            raise RecipeError(
                f"{self._path}: the model fails on {width} x {height} pixels: {one_line(error)}"
            ) from None

    def _checked_input(self) -> tuple[str, type[_Number], bool]:
        """The input's name and type, and whether colours come last."""
        inputs = self._session.get_inputs()
        if len(inputs) != 1:
            names = ", ".join(one.name for one in inputs)
            raise RecipeError(f"{self._path}: {len(inputs)} inputs: {names}; expected one, a picture")
        one = inputs[0]
        described = f"{self._path}: the input {one.name} is {one.type} {one.shape}"
        if one.type not in _TYPES or len(one.shape) != 4 or 3 not in (one.shape[1], one.shape[3]):
            raise RecipeError(f"{described}; expected floats, or bytes, of shape [pictures, 3, height, width]")
        channels_last = one.shape[1] != 3
        sides = one.shape[1:3] if channels_last else one.shape[2:]
        if isinstance(one.shape[0], int) and one.shape[0] != 1:
            raise RecipeError(f"{described}; expected one picture at a time")
        fixed = sorted({side for side in sides if isinstance(side, int)})
        if len(fixed) > 1 or (fixed and self._framing.fit == "pad"):
            raise RecipeError(f"{described}; expected a square, or sides of any length")
        if fixed and fixed[0] != self._framing.side:
            raise RecipeError(f"{described}; set `side` to {fixed[0]}")
        return one.name, _TYPES[one.type], channels_last


def _batch_of_one(output: object) -> NDArray[np.float32]:
    if not isinstance(output, np.ndarray) or output.dtype.kind not in "fiu" or output.ndim < 1 or output.shape[0] != 1:
        raise ValueError(f"an output is {getattr(output, 'shape', type(output).__name__)}; expected [1, …] of numbers")
    return output.astype(np.float32, copy=False)
