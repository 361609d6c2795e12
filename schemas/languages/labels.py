"""Interpret labels of language identifiers: an ISO 639-3 code, and a script if the label names one.

There are two kinds of labels. GlotLID, OpenLID and FLORES use ISO 639-3 (`eng_Latn`). fastText's lid.176 uses the codes
of Wikipedia's editions, and CLD2 those of browsers of its time: two letters where possible, with macrolanguages such as
Arabic for their usual member. Those are read as that member, so that all models give a text the same code.
"""

import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import Literal

from winnow.schemas.languages.table import table

Scheme = Literal["iso", "wikipedia", "cld2"]

UNKNOWN = "und"
NO_LANGUAGE = "zxx"

USUAL_MEMBER = {
    # Macrolanguages of ISO 639-3 with the language that such a code usually means: the label that GlotLID gives to #
    # the same text.
    "aka": "twi",
    "ara": "arb",
    "aym": "ayr",
    "aze": "azj",
    "est": "ekk",
    "grn": "gug",
    "ipk": "esk",
    "iku": "ike",
    "kom": "kpv",
    "kur": "kmr",
    "lav": "lvs",
    "mlg": "plt",
    "mon": "khk",
    "msa": "zsm",
    "nep": "npi",
    "nor": "nob",
    "ori": "ory",
    "orm": "gaz",
    "pus": "pbt",
    "sqi": "als",
    "swa": "swh",
    "uzb": "uzn",
    "yid": "ydd",
    "zho": "cmn",
}

_WIKIPEDIA = {
    # Editions of Wikipedia whose codes differ from ISO 639.
    "als": "gsw",  # Alemannic; in ISO 639-3 it is Tosk Albanian
    "bh": "bho",  # Bihari: written in Bhojpuri
    "eml": "egl",  # Emilian and Romagnol, split since
    "nah": "nah",  # several Nahuatl languages, which have no common code in ISO 639-3
    "sh": "hbs",
    "tl": "fil",  # Tagalog, whose written standard is Filipino
}
_CLD2 = {
    "bh": "bho",
    "iw": "heb",
    "jw": "jav",
    "sh": "hbs",
    "sr-ME": "cnr",
    "tl": "fil",
    "un": UNKNOWN,
    "xxx": NO_LANGUAGE,
    "zzb": NO_LANGUAGE,  # languages of jokes: the Swedish Chef's, Elmer Fudd's, hackers' and pigs' Latin
    "zze": NO_LANGUAGE,
    "zzh": NO_LANGUAGE,
    "zzp": NO_LANGUAGE,
}
_OWN = {"wikipedia": _WIKIPEDIA, "cld2": _CLD2, "iso": {}}

_LABEL = re.compile(r"([a-z]{2,3})(?:[_-]([A-Z][a-z]{3}))?")


@dataclass(frozen=True, slots=True)
class Label:
    """A language, and the script named by its label."""

    code: str  # ISO 639-3, `und` or `zxx`
    script: str | None = None


def read_label(label: str, scheme: Scheme) -> Label | None:
    """The language of a label; None if it is not a language."""
    if (own := _OWN[scheme].get(label)) is not None:
        return Label(own)
    if scheme == "cld2" and label.startswith("xx-"):  # a script without a known language
        return Label(UNKNOWN, label[3:])
    match = _LABEL.fullmatch(label)
    if match is None:
        return None
    code = three_letters(match[1])
    if code is None:
        return None
    if len(match[1]) == 2:
        code = USUAL_MEMBER.get(code, code)
    return Label(code, match[2])


def scheme_of(labels: Collection[str]) -> Scheme:
    """The label scheme of a model: ISO 639-3 if every code has three letters."""
    return "iso" if all(len(re.split("[_-]", label)[0]) == 3 for label in labels) else "wikipedia"


def same_language(one: str, other: str) -> bool:
    """Whether two codes may name one language: they are equal, or one is the other's macrolanguage."""
    if one == other:
        return True
    languages = table().languages
    return any(
        (found := languages.get(code)) is not None and found.macro == macro
        for code, macro in ((one, other), (other, one))
    )


def macrolanguage(code: str) -> str:
    """The macrolanguage of ISO 639-3 that a language is in, such as `hbs` for Croatian; else the language itself."""
    known = table().languages.get(code)
    return (known and known.macro) or code


def three_letters(code: str) -> str | None:
    """The ISO 639-3 code for a code of two or three letters; a retired code gives its successor."""
    known = table()
    if len(code) == 2:
        return known.by_two_letters.get(code)
    return code if code in known.languages else known.retired.get(code)
