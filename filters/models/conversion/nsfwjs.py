"""Convert the network of nsfwjs from the package's JavaScript modules, which are not run."""

import tarfile
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from winnow.filters.models.conversion.keras_layers import keras_onnx
from winnow.filters.models.conversion.tfjs_files import dequantised, literal_of, weights_of
from winnow.schemas.errors import WinnowError

PACKAGE: Final = "nsfwjs.package"

_FOLDER: Final = "package/dist/models/inception_v3/"
_MOST_BYTES: Final = 16 << 20  # of one module


def make(sources: Mapping[str, Path], target: Path) -> None:
    """Write the network's file."""
    modules = _modules(sources[PACKAGE])
    found = literal_of(modules[f"{_FOLDER}model.min.js"])
    (group,) = found["weightsManifest"]
    raw = weights_of(modules[f"{_FOLDER}{path}.min.js"] for path in group["paths"])
    layers = found["modelTopology"]["model_config"]["config"]["layers"]
    target.write_bytes(keras_onnx("nsfw", layers, dequantised(group["weights"], raw), "scores"))


def _modules(package: Path) -> dict[str, str]:
    """The texts of the network's modules."""
    with tarfile.open(package) as archive:
        found = {}
        for member in archive:
            if member.name.startswith(_FOLDER) and member.isfile() and member.size <= _MOST_BYTES:
                held = archive.extractfile(member)
                if held is not None:
                    found[member.name] = held.read().decode("ascii")
    if not found:
        raise WinnowError(f"{package}: no modules under {_FOLDER}")
    return found
