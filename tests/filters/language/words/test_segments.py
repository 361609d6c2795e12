"""Words, lines and sentences of a column: whatever array it is, and worked out once."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.messages import assert_refused
from winnow.filters.language.words import Words, lines, segment, sentences, styles
from winnow.schemas.errors import RecipeError

TEXTS = st.lists(
    st.text(st.sampled_from("ab é中\U00010400 \n\r\t\x0b\x1c\x85\u00a0\u2028\u3000\ufeff"), max_size=12), max_size=5
)


def column(texts: list[str]) -> pa.LargeStringArray:
    return pa.array(texts, pa.large_string())


def pieces(found: Words) -> list[list[str]]:
    return [found.of(number) for number in range(len(found.documents) - 1)]


@settings(deadline=None)
@given(TEXTS)
def test_whitespace_words_are_those_of_split(texts: list[str]) -> None:
    assert pieces(segment(column(texts), "whitespace")) == [text.split() for text in texts]


@settings(deadline=None)
@given(TEXTS)
def test_lines_are_those_of_split_and_of_splitlines(texts: list[str]) -> None:
    assert pieces(lines(column(texts))) == [text.split("\n") for text in texts]
    assert pieces(lines(column(texts), "unicode")) == [text.splitlines() for text in texts]


@pytest.mark.parametrize("style", ["whitespace", "unicode", "spacy_en", "spacy_xx"])
def test_slices_chunks_and_missing_texts_are_read_where_they_lie(style: str) -> None:
    whole = ["out", "one two", "", "three. Four", "out"]
    sliced = column(whole).slice(1, 3)
    expected = pieces(segment(column(whole[1:4]), style))
    assert pieces(segment(sliced, style)) == expected
    assert pieces(segment(pa.chunked_array([sliced.slice(0, 1), sliced.slice(1)]), style)) == expected
    assert pieces(segment(pa.array(["one two", None, "three. Four"], pa.large_string()), style)) == expected
    assert pieces(segment(column([]), style)) == []
    assert pieces(segment(column(["", ""]), style)) == [[], []]


def test_ranges_are_bytes_of_the_column_itself() -> None:
    texts = column(["skipped", "né 中."]).slice(1)
    found = segment(texts, "spacy_en")
    assert found.buffer.ctypes.data == texts.buffers()[2].address
    assert list(zip(found.starts, found.ends, strict=True)) == [(7, 10), (11, 14), (14, 15)]
    assert found.documents.dtype == found.starts.dtype == found.ends.dtype == np.int64


def test_the_same_array_is_segmented_once_and_another_anew() -> None:
    texts = column(["a b."])
    assert segment(texts, "spacy_en") is segment(texts, "spacy_en")
    assert lines(texts) is lines(texts)
    assert sentences(texts, "spacy_en") is sentences(texts, "spacy_en")
    assert segment(texts, "spacy_en") is not segment(texts, "spacy_xx")
    assert segment(texts.slice(0, 0), "spacy_en") is not segment(texts, "spacy_en")


def test_an_array_that_lies_where_a_forgotten_one_lay_is_segmented_anew() -> None:
    for number in range(200):
        assert pieces(segment(column([f"word{number}"]), "whitespace")) == [[f"word{number}"]]


def test_an_unknown_style_is_answered_with_those_there_are() -> None:
    with assert_refused(RecipeError, "'spcy_en'", "spacy_en"):
        segment(column(["a"]), "spcy_en")
    with assert_refused(RecipeError, "word rules", "'qq'"):
        segment(column(["a"]), "spacy_qq")
    assert {"whitespace", "unicode", "spacy_en", "spacy_xx", "spacy_de"} <= set(styles())
