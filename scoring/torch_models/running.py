"""The device, precision and memory of PyTorch models."""

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

import numpy as np

from winnow.schemas.errors import ScoreError
from winnow.schemas.recipe.checks import Between
from winnow.scoring.mimic.models import Placement
from winnow.scoring.mimic.pinned import pinned
from winnow.scoring.torch_models.packages import required_package

if TYPE_CHECKING:
    from torch import Tensor, dtype  # type: ignore[import-not-found, unused-ignore]

_WIDE: Final = 4  # bytes of a number
_ONE: Final = threading.RLock()
"""PyTorch's modes are of the whole process, and a module of the user's holds the parameters that it is called with."""


@dataclass(frozen=True, slots=True)
class Running:
    """The device, precision and memory of one model."""

    device: Literal["cpu", "cuda"] = "cpu"  # winnow's: every machine has one
    compute: Literal["float32", "bfloat16", "float64"] = "float32"  # winnow's: what the tolerance is declared for
    memory_bytes: Annotated[int, Between(1, 1 << 42)] = 256 << 20
    """MimicSettings': what tensors take while samples are scored, as many at once as that allows. Half as many wherever
    memory ends after all."""

    @property
    def held(self) -> "np.dtype[Any]":
        """What weights are held and trained in, whatever the network computes in."""
        return np.dtype(np.float64 if self.compute == "float64" else np.float32)

    @property
    def kind(self) -> "dtype":
        """That, as PyTorch names it."""
        import torch

        found: dtype = getattr(torch, str(self.held))
        return found

    @property
    def placement(self) -> Placement:
        """As the score takes it."""
        return Placement(self.device, self.compute)

    def ready(self, task: str) -> None:
        """Raise ScoreError where PyTorch is missing, or finds no such device."""
        torch = required_package(task, "torch")
        if self.device == "cuda" and not torch.cuda.is_available():
            raise ScoreError(f"{task}: `device: cuda`, and PyTorch finds none here; expected `device: cpu`")


def kind_of(weights: "Mapping[str, Tensor]") -> "dtype":
    """What a network computes in under these weights, for its other inputs."""
    return next(one.dtype for one in weights.values() if one.is_floating_point())


def at_least_float32(said: "Tensor") -> "Tensor":
    """What a network says, as losses are taken from it: never in fewer than 32 bits."""
    return said.float() if said.itemsize < _WIDE else said


@contextmanager
def exclusive_torch() -> Iterator[None]:
    """PyTorch where equal inputs give equal bits, one thread of the process at a time.

    Give nothing away from within: the modes would stay on in the caller.
    """
    with _ONE, pinned():
        yield
