"""The InceptionV3 of nsfwjs: the probability that a picture is a drawing, hentai, neutral, porn or sexy.

Converted once to an ONNX file from the package's JavaScript modules, which are not run.
"""

import tarfile
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from winnow.filters.image.models.framing import Framing
from winnow.filters.image.models.keras_layers import keras_onnx
from winnow.filters.image.models.tfjs_files import dequantised, literal_of, weights_of
from winnow.schemas.assets import Asset, BuiltAsset
from winnow.schemas.errors import WinnowError

CLASSES: Final = ("drawing", "hentai", "neutral", "porn", "sexy")
FRAMING: Final = Framing(299, "stretch", mean=(0.0, 0.0, 0.0), deviation=(1.0, 1.0, 1.0))

_FOLDER: Final = "package/dist/models/inception_v3/"
_MOST_BYTES: Final = 16 << 20  # of one module
_PACKAGE: Final = Asset(
    name="nsfwjs.package",
    summary="nsfwjs 4.3.0, which holds its networks as modules of JavaScript",
    registry="npm",
    package="nsfwjs@4.3.0",
    member=None,
    size_bytes=25_336_605,
    sha256="4496790efc9bdc6f3e85a826a8e482c1fa1e9db4b3d18c095e98cc0c73cfb12f",
    licence="MIT",
    optional=True,
)


def _make(sources: Mapping[str, Path], target: Path) -> None:
    modules = _modules(sources[_PACKAGE.name])
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


MODEL: Final = BuiltAsset(
    name="nsfwjs.inception-v3",
    summary="the InceptionV3 of nsfwjs: five classes of pictures, for image.nsfw",
    of=(_PACKAGE,),
    make=_make,
    maker_id="winnow.filters.models.pictures.nsfwjs:_make",
    version=1,
    file="nsfwjs-inception-v3.onnx",
    licence="MIT",
    extra="image-models",
    optional=True,
)
