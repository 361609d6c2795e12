"""A small static model: the words of the tests' safety model, with vectors of three numbers."""

from pathlib import Path
from typing import Any

import numpy as np

from tests.filters.models.safety.models import WORDS, tokenizer_json
from winnow.filters.models.tensors import Array, tensors_bytes

VECTORS = np.zeros((len(WORDS), 3), np.float16)
for _word, _vector in {
    "[UNK]": (9, 9, 9),
    "you": (1, 0, 0),
    "du": (1, 0, 0),
    "kind": (0, 2, 0),
    "nett": (0, 2, 0),
    "rude": (0, -2, 1),
    "gemein": (0, -2, 1),
}.items():
    VECTORS[WORDS.index(_word)] = _vector


def write_model(
    folder: Path, arrays: dict[str, Array] | None = None, tokenizer: str | None = None, **changes: Any
) -> dict[str, Any]:
    """Write a model of these arrays; return the settings that name its files."""
    (folder / "model.safetensors").write_bytes(tensors_bytes(arrays or {"embeddings": VECTORS}, {}))
    (folder / "tokenizer.json").write_text(tokenizer or tokenizer_json(**changes), "utf-8")
    return {"model": str(folder / "model.safetensors"), "tokenizer": str(folder / "tokenizer.json")}
