"""Check weights from files against a network, and convert them to tensors and back."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from winnow.schemas.errors import ScoreError
from winnow.schemas.problems import listed, one_line
from winnow.scoring.protocol import Weights
from winnow.scoring.torch_models.networks import Network, Parameters
from winnow.scoring.torch_models.runtime import TorchRuntime

if TYPE_CHECKING:
    from torch import Tensor  # type: ignore[import-not-found, unused-ignore]


def check_weights(network: Network, weights: Weights, running: TorchRuntime, where: str) -> None:
    """Raise ScoreError if weights do not match the network, with all kinds of mismatches, or are not finite."""
    wrong = list(_mismatches(network, weights, running))
    if wrong:
        raise ScoreError(f"{where}: these weights do not fit this model: {'; '.join(wrong)}")
    unfinished = [name for name in network.shapes if not np.isfinite(weights[name]).all()]
    if unfinished:
        raise ScoreError(
            f"{where}: not finite: {listed(unfinished)}; expected the weights of a training that converged"
        )


def _mismatches(network: Network, weights: Weights, running: TorchRuntime) -> Iterator[str]:
    if missing := sorted(network.shapes.keys() - weights.keys()):
        yield f"missing {listed(missing)}"
    if unexpected := sorted(weights.keys() - network.shapes.keys() - network.spare):
        yield f"unexpected {listed([one_line(name) for name in unexpected])}"
    common = [name for name in network.shapes if name in weights]
    shapes = [
        f"{name} has shape {weights[name].shape}, expected {network.shapes[name]}"
        for name in common
        if weights[name].shape != network.shapes[name]
    ]
    if shapes:
        yield listed(shapes, between="; ")
    types = [
        f"{name} is {weights[name].dtype}, expected {running.stored_dtype}"
        for name in common
        if weights[name].dtype.kind != "f" or weights[name].dtype.itemsize > running.stored_dtype.itemsize
    ]
    if types:
        yield listed(types, between="; ")
    others = [
        name for name, one in network.constant.items() if name in weights and not np.array_equal(weights[name], one)
    ]
    if others:
        yield f"integers that differ from the model's constants: {listed(others)}"


def as_stored(weights: Weights, running: TorchRuntime) -> Weights:
    """Weights in the type in which they are stored."""
    return {name: np.asarray(value, running.stored_dtype) for name, value in weights.items()}


def tensors_of(network: Network, weights: Weights, running: TorchRuntime) -> Parameters:
    """Checked weights as new trainable tensors on the network's device."""
    import torch

    return {
        name: torch.from_numpy(np.array(weights[name], running.stored_dtype)).to(running.device)
        for name in network.shapes
    }


def arrays_of(parameters: Parameters) -> Weights:
    """Copy tensors to arrays, which later steps do not change."""
    return {name: array_of(value) for name, value in parameters.items()}


def array_of(tensor: "Tensor") -> "np.ndarray[tuple[int, ...], np.dtype[np.generic]]":
    """A copy of a tensor's numbers."""
    found: np.ndarray[tuple[int, ...], np.dtype[np.generic]] = tensor.detach().cpu().numpy().copy()
    return found
