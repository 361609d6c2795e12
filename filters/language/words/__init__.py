"""Split texts into words, lines and sentences, in compiled kernels over Arrow buffers.

spaCy's rules are compiled here for speed: in the benchmark of annotate (docs/explanation/benchmarks.md) spaCy takes
4 ms a document, these kernels 30 µs.
"""

from winnow.filters.language.kernels.classes import (
    ALPHA,
    BREAK,
    CONTROL,
    DECIMAL,
    DIGIT,
    FORMAT,
    LOWER,
    MARK,
    PUNCT,
    SPACE,
    SYMBOL,
    UPPER,
    Table,
    character_set,
    decode,
    flags_of,
    unicode_classes,
    width,
)
from winnow.filters.language.kernels.spans import Texts, Words, texts_of
from winnow.filters.language.words.segments import Breaks, lines, segment, sentences, styles

__all__ = [
    "ALPHA",
    "BREAK",
    "CONTROL",
    "DECIMAL",
    "DIGIT",
    "FORMAT",
    "LOWER",
    "MARK",
    "PUNCT",
    "SPACE",
    "SYMBOL",
    "UPPER",
    "Breaks",
    "Table",
    "Texts",
    "Words",
    "character_set",
    "decode",
    "flags_of",
    "lines",
    "segment",
    "sentences",
    "styles",
    "texts_of",
    "unicode_classes",
    "width",
]
