"""The InceptionV3 of nsfwjs: the probability that a picture is a drawing, hentai, neutral, porn or sexy.

Converted once to an ONNX file.
"""

from typing import Final

from winnow.filters.image.models.framing import Framing
from winnow.schemas.assets import Asset, BuiltAsset, made_by

CLASSES: Final = ("drawing", "hentai", "neutral", "porn", "sexy")
FRAMING: Final = Framing(299, "stretch", mean=(0.0, 0.0, 0.0), deviation=(1.0, 1.0, 1.0))

PACKAGE: Final = Asset(
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

MODEL: Final = BuiltAsset(
    name="nsfwjs.inception-v3",
    summary="the InceptionV3 of nsfwjs: five classes of pictures, for image.nsfw",
    of=(PACKAGE,),
    make=made_by("winnow.filters.models.conversion.nsfwjs"),
    maker_id="winnow.filters.models.pictures.nsfwjs:_make",
    version=1,
    file="nsfwjs-inception-v3.onnx",
    licence="MIT",
    extra="image-models",
    optional=True,
)
