"""Stateless networks: named arrays in, numbers out; users' PyTorch modules are wrapped as such."""

import random
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from winnow.schemas.environment.modules import import_users_module
from winnow.schemas.errors import ScoreError
from winnow.scoring.mimic.exact import TOLERANCE
from winnow.scoring.torch_models.packages import one_line
from winnow.scoring.torch_models.runtime import TorchRuntime, exclusive_torch

if TYPE_CHECKING:
    from torch import Tensor  # type: ignore[import-not-found, unused-ignore]

Parameters: TypeAlias = "dict[str, Tensor]"

_EXPECTED: Final = "expected `module:function`, a function without arguments that makes a torch.nn.Module"
_COUNTER: Final = "num_batches_tracked"  # of batch statistics: unused in evaluation mode
_PLACES: Final = 64  # positions of a test text
_STIR: Final = 0.02  # noise added to an untrained network, whose zero layers would hide dependencies


@dataclass(frozen=True, slots=True)
class Network:
    """A network as a pure function of named arrays."""

    initial: Callable[[int], Parameters]  # from a seed to every array, on the CPU
    forward: Callable[..., "Tensor"]  # (parameters, *inputs) → numbers
    shapes: Mapping[str, tuple[int, ...]]  # of every array
    fixed: frozenset[str] = frozenset()  # untrained arrays: buffers, and parameters without gradient
    spare: frozenset[str] = frozenset()  # additional names allowed in files: counters, other names of tied arrays
    constant: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    """Integer constants of the network; if a file contains them, they must be equal."""
    name: str = ""  # `module:function` of the user's

    @property
    def trained(self) -> tuple[str, ...]:
        """The names of the trained arrays, over which directions are taken, in order."""
        return tuple(name for name in self.shapes if name not in self.fixed)


def network_of(architecture: str, running: TorchRuntime, methods: tuple[str, ...] = ()) -> Network:
    """Wrap a user's module as a network in evaluation mode: no dropout, fixed batch statistics.

    With `methods`, the network's first input names the method to call; else the module itself is called.

    Args:
        architecture: `module:function`.
        running: The device and precision, for tensors of the module that are not parameters.
        methods: The methods that the module must have.
    """
    import torch
    from torch.func import functional_call  # type: ignore[import-not-found, unused-ignore]

    class MethodCaller(torch.nn.Module):  # type: ignore[misc, unused-ignore]
        """Wraps the module, as `functional_call` can only call modules."""

        def __init__(self, module: Any) -> None:
            super().__init__()
            self.module = module

        def forward(self, *inputs: Any) -> Any:
            if not methods:
                return self.module(*inputs)
            return getattr(self.module, inputs[0])(*inputs[1:])

    def initial(seed: int) -> Parameters:
        found = _arrays(_built(architecture, seed))
        return {name: array.detach().clone().to(running.compute_dtype) for name, array in found.items()}

    module = _built(architecture, 0)  # the same seed in every process, for values outside the arrays
    for method in methods:
        if not callable(getattr(module, method, None)):
            raise ScoreError(f"`architecture`: {architecture} made a {type(module).__name__} without `{method}`")
    arrays, constant = _arrays(module), _constants(module)
    parameters = dict(module.named_parameters())
    calls = MethodCaller(module).to(running.device, running.placement.dtype).eval()

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
        constant=constant,
        name=architecture,
    )


def compiled(network: Network) -> Network:
    """The network compiled when it is first called, except inside derivatives that `torch.compile` does not know.

    Raises:
        ScoreError: It cannot be compiled, for example without a C++ compiler.
    """
    import torch

    fast = torch.compile(network.forward, dynamic=True)

    def forward(parameters: Parameters, *inputs: Any) -> "Tensor":
        if torch.autograd.forward_ad._current_level >= 0 or torch._C._are_functorch_transforms_active():
            return network.forward(parameters, *inputs)
        try:
            found: Tensor = fast(parameters, *inputs)
        except torch._dynamo.exc.TorchDynamoException as error:
            raise ScoreError(f"`compiled`: it cannot be compiled here: {one_line(error)}; remove `compiled`") from None
        return found

    return replace(network, forward=forward)


def output_shape(
    network: Network,
    running: TorchRuntime,
    inputs: tuple[Any, ...],
    expected: tuple[int, ...] | None,
    what: str,
    *,
    or_more: bool = False,
) -> tuple[int, ...]:
    """The output shape of a network, tested on one example before any row is read.

    Args:
        network: The network.
        running: The device and precision.
        inputs: The inputs.
        expected: The expected shape; None for one row of numbers.
        what: The network and its input, for messages.
        or_more: The last dimension may be larger than expected.

    Raises:
        ScoreError: The network fails, or its output has another shape.
    """
    import torch

    with exclusive_torch(), torch.no_grad():
        parameters = {name: running.placement.tensor(one) for name, one in network.initial(0).items()}
        try:
            shape = tuple(network.forward(parameters, *inputs).shape)
        except Exception as error:  # noqa: BLE001, the user's code may raise anything
            raise ScoreError(f"`architecture`: {what} it fails: {one_line(error)}") from None
    more = or_more and expected is not None and shape[:-1] == expected[:-1] and shape[-1:] > expected[-1:]
    if not more and shape != (expected or (1, *shape[1:2])):
        wanted = f"{expected or 'one row of numbers'}{', or more of the last' if or_more else ''}"
        raise ScoreError(f"`architecture`: {what} it says numbers of shape {shape}; expected {wanted}")
    return shape


def require_causal(network: Network, running: TorchRuntime, vocabulary: int, places: int) -> None:
    """Raise ScoreError if the output at a position depends on a later token."""
    import torch

    length = min(places, _PLACES)
    if length < 2 or vocabulary < 2:
        return
    generator = torch.Generator().manual_seed(0)
    parameters = {}
    for name, one in network.initial(0).items():
        noise = _STIR * torch.randn(one.shape, generator=generator).to(one.dtype)
        parameters[name] = running.placement.tensor(one if name in network.fixed else one + noise)
    text = torch.randint(vocabulary, (1, length), generator=generator).to(running.device)
    other = text.clone()
    other[0, -1] = (other[0, -1] + 1) % vocabulary
    with exclusive_torch():
        try:
            said, changed = (network.forward(parameters, one)[:, :-1].double() for one in (text, other))
        except Exception as error:  # noqa: BLE001, the user's code may raise anything
            raise ScoreError(f"`architecture`: {network.name} fails on a text: {one_line(error)}") from None
    if float((said - changed).abs().max()) > TOLERANCE[running.compute] * float(said.abs().max()):
        raise ScoreError(
            f"`architecture`: {network.name}: the output for a token depends on the next one; expected a causal model: "
            "give it a causal mask"
        )


def _built(architecture: str, seed: int) -> Any:
    import torch

    module, _, name = architecture.partition(":")
    try:
        with _seeded(seed):
            made = getattr(import_users_module(module), name)()
    except Exception as error:  # noqa: BLE001, the user's code may raise anything
        raise ScoreError(f"`architecture`: {architecture} cannot be called: {one_line(error)}; {_EXPECTED}") from None
    if not isinstance(made, torch.nn.Module):
        raise ScoreError(f"`architecture`: {architecture} made a {type(made).__name__}; {_EXPECTED}")
    return made


@contextmanager
def _seeded(seed: int) -> Iterator[None]:
    """Seed all random generators that a module may use, and restore their states at exit."""
    import torch

    plain, arrays = random.getstate(), np.random.get_state()
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        random.seed(seed)
        np.random.seed(seed % (1 << 32))
        try:
            yield
        finally:
            random.setstate(plain)
            np.random.set_state(arrays)


def _arrays(module: Any) -> "Parameters":
    """The parameters and persistent floating-point buffers; tied ones once."""
    kept = module.state_dict(keep_vars=True)
    buffers = {name: one for name, one in module.named_buffers() if name in kept and one.is_floating_point()}
    return {**dict(module.named_parameters()), **buffers}


def _constants(module: Any) -> dict[str, NDArray[Any]]:
    """The persistent integer buffers, such as positions, without batch counters."""
    kept = module.state_dict(keep_vars=True)
    return {
        name: one.detach().cpu().numpy().copy()
        for name, one in module.named_buffers()
        if name in kept and not one.is_floating_point() and name.rpartition(".")[2] != _COUNTER
    }
