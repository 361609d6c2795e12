"""Which segmentation a language in its script gets: the one that datatrove assigns it, or a declared substitute.

`assignment.txt` holds datatrove's table as facts, a line a tokenizer: compiled styles (`spacy_xx`), short rules
(`indic`), packages that are asked where they are installed (`jieba`), and tokenizers that are not to be had here:
Stanza's are neural models that are fetched when first used, and botok fetches its dictionary likewise. Languages that
put spaces between words get spaCy's multi-language rules in the place of what is not to be had; others get nothing.
"""

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from winnow.filters.language.words.indic import INDIC
from winnow.filters.language.words.packages import PACKAGES
from winnow.filters.language.words.rules import languages

__all__ = ["ASSIGNMENT", "SUBSTITUTE", "Segmentation", "assigned_languages", "segmentation_of"]

ASSIGNMENT = Path(__file__).with_name("assignment.txt")

SUBSTITUTE = "spacy_xx"
_UNSPACED = frozenset({"stanza_lzh"})  # a substitute that looks for spaces would find sentences


@dataclass(frozen=True, slots=True)
class Segmentation:
    """How a language's words are found."""

    published: str  # what datatrove assigns
    style: str | None  # what finds these words here: a compiled style, a rule or a package; None where nothing does
    substitute: str | None  # a style for where nothing does, or where it is not wanted; None where none would do


@lru_cache(maxsize=1)
def _assigned() -> dict[str, str]:
    lines = ASSIGNMENT.read_text("utf-8").splitlines()
    named = [(name, members.split()) for name, _, members in (line.partition(": ") for line in lines)]
    return {language: name for name, members in named for language in members}


@lru_cache(maxsize=1)
def _styles() -> frozenset[str]:
    return frozenset({*(f"spacy_{language}" for language in languages()), *INDIC, *PACKAGES})


def assigned_languages() -> tuple[str, ...]:
    """Every language in its script that has a segmentation assigned, such as `deu_Latn`, in order."""
    return tuple(sorted(_assigned()))


@lru_cache(maxsize=4096)
def segmentation_of(language: str) -> Segmentation | None:
    """The segmentation of a language such as `deu_Latn`; None where none is assigned."""
    published = _assigned().get(language)
    if published is None:
        return None
    spaced = published.startswith(("spacy_", "stanza_")) and published not in _UNSPACED
    return Segmentation(published, published if published in _styles() else None, SUBSTITUTE if spaced else None)
