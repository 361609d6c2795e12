"""Writes lists of vectors: of the pictures of a folder, by an encoder of a preset, or of those that a store has."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from rich.console import Console

from winnow.filters.duplicates.vectors.cosines import Vectors, rounded
from winnow.filters.duplicates.vectors.listed_vectors import vector_list_bytes
from winnow.filters.image.decode.batches import batch_of
from winnow.filters.image.decode.stills import sized
from winnow.filters.image.embedding import NAME as LAYER
from winnow.filters.operators import Kernel, PictureOperator, find_operator
from winnow.filters.presets import find_preset
from winnow.pipelines.assets import AssetFiles
from winnow.runners.stages.lists.pictures import Listed, is_of_store, items_of_store, pictures_of_folder, say_listed
from winnow.runners.stages.lists.whole_file import require_writable
from winnow.schemas.errors import WinnowError
from winnow.schemas.problems import Place, Problems
from winnow.schemas.recipe.build import build
from winnow.schemas.recipe.nodes import located

NO_VECTOR = "not measured"

Found: TypeAlias = tuple[str, NDArray[np.float32] | None, str]
"""A picture's name, and its vector or why it has none."""


def write_vector_list(place: str, output: Path, preset: str, layer: str, console: Console) -> int:
    """Write the list, in the order of names, and say how many pictures it has.

    `place`: a folder with pictures, whose vectors the encoder of `preset` computes, or a recipe or store, whose `layer`
    has them.
    """
    require_writable("--output", output)
    left_out: Counter[str] = Counter()
    names: list[str] = []
    vectors: list[Vectors] = []
    for name, vector, reason in _of_store(place, layer) if is_of_store(place) else _of_folder(Path(place), preset):
        if vector is None:
            left_out[reason] += 1
            continue
        if vectors and len(vector) != vectors[0].shape[1]:
            raise WinnowError(f"{place}: has vectors of {len(vector)} and of {vectors[0].shape[1]} numbers")
        names.append(name)
        vectors.append(rounded(vector[None])[0])
    if names:
        output.write_bytes(vector_list_bytes(np.concatenate(vectors), names))
    return say_listed(console, output, "vectors", Listed(len(names), left_out))


def _of_folder(folder: Path, preset: str) -> Iterator[Found]:
    kernel, side = _encoder(preset)
    for one in pictures_of_folder(folder, side):
        if one.still is None:
            yield one.name, None, one.reason
            continue
        found = kernel(batch_of([one.mime], [one.size], [None], [sized(one.still, side)]))
        vector = found["vector"][0].values
        yield one.name, None if vector is None else vector.to_numpy(), found["status"][0].as_py()


def _encoder(preset: str) -> tuple[Kernel, int | None]:
    """The operator's kernel with the settings of a preset, and how large pictures are decoded for it."""
    operator, settings = find_operator(LAYER), find_preset(preset).operators.get(LAYER)
    if settings is None:
        raise WinnowError(f"--preset {preset}: does not configure {LAYER}; expected one like copies@sscd")
    problems = Problems()
    config = build(operator.config, located(settings, Place("preset", 0)), preset, problems)
    problems.stop_if_any()
    assert isinstance(operator, PictureOperator)
    return operator.load(config, AssetFiles()), operator.side(config)


def _of_store(place: str, layer: str) -> Iterator[Found]:
    for name, values in items_of_store(place, layer, "vector"):
        vector = values["vector"]
        yield name, None if vector is None else np.array(vector, np.float32), NO_VECTOR
