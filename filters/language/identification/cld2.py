"""A second opinion on a text's language by CLD2, which knows nothing of fastText's training."""

import re
from dataclasses import dataclass

import pycld2

from winnow.schemas.languages import UNKNOWN, read_label

_REFUSED = re.compile(  # what CLD2 does not take for interchangeable text, found by trying every code point
    "[\0-\x08\x0b\x0e-\x1f\x7f-\x9f\ufdd0-\ufdef"
    + "".join(chr(plane << 16 | low) for plane in range(17) for low in (0xFFFE, 0xFFFF))
    + "]"
)


@dataclass(frozen=True, slots=True)
class Opinion:
    """What CLD2 holds a text's main language to be; None where it names none."""

    label: str | None  # ISO 639-3
    reliable: bool
    percent: int  # of the text
    score: float  # CLD2's own measure of how well the text fits the language, not a probability


def second_opinion(text: bytes) -> Opinion:
    """CLD2's opinion; controls and noncharacters, which it refuses, are read as spaces."""
    try:
        found = pycld2.detect(text, isPlainText=True)
    except pycld2.error:
        found = pycld2.detect(_REFUSED.sub(" ", text.decode()).encode(), isPlainText=True)
    reliable, _, details = found
    _, code, percent, score = details[0]
    label = read_label(code, "cld2")
    known = label is not None and label.code != UNKNOWN
    return Opinion(label.code if label and known else None, bool(reliable) and known, int(percent), float(score))
