"""A network: arrays by name in, numbers out, without state of its own. The user's own modules become one here."""

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from winnow.schemas.errors import ScoreError
from winnow.scoring.torch_models.needed import one_line
from winnow.scoring.torch_models.running import Running, alone

if TYPE_CHECKING:
    from torch import Tensor  # type: ignore[import-not-found, unused-ignore]

Parameters: TypeAlias = "dict[str, Tensor]"

_EXPECTED = "expected `module:function`, a function without arguments that makes a torch.nn.Module"


@dataclass(frozen=True, slots=True)
class Network:
    """What computes; whatever it knows is in the arrays that it is given."""

    initial: Callable[[int], Parameters]  # from a seed to every array, on the CPU
    forward: Callable[..., "Tensor"]  # (parameters, *inputs) → numbers
    shapes: Mapping[str, tuple[int, ...]]  # of every array
    fixed: frozenset[str] = frozenset()  # arrays that are not trained: buffers, and what does not require a gradient
    spare: frozenset[str] = frozenset()  # names that files may hold beside these: counters, other names of tied arrays

    @property
    def trained(self) -> tuple[str, ...]:
        """The arrays that are trained and that a direction may go over, in their order."""
        return tuple(name for name in self.shapes if name not in self.fixed)


def network_of(architecture: str, running: Running, methods: tuple[str, ...] = ()) -> Network:
    """The network that a module of the user's is, in the mode of use: no dropout, statistics of batches as they stand.

    Where `methods` are named, the network's first input says which of them to call; else the module itself is called.

    Args:
        architecture: `module:function`.
        running: Where it computes, and how precisely: for what the module keeps beside its parameters.
        methods: What the module must have.
    """
    import torch
    from torch.func import functional_call  # type: ignore[import-not-found, unused-ignore]

    class Calls(torch.nn.Module):  # type: ignore[misc, unused-ignore]
        """The module under a name, as only a module itself can be called with other parameters."""

        def __init__(self, module: Any) -> None:
            super().__init__()
            self.module = module

        def forward(self, *inputs: Any) -> Any:
            if not methods:
                return self.module(*inputs)
            return getattr(self.module, inputs[0])(*inputs[1:])

    def initial(seed: int) -> Parameters:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            found = _arrays(_built(architecture))
        return {name: array.detach().clone().to(running.kind) for name, array in found.items()}

    module = _built(architecture)
    for method in methods:
        if not callable(getattr(module, method, None)):
            raise ScoreError(f"`architecture`: {architecture} made a {type(module).__name__} without `{method}`")
    arrays = _arrays(module)
    parameters = dict(module.named_parameters())
    calls = Calls(module).to(running.device, running.placement.dtype).eval()

    def forward(given: Parameters, *inputs: Any) -> "Tensor":
        found = functional_call(calls, {f"module.{name}": array for name, array in given.items()}, inputs)
        found = getattr(found, "logits", found)
        return found[0] if isinstance(found, tuple | list) else found

    return Network(
        initial=initial,
        forward=forward,
        shapes={name: tuple(array.shape) for name, array in arrays.items()},
        fixed=frozenset(name for name in arrays if name not in parameters or not parameters[name].requires_grad),
        spare=frozenset(module.state_dict(keep_vars=True).keys() - arrays.keys()),
    )


def tried(
    network: Network, running: Running, inputs: tuple[Any, ...], expected: tuple[int, ...] | None, what: str
) -> tuple[int, ...]:
    """The shape of what a network says, tried on one example before any row is read.

    Args:
        network: The network.
        running: Where it computes.
        inputs: What it is given.
        expected: The shape of what it has to say; None: a row of numbers.
        what: The network and its input, for messages.

    Raises:
        ScoreError: It fails, or says something else.
    """
    import torch

    with alone(), torch.no_grad():
        parameters = {name: running.placement.tensor(one) for name, one in network.initial(0).items()}
        try:
            shape = tuple(network.forward(parameters, *inputs).shape)
        except Exception as error:  # noqa: BLE001, the user's code may raise anything
            raise ScoreError(f"`architecture`: {what} it fails: {one_line(error)}") from None
    if shape != (expected or (1, *shape[1:2])):
        wanted = expected or "one row of numbers"
        raise ScoreError(f"`architecture`: {what} it says numbers of shape {shape}; expected {wanted}")
    return shape


def function_identity(architecture: str) -> tuple[str, ...]:
    """The hash of the file that a user's function is in; nothing where it does not exist, which its call says."""
    module = architecture.partition(":")[0]
    try:
        spec = find_spec(module) if module else None
    except (ImportError, ValueError):
        return ()
    origin = Path(spec.origin) if spec is not None and spec.origin else None
    if origin is None or not origin.is_file():
        return ()
    return (f"{module} {hashlib.sha256(origin.read_bytes()).hexdigest()}",)


def _built(architecture: str) -> Any:
    import torch

    module, _, name = architecture.partition(":")
    try:
        made = getattr(import_module(module), name)()
    except Exception as error:  # noqa: BLE001, the user's code may raise anything
        raise ScoreError(f"`architecture`: {architecture} cannot be called: {one_line(error)}; {_EXPECTED}") from None
    if not isinstance(made, torch.nn.Module):
        raise ScoreError(f"`architecture`: {architecture} made a {type(made).__name__}; {_EXPECTED}")
    return made


def _arrays(module: Any) -> "Parameters":
    """Parameters, and buffers of numbers that files keep; a tied one once."""
    kept = module.state_dict(keep_vars=True)
    buffers = {name: one for name, one in module.named_buffers() if name in kept and one.is_floating_point()}
    return {**dict(module.named_parameters()), **buffers}
