"""A second opinion on a text's language by CLD2, which is independent of fastText."""

import re
from dataclasses import dataclass

import pycld2

from winnow.schemas.languages import UNKNOWN, read_label

_REFUSED = re.compile(  # code points that CLD2 rejects, found by trying every one
    "[\0-\x08\x0b\x0e-\x1f\x7f-\x9f\ufdd0-\ufdef"
    + "".join(chr(plane << 16 | low) for plane in range(17) for low in (0xFFFE, 0xFFFF))
    + "]"
)


@dataclass(frozen=True, slots=True)
class Cld2Result:
    """CLD2's main language of a text; None where it names none."""

    label: str | None  # ISO 639-3
    reliable: bool
    percent: int  # of the text
    score: float  # CLD2's own measure of how well the text fits the language, not a probability


def second_opinion(text: bytes) -> Cld2Result:
    """CLD2's opinion on a text; controls and noncharacters, which it rejects, are read as spaces."""
    try:
        found = pycld2.detect(text, isPlainText=True)
    except pycld2.error:
        found = pycld2.detect(_REFUSED.sub(" ", text.decode()).encode(), isPlainText=True)
    reliable, _, details = found
    _, code, percent, score = details[0]
    label = read_label(code, "cld2")
    known = label is not None and label.code != UNKNOWN
    return Cld2Result(label.code if label and known else None, bool(reliable) and known, int(percent), float(score))
