"""Weights in several files: `model.safetensors.index.json` says which array is in which file beside it."""

import json
import os
from pathlib import Path
from typing import Final

from winnow.schemas.errors import RecipeError
from winnow.schemas.problems import shown

SUFFIX: Final = ".safetensors.index.json"
MOST_FILES: Final = 10_000


def files_of(path: str) -> tuple[str, ...]:
    """The files of weights: those that an index lists, sorted, or the file itself.

    Raises:
        RecipeError: The index cannot be read, or a file that it lists is not beside it.
    """
    if not path.endswith(SUFFIX):
        return (path,)
    expected = "expected an object `weight_map` from arrays to files beside it, as `save_pretrained` writes"
    try:
        names = sorted(set(json.loads(Path(path).read_bytes())["weight_map"].values()))
    except OSError as error:
        raise RecipeError(f"{path}: {error.strerror or error}; expected an index of safetensors files") from None
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise RecipeError(f"{path}: not an index of safetensors files; {expected}") from None
    if not names or len(names) > MOST_FILES:
        raise RecipeError(f"{path}: it lists {len(names):,} files; {expected}")
    for name in names:
        if not isinstance(name, str) or Path(name).name != name or not name.endswith(".safetensors"):
            raise RecipeError(f"{path}: it names {shown(str(name))}; {expected}")
        if not os.path.isfile(Path(path).with_name(name)):  # false, too, for a name that no file can have
            raise RecipeError(f"{path}: {shown(name)} is not beside it; download every file that it lists")
    return tuple(str(Path(path).with_name(name)) for name in names)
