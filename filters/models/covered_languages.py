"""The languages that a model was made for: codes in a configuration, and the status of texts in other ones."""

import re
from collections.abc import Sequence

import pyarrow as pa

LANGUAGE = "text.language.code"
ANY = "any"

NO_LANGUAGE = "no_language"
NO_DETECTOR = "no_detector"


def check_languages(languages: Sequence[str]) -> None:
    """Raise ValueError unless these are codes of languages, or `any` alone."""
    for code in languages:
        if not re.fullmatch("[a-z]{3}", code):
            raise ValueError(f"languages: {code!r}; expected three letters (ISO 639-3), such as eng, or any")
    if ANY in languages and len(languages) > 1:
        raise ValueError("languages: `any` cannot be combined with other languages")


def covered(languages: Sequence[str]) -> frozenset[str] | None:
    """The languages of a configuration; None if they are all."""
    return None if tuple(languages) == (ANY,) else frozenset(languages)


def language_statuses(codes: pa.Array, known: frozenset[str], other: str = NO_DETECTOR) -> list[str]:
    """The status of texts by their `text.language.code`, such as `eng_Latn`: `ok` for known languages."""
    return [
        NO_LANGUAGE if code is None else "ok" if code.partition("_")[0] in known else other
        for code in codes.to_pylist()
    ]
