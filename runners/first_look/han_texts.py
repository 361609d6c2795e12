"""Tells short Chinese texts from Japanese ones by their characters, where a language model has too little text.

A look covers captions, too: a third of the Chinese ones were identified as Japanese. Layers keep the model's result.
"""

import re
from collections.abc import Sequence
from typing import Final

from winnow.pipelines.rules.deciding import UNKNOWN

CHINESE: Final = "cmn_Hani"
JAPANESE: Final = "jpn_Jpan"
ENOUGH: Final = 12
"""Han characters in a row of which no Japanese text has none of kana: with fewer and no other sign, nothing is said."""

_KANA: Final = re.compile("[\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\uff66-\uff9f]")
_HAN: Final = re.compile("[\u3400-\u4dbf\u4e00-\u9fff]+")


def code_by_characters(code: str, text: str) -> str:
    """The language of a text that a model calls Chinese or Japanese; any other is left as it is."""
    if code not in (CHINESE, JAPANESE):
        return code
    if _KANA.search(text):
        return JAPANESE
    han = "".join(_HAN.findall(text))
    if not han:
        return code
    chinese = not _encodes(han, "cp932")  # the character set of Japan
    japanese = not _encodes(han, "gb2312") and not _encodes(han, "big5")
    if chinese != japanese:
        return CHINESE if chinese else JAPANESE
    return CHINESE if code == CHINESE or len(han) >= ENOUGH else UNKNOWN


def codes_by_characters(codes: Sequence[str], texts: Sequence[str]) -> list[str]:
    """`code_by_characters` of each row."""
    return [code_by_characters(code, text) for code, text in zip(codes, texts, strict=True)]


def _encodes(text: str, charset: str) -> bool:
    try:
        text.encode(charset)
    except UnicodeEncodeError:
        return False
    return True
