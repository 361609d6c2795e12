"""What dual encoders read: how pictures become numbers, and captions tokens, by the names of published families.

An `open_clip_config.json`, which lies beside weights on model hubs, says the same of one model.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Final, get_args

from winnow.schemas.errors import ScoreError
from winnow.schemas.problems import shown, suggestion
from winnow.schemas.recipe.checks import Between
from winnow.scoring.protocol import PictureFit
from winnow.scoring.torch_models.packages import one_line
from winnow.scoring.torch_models.tokens import BYTES, CLIP, CLIP_END, CLIP_START, Cleaning

LAYOUT_PACKAGES: Final = ("tokenizers", "ftfy")
"""What the tokens of a layout depend on."""

_CONFIG: Final = ".json"
_FITS: Final[Mapping[tuple[str, str], PictureFit]] = {
    ("shortest", "bicubic"): "bicubic_crop",
    ("squash", "bicubic"): "bicubic_stretch",
    ("shortest", "bilinear"): "bilinear_crop",
}


@dataclass(frozen=True, slots=True)
class Layout:
    """What the two encoders of a model read. How they pool is in their own code."""

    size: Annotated[int, Between(8, 4_096)] = 224  # CLIP's, as all that follows: pixels per side
    fit: PictureFit = "bicubic_crop"
    mean: tuple[float, ...] = (0.48145466, 0.4578275, 0.40821073)  # of red, green and blue from 0 to 1; or one for all
    deviation: tuple[float, ...] = (0.26862954, 0.26130258, 0.27577711)
    tokenizer: str = CLIP.name
    start: str = CLIP_START
    end: str = CLIP_END
    pad: str = ""  # the token with which texts are filled up; zeros
    clean: Cleaning = "lower"
    max_tokens: Annotated[int, Between(2, 65_536)] = 77

    def __post_init__(self) -> None:
        for name in ("mean", "deviation"):
            given = getattr(self, name)
            if len(given) not in (1, 3) or not all(abs(one) <= 1e6 for one in given):
                raise ValueError(f"{name} {list(given)}: expected one number, or three: of red, green and blue")
        if not all(one > 0 for one in self.deviation):
            raise ValueError(f"deviation {list(self.deviation)}: expected numbers above 0")


_HALF: Final = (0.5,)
LAYOUTS: Final[Mapping[str, Layout]] = {
    "clip": Layout(),  # OpenAI's and most of open_clip
    "mobileclip": Layout(size=256, fit="bilinear_crop", mean=(0.0,), deviation=(1.0,)),
    "siglip": Layout(
        fit="bicubic_stretch",
        mean=_HALF,
        deviation=_HALF,
        tokenizer="",  # of each model its own
        start="",
        end="</s>",
        pad="</s>",
        clean="canonicalize",
        max_tokens=64,
    ),
}


def layout_files(layout: str | Layout) -> tuple[str, ...]:
    """The files that a layout is read from."""
    return (layout,) if isinstance(layout, str) and layout.endswith(_CONFIG) else ()


def named_layout(layout: str | Layout, task: str) -> Layout | None:
    """A layout that no file gives; None for a file.

    Raises:
        ScoreError: No layout has this name.
    """
    if isinstance(layout, Layout):
        return layout
    if layout_files(layout):
        return None
    if layout not in LAYOUTS:
        raise ScoreError(
            f"{task}: `layout`: unknown layout {shown(layout)}{suggestion(layout, LAYOUTS)}; expected one of "
            f"{', '.join(sorted(LAYOUTS))}, the path of an open_clip_config.json, or a mapping"
        )
    return LAYOUTS[layout]


def read_layout(path: str) -> Layout:
    """The layout of an `open_clip_config.json`; a tokenizer other than CLIP's must be named beside it.

    Raises:
        ScoreError: It is none, or says what is not known here.
    """
    try:
        config = json.loads(Path(path).read_bytes())
        model, seen = config["model_cfg"], config.get("preprocess_cfg", {})
        return _described(model["vision_cfg"], model["text_cfg"], seen)
    except OSError as error:
        raise ScoreError(f"{path}: {error.strerror or error}; expected an open_clip_config.json") from None
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        said = f"no {error}" if isinstance(error, KeyError) else one_line(error)
        raise ScoreError(f"{path}: not an open_clip_config.json that is known here: {said}") from None


def _described(vision: Mapping[str, Any], text: Mapping[str, Any], seen: Mapping[str, Any]) -> Layout:
    how = (seen.get("resize_mode", "shortest"), seen.get("interpolation", "bicubic"))
    if how not in _FITS:
        known = " or ".join(" with ".join(one) for one in _FITS)
        raise ValueError(f"resize_mode {how[0]} with interpolation {how[1]}; expected {known}")
    size = vision["image_size"]
    if not isinstance(size, int) or not 8 <= size <= 4_096:
        raise ValueError(f"image_size {size}; expected a number of pixels from 8 to 4096, of squares")
    own = "hf_tokenizer_name" in text
    cleaning = text.get("tokenizer_kwargs", {}).get("clean", "whitespace" if own else "lower")
    if cleaning not in get_args(Cleaning):
        raise ValueError(f"clean {cleaning}; expected one of {', '.join(get_args(Cleaning))}")
    mean, deviation = (
        tuple(float(one) for one in seen.get(key, plain))
        for key, plain in (("mean", LAYOUTS["clip"].mean), ("std", LAYOUTS["clip"].deviation))
    )
    words = LAYOUTS["siglip" if own else "clip"]
    seen_as = replace(words, size=size, fit=_FITS[how], mean=mean, deviation=deviation)
    return replace(seen_as, clean=cleaning, max_tokens=int(text.get("context_length", 77)))


def laid_out_tokenizer(layout: str | Layout, tokenizer: str) -> str:
    """The tokenizer's name or path: the one that is written, else the layout's."""
    if tokenizer != BYTES:
        return tokenizer
    if isinstance(layout, Layout):
        return layout.tokenizer
    return LAYOUTS[layout].tokenizer if layout in LAYOUTS else CLIP.name
