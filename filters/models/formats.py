"""Detect a model file's format by its content; formats that can run code are refused."""

import mmap
from pathlib import Path
from typing import Literal, TypeAlias

from winnow.schemas.errors import RecipeError

Format: TypeAlias = Literal["onnx", "safetensors"]

_EXPECTED = "expected an ONNX file, or weights in safetensors with `architecture`"
_PICKLE_PROTOCOLS = range(2, 6)
_CODES_OF_PROTOCOL_0 = b"(]}c"  # first bytes of such pickles, unless they are only a number
_OTHERS = (
    (b"\x89HDF\r\n\x1a\n", "an HDF5 file, such as Keras writes"),
    (b"GGUF", "a GGUF file"),
    (b"\x1f\x8b", "a gzip archive"),
    (b"\xfd7zXZ\x00", "an xz archive"),
)
_HEADER_BYTES = 8  # the length at the start of a safetensors file
_SUFFIXES_OF_PICKLES = (".pt", ".pth", ".bin", ".pkl", ".pickle", ".joblib", ".ckpt")


def format_of(path: str, expected: str = _EXPECTED) -> Format:
    """The format of a model's file.

    Args:
        path: The file.
        expected: What the operator takes, for messages.

    Raises:
        RecipeError: It is a pickle, a zip (PyTorch checkpoints and TorchScript are pickles in a zip), or unknown.
    """
    try:
        size = Path(path).stat().st_size
        if size == 0:
            raise RecipeError(f"{path}: an empty file; {expected}")
        with open(path, "rb") as stream, mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as content:
            return _format(path, content[:16], content[-1:], size, expected)
    except OSError as error:
        raise RecipeError(f"{path}: {error.strerror or error}; {expected}") from None


def _format(path: str, head: bytes, last: bytes, size: int, expected: str) -> Format:
    if head[:1] == b"\x80" and len(head) > 1 and head[1] in _PICKLE_PROTOCOLS:
        raise RecipeError(f"{path}: a pickle, which runs code when read; {expected}")
    if head[:2] == b"PK":
        raise RecipeError(
            f"{path}: a zip, like PyTorch checkpoints and TorchScript, whose pickles run code when read; {expected}"
        )
    for magic, what in _OTHERS:
        if head.startswith(magic):
            raise RecipeError(f"{path}: {what}; {expected}")
    if head[4:8] == b"ORTM":
        raise RecipeError(f"{path}: a model in ONNX Runtime's own format, which is not checked; {expected}")
    header = int.from_bytes(head[:_HEADER_BYTES], "little")
    if head[_HEADER_BYTES : _HEADER_BYTES + 1] == b"{" and 2 <= header <= size - _HEADER_BYTES:
        return "safetensors"
    if (head[0] in _CODES_OF_PROTOCOL_0 and last == b".") or path.lower().endswith(_SUFFIXES_OF_PICKLES):
        raise RecipeError(f"{path}: a pickle, or named like one; {expected}")
    return "onnx"
