"""How the towers of published dual encoders read pictures and captions, for ONNX files of your own: as open_clip."""

from typing import Final

from winnow.filters.presets import Preset
from winnow.schemas.identity import Json

_CLIP: Final[dict[str, Json]] = {
    "side": 224,
    "fit": "bicubic_crop",
    "mean": [0.48145466, 0.4578275, 0.40821073],
    "deviation": [0.26862954, 0.26130258, 0.27577711],
}
_SIGLIP: Final[dict[str, Json]] = {"side": 224, "fit": "bicubic_stretch"}  # the framing's own colours: -1 to 1
_MOBILECLIP: Final[dict[str, Json]] = {
    "side": 256,
    "fit": "bilinear_crop",
    "mean": [0.0, 0.0, 0.0],
    "deviation": [1.0, 1.0, 1.0],
}


def _preset(name: str, title: str, framing: dict[str, Json], max_tokens: int) -> Preset:
    return Preset(
        name=f"encoder@{name}",
        summary=f"{title}: what the two towers of your ONNX files read",
        operators={"image.embedding": {"framing": framing}, "caption.embedding": {"max_tokens": max_tokens}},
        rules=(),
        notes=(
            "name the files: `model` and `dimensions` of image.embedding, `model` and `tokenizer` of caption.embedding",
        ),
    )


PRESETS = (
    _preset("clip", "CLIP of 224 pixels", _CLIP, 77),
    _preset("siglip", "SigLIP of 224 pixels", _SIGLIP, 64),
    _preset("mobileclip", "MobileCLIP of 256 pixels", _MOBILECLIP, 77),
)
