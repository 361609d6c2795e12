"""PyTorch models, built by a user's function with weights from a safetensors file and run on one thread."""

import inspect
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from winnow.filters.extras import one_line, required_package
from winnow.filters.models.text_windows import INPUTS, Window
from winnow.schemas.environment.modules import import_users_module
from winnow.schemas.errors import RecipeError
from winnow.schemas.problems import listed


class TorchModel:
    """A PyTorch module: computes one number per label from a window."""

    def __init__(self, operator: str, path: str, architecture: str) -> None:
        self._torch: Any = required_package(operator, "torch", "torch")
        storage: Any = required_package(operator, "safetensors.torch", "torch")
        self._path = path
        self._module = _built(self._torch, architecture)
        try:
            weights = storage.load_file(path)
        except Exception as error:  # noqa: BLE001, the package's own error has no class in common with others
            raise RecipeError(f"{path}: not a safetensors file, or a damaged one: {one_line(error)}") from None
        wrong = list(_differences(self._module.state_dict(), weights))
        if wrong:
            raise RecipeError(f"{path}: these weights do not fit {architecture}: {'; '.join(wrong)}")
        self._module.load_state_dict(weights)
        self._module.eval()
        self._torch.set_num_threads(1)
        self._takes = _taken(architecture, self._module)

    def __call__(self, window: Window) -> npt.NDArray[np.float64]:
        """The model's outputs, before any activation."""
        fed = window.inputs()
        try:
            with self._torch.inference_mode():
                found = self._module(**{name: self._torch.tensor([fed[name]]) for name in self._takes})
                found = getattr(found, "logits", found)
                found = found[0] if isinstance(found, tuple | list) else found
                return np.asarray(found.double().numpy()).reshape(-1)
        except (RuntimeError, IndexError, TypeError, ValueError, AttributeError) as error:
            raise RecipeError(f"{self._path}: the model fails on {len(window.ids)} tokens: {one_line(error)}") from None


def _built(torch: Any, architecture: str) -> Any:
    """The module built by the user's function."""
    module, _, name = architecture.partition(":")
    try:
        made = getattr(import_users_module(module), name)()
    except Exception as error:  # noqa: BLE001, the user's code may raise anything
        raise RecipeError(f"`architecture`: {architecture} cannot be called: {one_line(error)}") from None
    if not isinstance(made, torch.nn.Module):
        raise RecipeError(f"`architecture`: {architecture} made a {type(made).__name__}; expected a torch.nn.Module")
    return made


def _differences(expected: Mapping[str, Any], found: Mapping[str, Any]) -> Iterator[str]:
    """The parameters that are missing, unexpected or of another shape, by name."""
    if missing := sorted(expected.keys() - found.keys()):
        yield f"missing {listed(missing)}"
    if unexpected := sorted(found.keys() - expected.keys()):
        yield f"unexpected {listed(unexpected)}"
    for name in sorted(expected.keys() & found.keys()):
        ours, theirs = tuple(expected[name].shape), tuple(found[name].shape)
        if ours != theirs:
            yield f"{name} has shape {theirs}, expected {ours}"


def _taken(architecture: str, module: Any) -> tuple[str, ...]:
    """Which of a text's inputs the module takes."""
    parameters = inspect.signature(module.forward).parameters.values()
    foreign = [
        one.name
        for one in parameters
        if one.name not in INPUTS
        and one.default is inspect.Parameter.empty
        and one.kind in (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    ]
    names = {one.name for one in parameters}
    if foreign or "input_ids" not in names:
        wanted = ", ".join(foreign) or "no input_ids"
        raise RecipeError(f"`architecture`: {architecture} takes {wanted}; texts provide only {', '.join(INPUTS)}")
    return tuple(name for name in INPUTS if name in names)
