"""Thresholds for every language: FineWeb's for English, FineWeb-2's for all others; and English stop words.

FineWeb-2 has no configuration for English, as FineWeb was there already. Its filters are FineWeb's with values of each
language, so one table serves both; what only FineWeb checks is null outside English.
"""

from functools import lru_cache

from winnow.filters.language.thresholds.fineweb2 import KEY, fineweb2_stop_words, fineweb2_thresholds
from winnow.schemas.rules.thresholds import ThresholdTable

ENGLISH = "eng_Latn"
ENGLISH_STOP_WORDS = ("the", "be", "to", "of", "and", "that", "have", "with")  # Rae et al.

_LANGUAGE_SCORE = 0.65
"""FineWeb's, of lid.176, and the most for any language: FineWeb-2's, up to 0.9, are of GlotLID's scores. Those of the
default model are lower for languages with close relatives: 0.7 to 0.9 for clean Norwegian, Serbian and Danish."""

_ENGLISH = {
    "language_score": _LANGUAGE_SCORE,
    "own_script": 0.5,
    "dup_para_frac": 0.3,
    "dup_para_char_frac": 0.2,
    "dup_line_frac": 0.3,
    "dup_line_char_frac": 0.2,
    "top_2gram": 0.2,
    "top_3gram": 0.18,
    "top_4gram": 0.16,
    "dup_5gram": 0.15,
    "dup_6gram": 0.14,
    "dup_7gram": 0.13,
    "dup_8gram": 0.12,
    "dup_9gram": 0.11,
    "dup_10gram": 0.1,
    "line_punct_thr": 0.12,
    "short_line_ratio": 0.67,
    "char_dup_ratio": 0.01,
    "new_line_ratio": 0.3,
    "min_avg_word_length": 3.0,
    "max_avg_word_length": 10.0,
    "min_alpha_word_ratio": 0.8,
}
_OWN_SCRIPT = {"Hani": 0.3, "Jpan": 0.3, "Hang": 0.35}
"""The least share of letters in the language's own script, where it is not half. A Chinese character or a syllable says
as much as two or three Latin letters, so at these shares, too, half of a text is in its language. Of translated
interfaces and manuals, which are full of names and commands, 1 in 77 is below; of help that is partly in English, two
in five."""
_CHARACTERS = 0.1  # char_dup_ratio of every other language, as in FineWeb-2


@lru_cache(maxsize=1)
def multilingual_thresholds() -> ThresholdTable:
    """The thresholds of every language; null where a check is off."""
    theirs = fineweb2_thresholds()
    scores = tuple(None if value is None else min(value, _LANGUAGE_SCORE) for value in theirs.columns["language_score"])
    others: dict[str, tuple[float | None, ...]] = {
        **dict.fromkeys(_ENGLISH, (None,) * len(theirs.keys)),
        **theirs.columns,
        "language_score": scores,
        "own_script": tuple(_OWN_SCRIPT.get(key.partition("_")[2], 0.5) for key in theirs.keys),
        "char_dup_ratio": (_CHARACTERS,) * len(theirs.keys),
    }
    return ThresholdTable("multilingual", KEY, theirs.keys, others).with_cells({ENGLISH: _ENGLISH})


@lru_cache(maxsize=1)
def _all_stop_words() -> dict[str, tuple[str, ...]]:
    return {**fineweb2_stop_words(), ENGLISH: ENGLISH_STOP_WORDS}


def stop_words_of(language: str) -> tuple[str, ...] | None:
    """The stop words of a language such as `deu_Latn`; None if it has no configuration."""
    return _all_stop_words().get(language)
