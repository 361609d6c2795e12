"""The device, precision and memory of PyTorch models."""

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

import numpy as np

from winnow.schemas.errors import ScoreError
from winnow.schemas.recipe.checks import LATER, Between
from winnow.scoring.mimic.determinism import deterministic
from winnow.scoring.mimic.models import Placement
from winnow.scoring.torch_models.packages import required_package

if TYPE_CHECKING:
    from torch import Tensor, dtype  # type: ignore[import-not-found, unused-ignore]

_WIDE: Final = 4  # bytes of a number
_ONE: Final = threading.RLock()
"""A lock: PyTorch's modes apply to the whole process, and a user's module holds the parameters of a call."""


@dataclass(frozen=True, slots=True)
class TorchRuntime:
    """The device, precision and memory of one model."""

    device: Literal["cpu", "cuda"] = "cpu"  # winnow's: every machine has one
    compute: Literal["float32", "bfloat16", "float64"] = "float32"  # winnow's: what the tolerance is declared for
    memory_bytes: Annotated[int, Between(1, 1 << 42)] = 256 << 20
    """As in MimicSettings: the memory of tensors while samples are scored, which limits samples at once. Halved if
    memory runs out."""
    accumulate: Annotated[int, Between(0, 1 << 20)] = field(default=0, metadata=LATER)
    """winnow's: a training batch at once; or as many of its samples at a time, for the gradient of the whole batch."""
    compiled: bool = field(default=False, metadata=LATER)
    """winnow's: no; whether `torch.compile` makes one program of a network's losses and gradients. Forward derivatives
    are not compiled."""

    @property
    def stored_dtype(self) -> "np.dtype[Any]":
        """The type of stored and trained weights, independent of the type of computation."""
        return np.dtype(np.float64 if self.compute == "float64" else np.float32)

    @property
    def compute_dtype(self) -> "dtype":
        """The type of computation in PyTorch."""
        import torch

        found: dtype = getattr(torch, str(self.stored_dtype))
        return found

    @property
    def placement(self) -> Placement:
        """The placement for scoring."""
        return Placement(self.device, self.compute)

    def ready(self, task: str) -> None:
        """Raise ScoreError if PyTorch or the device is missing."""
        torch = required_package(task, "torch")
        if self.device == "cuda" and not torch.cuda.is_available():
            raise ScoreError(f"{task}: `device: cuda`, and PyTorch finds none here; expected `device: cpu`")


def kind_of(weights: "Mapping[str, Tensor]") -> "dtype":
    """The floating-point type of weights, for the network's other inputs."""
    return next(one.dtype for one in weights.values() if one.is_floating_point())


def at_least_float32(said: "Tensor") -> "Tensor":
    """A network's output in at least 32 bits, for computing losses."""
    return said.float() if said.itemsize < _WIDE else said


@contextmanager
def exclusive_torch(device: str = "cpu") -> Iterator[None]:
    """Use PyTorch deterministically, in one thread of the process at a time.

    On a GPU fused attention and PyTorch's own precision of products hold, except under forward derivatives; on a CPU
    plain attention does always. Do not yield from within, as the modes would stay on in the caller.
    """
    with _ONE, deterministic(exact=device == "cpu"):
        yield
