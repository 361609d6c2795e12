"""Reads TensorFlow.js networks from JavaScript modules, as shipped by some packages, without running them.

A module contains one object literal, `{modelTopology:{…},weightsManifest:[…]}`, or one string of weights in base64.
Weights are bytes, with a minimum and a step for each array.
"""

import base64
import binascii
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import numpy as np
import orjson
from numpy.typing import NDArray

from winnow.schemas.errors import WinnowError

_START: Final = ".exports={"
_TOKEN: Final = re.compile(
    r'"(?:[^"\\]|\\.)*"|[A-Za-z_$][\w$]*|![01]|-?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?|[{}\[\]:,]|(.)', re.ASCII
)
_WORDS: Final = {"!0": "true", "!1": "false", "true": "true", "false": "false", "null": "null"}
_BASE64: Final = re.compile(r'"([A-Za-z0-9+/]{64,}={0,2})"')
_STEPS: Final = {"uint8": np.uint8, "uint16": np.uint16}


def literal_of(module: str) -> Any:
    """The object that a module exports.

    Raises:
        WinnowError: The module does not export a plain literal.
    """
    start = module.find(_START) + len(_START) - 1
    if _START not in module:
        raise WinnowError("the module exports no object")
    parts: list[str] = []
    depth = 0
    for token in _TOKEN.finditer(module, start):
        text = token[0]
        if token[1] is not None:
            raise WinnowError(f"the module's object holds {text!r}, which no literal has")
        depth += (text in "{[") - (text in "}]")
        if text[0] in '"{}[]:,':
            parts.append(text)
        elif text in _WORDS:
            parts.append(_WORDS[text])
        elif text[0].isalpha() or text[0] in "_$":
            parts.append(f'"{text}"')
        else:
            parts.append(re.sub(r"^(-?)\.", r"\g<1>0.", text))
        if not depth:
            break
    try:
        return orjson.loads("".join(parts))
    except orjson.JSONDecodeError as error:
        raise WinnowError(f"the module's object is no literal: {error}") from None


def weights_of(modules: Iterable[str]) -> bytes:
    """The bytes in the modules' strings, joined."""
    held = []
    for module in modules:
        found = _BASE64.findall(module)
        if len(found) != 1:
            raise WinnowError(f"a module of weights holds {len(found)} strings of base64; expected one")
        try:
            held.append(base64.b64decode(found[0], validate=True))
        except binascii.Error as error:
            raise WinnowError(f"a module of weights: {error}") from None
    return b"".join(held)


def dequantised(manifest: Sequence[Mapping[str, Any]], raw: bytes) -> dict[str, NDArray[np.float32]]:
    """The arrays that a manifest describes, in the order of their bytes."""
    arrays: dict[str, NDArray[np.float32]] = {}
    at = 0
    for one in manifest:
        said = one["quantization"]
        kind = _STEPS.get(said["dtype"])
        count = int(np.prod(one["shape"], dtype=np.int64))
        if kind is None or at + count * np.dtype(kind).itemsize > len(raw):
            raise WinnowError(f"{one['name']}: {said['dtype']} at byte {at:,} of {len(raw):,}")
        levels = np.frombuffer(raw, np.dtype(kind).newbyteorder("<"), count, at).astype(np.float32)
        arrays[one["name"]] = (levels * np.float32(said["scale"]) + np.float32(said["min"])).reshape(one["shape"])
        at += count * np.dtype(kind).itemsize
    if at != len(raw):
        raise WinnowError(f"the manifest describes {at:,} of {len(raw):,} bytes")
    return arrays
