"""FineWeb-2's thresholds and stop words for 1 929 languages and scripts, as published and as used.

Some published values make no sense, such as a share above 1 or a mean word of 3 141 characters; they were computed, not
chosen or checked one by one. `BOUNDS` declares the plausible ranges. `fineweb2_thresholds` gives the values within
these
bounds, `fineweb2_published` the original values, and `fineweb2_clamps` lists every difference.
"""

import json
import lzma
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TypeAlias

from winnow.schemas.rules.thresholds import ThresholdTable

KEY = "text.language.code"
ALIASES = {"egl_Latn": "eml_Latn", "hbs_Cyrl": "srp_Cyrl", "hbs_Latn": "hrv_Latn", "que_Latn": "quz_Latn"}
"""Codes that FineWeb-2 has under another: ISO 639-3's replacement for an outdated one, and the macrolanguages that the
default model names, Serbo-Croatian and Quechua."""

PACKED = Path(__file__).with_name("fineweb2.json.xz")

_Column: TypeAlias = tuple[float | None, ...]


@dataclass(frozen=True, slots=True)
class Bounds:
    """The plausible range of a threshold, and the reason."""

    least: float
    most: float
    reason: str


@dataclass(frozen=True, slots=True, order=True)
class Clamp:
    """A published value that is replaced by a bound."""

    language: str  # deu_Latn
    field: str
    published: float
    used: float

    def __str__(self) -> str:
        return f"{self.language} {self.field}: {self.published:g} published, {self.used:g} used"


_REPEATED = Bounds(0.01, 1, "a share of the text; FineWeb's strictest is 0.01, and above 1 nothing would be refused")

BOUNDS = {
    "language_score": Bounds(0, 1, "a probability"),
    "line_punct_thr": Bounds(0, 1, "a share of the lines"),
    "new_line_ratio": Bounds(0, 1, "a line has a word at least"),
    "dup_line_frac": _REPEATED,
    **{f"top_{words}gram": _REPEATED for words in (2, 3, 4)},
    **{f"dup_{words}gram": _REPEATED for words in (5, 6, 7, 8, 9, 10)},
    "min_avg_word_length": Bounds(0, 10, "Gopher refuses English whose mean word is longer than this"),
    "max_avg_word_length": Bounds(2, 100, "no writing has a mean word of more characters, spaces or none"),
    "min_alpha_word_ratio": Bounds(0, 0.95, "at 1, a single number or full stop would refuse a text"),
}
"""The columns of the table and their plausible ranges."""


@lru_cache(maxsize=1)
def _packed() -> dict[str, list[str] | list[float]]:
    read: dict[str, list[str] | list[float]] = json.loads(lzma.decompress(PACKED.read_bytes()))
    return read


def _texts(name: str) -> list[str]:
    return [str(value) for value in _packed()[name]]


def _meant(name: str, value: float) -> float | None:
    """The meaning of a published number: -1 disables the punctuation rule, and datatrove reads 0 as no rule on
    lines."""
    off = (name == "line_punct_thr" and value < 0) or (name == "dup_line_frac" and value == 0)
    return None if off else value


@lru_cache(maxsize=1)
def _published() -> dict[str, _Column]:
    return {name: tuple(_meant(name, float(value)) for value in _packed()[name]) for name in BOUNDS}


def _used(name: str, value: float | None) -> float | None:
    return None if value is None else float(min(max(value, BOUNDS[name].least), BOUNDS[name].most))


@lru_cache(maxsize=1)
def fineweb2_languages() -> tuple[str, ...]:
    """The languages with a configuration, such as `deu_Latn`, in order."""
    return tuple(_texts("language"))


def fineweb2_published() -> ThresholdTable:
    """The thresholds as published, for every language and alias; null where a check is off."""
    return _table("fineweb2_published", _published())


def fineweb2_thresholds() -> ThresholdTable:
    """The thresholds within `BOUNDS`, for every language and alias; null where a check is off."""
    return _table(
        "fineweb2", {name: tuple(_used(name, value) for value in values) for name, values in _published().items()}
    )


def _table(name: str, columns: dict[str, _Column]) -> ThresholdTable:
    keys = fineweb2_languages()
    places = [keys.index(language) for language in ALIASES.values()]
    with_aliases = {column: (*values, *(values[place] for place in places)) for column, values in columns.items()}
    return ThresholdTable(name, KEY, (*keys, *ALIASES), with_aliases)


@lru_cache(maxsize=1)
def fineweb2_clamps() -> tuple[Clamp, ...]:
    """Every published value that lies outside `BOUNDS`, by language and field."""
    return tuple(
        sorted(
            Clamp(language, name, value, used)
            for name, values in _published().items()
            for language, value in zip(fineweb2_languages(), values, strict=True)
            if value is not None and (used := _used(name, value)) is not None and used != value
        )
    )


@lru_cache(maxsize=1)
def fineweb2_stop_words() -> dict[str, tuple[str, ...]]:
    """The stop words of every language as published."""
    words = zip(fineweb2_languages(), _texts("stop_words"), strict=True)
    return {language: tuple(joined.split("\n")) for language, joined in words}
