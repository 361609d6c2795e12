"""The folded terms of `terms.txt`, and the search for them in a column of texts."""

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from winnow.filters.language.folding import fold
from winnow.filters.language.identification.list_coverage import covered_languages
from winnow.filters.language.kernels.classes import ALPHA, DECIMAL, MARK
from winnow.filters.language.kernels.spans import Texts, texts_of
from winnow.filters.language.words import Table, decode, flags_of, unicode_classes
from winnow.filters.private.credentials.scan import Anchored, Tables, scan, tables_of
from winnow.schemas.kernels import kernel, leaf

TERMS = Path(__file__).with_name("terms.txt")
KINDS = ("gambling", "sexual", "contact")
ANY = "any"

_PREFIX, _INSIDE = 1, 2
_UNSPACED = ((0x0E00, 0x0EFF), (0x1000, 0x109F), (0x1780, 0x17FF), (0x3040, 0x30FF), (0x3400, 0x9FFF), (0xAC00, 0xD7A3))

Ints: TypeAlias = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Term:
    """A term, its kind and its language."""

    text: str
    kind: str
    language: str
    prefix: bool = False  # it matches word beginnings


@dataclass(frozen=True, slots=True)
class Lexicon:
    """Terms compiled for the search."""

    tables: Tables
    kinds: npt.NDArray[np.int64]  # of each term, into KINDS
    manners: npt.NDArray[np.int64]  # for each term, which letters may adjoin it
    languages: frozenset[str]  # those in which these terms are searched for


@dataclass(frozen=True, slots=True)
class Occurrences:
    """The terms found: of overlapping ones the first, then the longest."""

    rows: Ints
    starts: Ints
    ends: Ints
    terms: Ints


def read_terms(text: str) -> tuple[Term, ...]:
    """Parse terms in the format of `terms.txt`; of duplicates the first counts."""
    found: dict[tuple[str, str], Term] = {}
    for line in text.splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        head, _, terms = line.partition(": ")
        kind, language = head.split()
        for written in terms.split(";"):
            term = written.strip()
            one = Term(term.removesuffix("*"), kind, language, term.endswith("*"))
            found.setdefault((kind, one.text), one)
    return tuple(found.values())


@lru_cache(maxsize=1)
def lexicon() -> Lexicon:
    """winnow's own terms."""
    terms = read_terms(TERMS.read_text("utf-8"))
    column = pa.array([term.text for term in terms], pa.large_string())
    folded = fold(texts_of(column), case=True).texts.array.to_pylist()
    manners = [
        _INSIDE if _unspaced(text) else _PREFIX if term.prefix else 0 for term, text in zip(terms, folded, strict=True)
    ]
    return Lexicon(
        tables_of((), [Anchored(text, number) for number, text in enumerate(folded)]),
        np.array([KINDS.index(term.kind) for term in terms], np.int64),
        np.array(manners, np.int64),
        covered_languages(term.language for term in terms if term.language != ANY),
    )


def _unspaced(text: str) -> bool:
    return any(low <= ord(character) <= high for character in text for low, high in _UNSPACED)


def occurrences(folded: Texts, terms: Lexicon) -> Occurrences:
    """The occurrences of terms in texts folded with case."""
    hits = scan(folded, terms.tables)
    rows, starts, ends, routes = hits[np.lexsort((-hits[:, 2], hits[:, 1]))].T
    numbers = ~routes
    kept = _valid_hits(folded.buffer, folded.offsets, rows, starts, ends, terms.manners[numbers], unicode_classes())
    return Occurrences(rows[kept], starts[kept], ends[kept], numbers[kept])


@leaf  # type: ignore[untyped-decorator]
def _is_word(text: npt.NDArray[np.uint8], at: int, classes: Table) -> bool:
    return bool(flags_of(classes, decode(text, at)) & (ALPHA | DECIMAL | MARK) != 0)


@kernel  # type: ignore[untyped-decorator]
def _valid_hits(
    text: npt.NDArray[np.uint8], offsets: Ints, rows: Ints, starts: Ints, ends: Ints, manners: Ints, classes: Table
) -> npt.NDArray[np.bool_]:
    """Which of the sorted hits are in a valid context and do not overlap an earlier one."""
    kept = np.zeros(len(rows), np.bool_)
    free = 0
    for hit in range(len(rows)):
        begin, end = offsets[rows[hit]], offsets[rows[hit] + 1]
        start, stop = starts[hit], ends[hit]
        if start < free:
            continue
        if manners[hit] != _INSIDE:
            before = start - 1
            while before > begin and text[before] & 0xC0 == 0x80:
                before -= 1
            if start > begin and _is_word(text, before, classes):
                continue
            if manners[hit] != _PREFIX and stop < end and _is_word(text, stop, classes):
                continue
        kept[hit] = True
        free = stop
    return kept
