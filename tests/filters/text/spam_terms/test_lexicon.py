"""Terms of adverts and how they may stand in a text."""

import pyarrow as pa
import pytest

from winnow.filters.language.folding import fold
from winnow.filters.language.kernels.spans import texts_of
from winnow.filters.text.spam_terms.lexicon import KINDS, TERMS, Term, lexicon, occurrences, read_terms
from winnow.schemas.languages import language


def found(text: str) -> list[str]:
    folded = fold(texts_of(pa.array(["", text], pa.large_string())), case=True).texts
    hits = occurrences(folded, lexicon())
    raw = folded.buffer.tobytes()
    return [raw[start:end].decode() for start, end in zip(hits.starts, hits.ends, strict=True)]


def test_the_list_is_read_line_by_line() -> None:
    text = "# a remark\n\ngambling eng: casino*; free spins\ngambling deu: casino\nsexual any: escorts\n"
    assert read_terms(text) == (
        Term("casino", "gambling", "eng", prefix=True),
        Term("free spins", "gambling", "eng"),
        Term("escorts", "sexual", "any"),
    )


def test_every_line_is_of_a_kind_and_a_language() -> None:
    terms = read_terms(TERMS.read_text("utf-8"))
    assert {term.kind for term in terms} == set(KINDS)
    assert all(term.text and term.text == term.text.strip() for term in terms)
    assert all(language(code) is not None for code in lexicon().languages)


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("Roulette!", ["roulette"]),
        ("prerouletted", []),  # inside a word
        ("roulettes", []),
        ("Casinos, casinotest", ["casino", "casino"]),  # `casino*`: beginnings of words
        ("mycasino", []),
        ("FREE SPINS and free\u00a0spins", ["free spins", "free spins"]),
        ("free  spins", []),
        ("r\u200bou\u200blette and ｒｏｕｌｅｔｔｅ", ["roulette", "roulette"]),
        ("澳门赌场在线", ["澳门赌场"]),  # the longest of those that begin first
        ("เว็บพนันออนไลน์", ["เว็บพนัน"]),
        ("казино и рулетка", ["казино", "рулетка"]),
        ("roulette roulette", ["roulette", "roulette"]),
        ("x" * 10, []),
        ("", []),
    ],
)
def test_how_terms_stand(text: str, terms: list[str]) -> None:
    assert found(text) == terms
