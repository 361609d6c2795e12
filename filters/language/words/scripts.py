"""The segmentation of each language and script: the one that datatrove assigns, or a declared substitute.

`assignment.txt` holds datatrove's table, one line per tokenizer: compiled styles (`spacy_xx`), short rules (`indic`),
optional packages (`jieba`), and tokenizers that are not available here: Stanza's are neural models downloaded on first
use, and botok downloads its dictionary likewise. For these, languages with spaces between words get spaCy's
multi-language rules; others get nothing.
"""

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from winnow.filters.language.words.indic import INDIC
from winnow.filters.language.words.packages import PACKAGES, Package
from winnow.filters.language.words.rules import languages

ASSIGNMENT = Path(__file__).with_name("assignment.txt")

SUBSTITUTE = "spacy_xx"
_UNSPACED = frozenset({"stanza_lzh"})  # splitting at spaces would find sentences


@dataclass(frozen=True, slots=True)
class Segmentation:
    """The segmentation of one language."""

    published: str  # what datatrove assigns
    style: str | None  # the compiled style, rule or package used here; None if there is none
    substitute: str | None  # a style used if there is none or it is switched off; None if none is suitable


@lru_cache(maxsize=1)
def _assigned() -> dict[str, str]:
    lines = ASSIGNMENT.read_text("utf-8").splitlines()
    named = [(name, members.split()) for name, _, members in (line.partition(": ") for line in lines)]
    return {language: name for name, members in named for language in members}


@lru_cache(maxsize=1)
def _styles() -> frozenset[str]:
    return frozenset({*(f"spacy_{language}" for language in languages()), *INDIC, *PACKAGES})


@lru_cache(maxsize=4096)
def segmentation_of(language: str) -> Segmentation | None:
    """The segmentation of a language such as `deu_Latn`; None if none is assigned."""
    published = _assigned().get(language)
    if published is None:
        return None
    spaced = published.startswith(("spacy_", "stanza_")) and published not in _UNSPACED
    return Segmentation(published, published if published in _styles() else None, SUBSTITUTE if spaced else None)


def lacking_package(language: str) -> Package | None:
    """The package without which a language's words are estimated; None if it is installed, or none is needed."""
    segmentation = segmentation_of(language)
    package = None if segmentation is None or segmentation.substitute else PACKAGES.get(segmentation.style or "")
    return None if package is None or package.found() is not None else package
