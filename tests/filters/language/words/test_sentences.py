"""Sentences of lines by the tokens of their page are those of the lines as texts of their own."""

import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.filters.text.lines.line_rules import PIECES
from tests.property_sizes import scaled
from winnow.filters.language.words import segment, sentences
from winnow.filters.language.words.sentences import sentences_of_lines

PARTS = (*PIECES, "a.m. ", "10 a.m.\n", "U.S. ", "Mr. ", "don't ", "). ", '." ', "O.o", "\u3000.\u2028", "e.g.")


def cut(text: str) -> list[tuple[int, int]]:
    """Where its lines begin and end in UTF-8, without the white space around them."""
    places = []
    at = 0
    for line in text.splitlines(keepends=True):
        first = at + len(line[: len(line) - len(line.lstrip())].encode())
        places.append((first, first + len(line.strip().encode())))
        at += len(line.encode())
    return places


@settings(deadline=None, max_examples=scaled(60))
@given(st.lists(st.lists(st.sampled_from(PARTS), max_size=40).map("".join), max_size=4))
def test_each_line_has_its_own_sentences(texts: list[str]) -> None:
    lines = [text.splitlines() for text in texts]
    offsets = np.concatenate([[0], np.cumsum([len(text.encode()) for text in texts], dtype=np.int64)]).astype(np.int64)
    places = [
        (first + at, last + at) for text, at in zip(texts, offsets[:-1], strict=True) for first, last in cut(text)
    ]
    bounds = np.concatenate([[0], np.cumsum([len(of) for of in lines], dtype=np.int64)]).astype(np.int64)
    words = segment(pa.array(texts, pa.large_string()), "spacy_en")
    found = sentences_of_lines(words, bounds, np.array(places, np.int64).reshape(-1, 2))

    alone = [[line.strip() for line in of] for of in lines]
    expected = []
    for of in alone:
        told = sentences(pa.array(of, pa.large_string()), "spacy_en")
        expected.append(sum(1 for line in range(len(of)) for sentence in told.of(line) if sentence.strip()))
    assert found.tolist() == expected


def test_a_line_below_zero_is_left_out() -> None:
    words = segment(pa.array(["One. Two.\nThree."], pa.large_string()), "spacy_en")
    places = np.array([[~0, ~9], [10, 16]], np.int64)
    assert sentences_of_lines(words, np.array([0, 2], np.int64), places).tolist() == [1]
