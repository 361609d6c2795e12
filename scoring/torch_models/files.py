"""Read weights from PyTorch checkpoints and safetensors files without running code in them."""

import pickle
from typing import Any

import numpy as np

from winnow.schemas.errors import ScoreError
from winnow.schemas.problems import one_line as printable_line
from winnow.schemas.safetensors_index import files_of
from winnow.scoring.mimic.memory import is_out_of_memory
from winnow.scoring.protocol import Weights
from winnow.scoring.torch_models.packages import one_line, required_package

_WRAPPERS = ("state_dict", "model_state_dict", "model")
_HINT = "save it as safetensors: safetensors.torch.save_file(model.state_dict(), …)"


def read_checkpoint(path: str) -> Weights:
    """The tensors of a `.pt` or `.pth`, by torch.load(weights_only=True); bfloat16 becomes float32.

    Raises:
        ScoreError: It is not such a file, is damaged, or would run code, like pickles of whole models.
    """
    torch: Any = required_package("a checkpoint of PyTorch", "torch")
    try:
        found = torch.load(path, map_location="cpu", weights_only=True)
    except OSError as error:
        raise ScoreError(f"{path}: {error.strerror or error}; expected a checkpoint of PyTorch") from None
    except pickle.UnpicklingError:
        raise ScoreError(f"{path}: it holds more than tensors, or is damaged, and is not read; {_HINT}") from None
    except Exception as error:  # noqa: BLE001, a damaged archive raises whatever its readers do
        raise ScoreError(f"{path}: not a PyTorch checkpoint, or a damaged one: {one_line(error)}; {_HINT}") from None
    for wrapper in _WRAPPERS:
        if isinstance(found, dict) and isinstance(found.get(wrapper), dict):
            found = found[wrapper]
    if not isinstance(found, dict) or not found or not all(isinstance(one, torch.Tensor) for one in found.values()):
        raise ScoreError(f"{path}: expected tensors by name, as model.state_dict() gives them; {_HINT}")
    return {str(name): _array(torch, path, str(name), tensor) for name, tensor in found.items()}


def read_safetensors(path: str) -> Weights:
    """The tensors of a safetensors file, or of all files of an index; bfloat16 becomes float32.

    Raises:
        ScoreError: It is not such a file, or is damaged.
    """
    torch: Any = required_package("a file of safetensors", "torch")
    package: Any = required_package("a file of safetensors", "safetensors.torch")
    if (files := files_of(path)) != (path,):
        parts = [read_safetensors(file) for file in files]
        arrays = {name: array for part in parts for name, array in part.items()}
        if len(arrays) < sum(map(len, parts)):
            raise ScoreError(f"{path}: two of its files hold the same array; download them again")
        return arrays
    try:
        found = package.load_file(path, device="cpu")
    except OSError as error:
        raise ScoreError(f"{path}: {error.strerror or one_line(error)}; expected a safetensors file") from None
    except Exception as error:  # noqa: BLE001, the package's own error has no class in common with others
        if is_out_of_memory(error):
            raise ScoreError(f"{path}: its weights do not fit into memory; expected those of a smaller model") from None
        raise ScoreError(f"{path}: not a safetensors file, or a damaged one: {one_line(error)}") from None
    return {str(name): _array(torch, path, str(name), tensor) for name, tensor in found.items()}


def _array(torch: Any, path: str, name: str, tensor: Any) -> "np.ndarray[tuple[int, ...], np.dtype[np.generic]]":
    named = printable_line(name)
    if tensor.layout != torch.strided or tensor.is_quantized or tensor.is_complex() or tensor.is_meta:
        raise ScoreError(f"{path}: {named} is no plain tensor of numbers; {_HINT}")
    plain = tensor.detach().float() if tensor.dtype == torch.bfloat16 else tensor.detach()
    try:
        return np.array(plain.numpy())
    except TypeError:
        raise ScoreError(f"{path}: {named} is of type {tensor.dtype}; expected float32, float16 or bfloat16") from None
