"""What dual encoders read: how pictures become numbers, and captions tokens, by the names of published families.

An `open_clip_config.json`, which lies beside weights on model hubs, says the same of one model.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Final, get_args

from winnow.schemas.errors import ScoreError
from winnow.schemas.problems import one_line as printable_line
from winnow.schemas.problems import shown, suggestion
from winnow.schemas.recipe.checks import Between
from winnow.scoring.protocol import PictureFit
from winnow.scoring.torch_models.packages import one_line
from winnow.scoring.torch_models.tokens import BYTES, CLIP, CLIP_END, CLIP_START, Cleaning

LAYOUT_PACKAGES: Final = ("tokenizers", "ftfy")
"""What the tokens of a layout depend on."""

_CONFIG: Final = ".json"
_MOST: Final = 1e6  # of `mean` and `deviation`, as of the tasks' own
_LEAST_DEVIATION: Final = 1e-6
_SIDES: Final = (8, 4_096)
_TOKENS: Final = (2, 65_536)
_SIGLIP: Final = re.compile(r"(?i)siglip(?!2)")
_FITS: Final[Mapping[tuple[str, str], PictureFit]] = {
    ("shortest", "bicubic"): "bicubic_crop",
    ("squash", "bicubic"): "bicubic_stretch",
    ("shortest", "bilinear"): "bilinear_crop",
}


@dataclass(frozen=True, slots=True)
class Layout:
    """What the two encoders of a model read. How they pool is in their own code."""

    size: Annotated[int, Between(*_SIDES)] = 224  # CLIP's, as all that follows: pixels per side
    fit: PictureFit = "bicubic_crop"
    mean: tuple[float, ...] = (0.48145466, 0.4578275, 0.40821073)  # of red, green and blue from 0 to 1; or one for all
    deviation: tuple[float, ...] = (0.26862954, 0.26130258, 0.27577711)
    tokenizer: str = CLIP.name
    start: str = CLIP_START
    end: str = CLIP_END
    pad: str = ""  # the token with which texts are filled up; zeros
    clean: Cleaning = "lower"
    max_tokens: Annotated[int, Between(*_TOKENS)] = 77

    def __post_init__(self) -> None:
        for name in ("mean", "deviation"):
            given = getattr(self, name)
            if len(given) not in (1, 3) or not all(abs(one) <= _MOST for one in given):
                raise ValueError(f"{name} {list(given)}: expected one number, or three: of red, green and blue")
        if not all(one >= _LEAST_DEVIATION for one in self.deviation):
            raise ValueError(f"deviation {list(self.deviation)}: expected numbers above 0, {_LEAST_DEVIATION} or more")


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
    except (ValueError, KeyError, TypeError, AttributeError, ArithmeticError, RecursionError) as error:
        said = f"no {error}" if isinstance(error, KeyError) else one_line(error)
        raise ScoreError(f"{path}: not an open_clip_config.json that is known here: {said}") from None


def _described(vision: Mapping[str, Any], text: Mapping[str, Any], seen: Mapping[str, Any]) -> Layout:
    how = (seen.get("resize_mode", "shortest"), seen.get("interpolation", "bicubic"))
    if how not in _FITS:
        known = " or ".join(" with ".join(one) for one in _FITS)
        raise ValueError(f"resize_mode {how[0]} with interpolation {how[1]}; expected {known}")
    size = _whole(vision["image_size"], "image_size", _SIDES, "pixels")
    own = "hf_tokenizer_name" in text
    if own and not _SIGLIP.search(str(text["hf_tokenizer_name"])):
        raise ValueError(
            f"hf_tokenizer_name {printable_line(str(text['hf_tokenizer_name']), 60)}: unless it is SigLIP's, the file "
            "does not say between which tokens a text stands; write `layout` as a mapping with start, end and pad"
        )
    cleaning = text.get("tokenizer_kwargs", {}).get("clean", "whitespace" if own else "lower")
    if cleaning not in get_args(Cleaning):
        raise ValueError(f"clean {cleaning}; expected one of {', '.join(get_args(Cleaning))}")
    mean, deviation = (
        tuple(float(one) for one in _numbers(seen.get(key, plain), key))
        for key, plain in (("mean", LAYOUTS["clip"].mean), ("std", LAYOUTS["clip"].deviation))
    )
    words = LAYOUTS["siglip" if own else "clip"]
    seen_as = replace(words, size=size, fit=_FITS[how], mean=mean, deviation=deviation)
    tokens = _whole(text.get("context_length", 77), "context_length", _TOKENS, "tokens")
    return replace(seen_as, clean=cleaning, max_tokens=tokens)


def _whole(value: object, key: str, limits: tuple[int, int], of: str) -> int:
    """A whole number within limits; ValueError for anything else."""
    if isinstance(value, bool) or not isinstance(value, int) or not limits[0] <= value <= limits[1]:
        said, more = printable_line(str(value), 60), ", of squares" if isinstance(value, list) else ""
        raise ValueError(f"{key} {said}; expected a number of {of} from {limits[0]} to {limits[1]}{more}")
    return value


def _numbers(values: Any, key: str) -> Sequence[float]:
    """The numbers of a list; ValueError for anything else, or for one that no type of floats has."""
    wrong = (isinstance(one, bool) or not isinstance(one, int | float) or abs(one) > _MOST for one in values)
    if isinstance(values, str) or any(wrong):
        raise ValueError(f"{key} {printable_line(str(values), 60)}; expected numbers of red, green and blue")
    return tuple(values)


def laid_out_tokenizer(layout: str | Layout, tokenizer: str) -> str:
    """The tokenizer's name or path: the one that is written, else the layout's."""
    if tokenizer != BYTES:
        return tokenizer
    if isinstance(layout, Layout):
        return layout.tokenizer
    return LAYOUTS[layout].tokenizer if layout in LAYOUTS else CLIP.name
