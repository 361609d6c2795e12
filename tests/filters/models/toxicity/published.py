"""The published network, where it has been fetched."""

import numpy as np
import numpy.typing as npt
import pytest

from winnow.filters.models.conversion.toxicity import UNITS
from winnow.filters.models.toxicity import NAME
from winnow.pipelines.assets import AssetError, lookup


def published() -> str:
    """Where it lies; the test is skipped where it does not, and says what to run."""
    try:
        return lookup(NAME)
    except AssetError as error:
        pytest.skip(str(error))


def published_weights() -> dict[str, npt.NDArray[np.float32]]:
    """Its weights by the names of `conversion.SHAPES`, with the gates of its LSTM as Keras orders them."""
    onnx = pytest.importorskip("onnx")
    constants = onnx.load(published()).graph.initializer
    found = {one.name: onnx.numpy_helper.to_array(one) for one in constants}
    for part in ("kernel", "recurrent", "bias"):
        for way, gates in zip(("forward", "backward"), found.pop(part), strict=True):
            let_in, let_out, keep, new = np.split(gates[: 4 * UNITS], 4)
            found[f"{way}.{part}"] = np.concatenate([let_in, keep, new, let_out]).T
    return found
