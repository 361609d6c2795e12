"""Texts in composed form: what Python's `unicodedata` gives, and places in them as places in the text as written."""

import unicodedata

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from winnow.filters.language.folding.composed import MOST_GROWTH, MOST_MARKS, composed_texts, spans_as_written
from winnow.filters.spans import TYPED_SPANS

# Letters and marks of scripts in which some compose, in an order or another: Latin, Greek, Hangul, Kana, Indic, Arabic,
# Hebrew, Tibetan, music; and letters that become others.
CHARACTERS = (
    "aeou ÅdKỏ\u0300\u0301\u0302\u0309\u0323\u0327\u0328\u0344\u0345αώ\u1f71각가ᄀ하ᅵᆨᇂ\u1100\u1161\u11a8かカ\u3099\u309a"
    "क\u093c\u0958ন\u09be\u09c7\u09d7ொ\u0bbeا\u0653\u0655\u064b\u05b0\u05d0\ufb2c\u0f71\u0f72\u0f73\u0f74\u212b\u2126"
    "漢\uf900\U0001d15e\U0001d165\U00011099\U000110ba🙂\n"
)
words = st.text(CHARACTERS, max_size=12)


def column(*texts: str | None) -> pa.LargeStringArray:
    return pa.array(texts, pa.large_string())


def composed_by_python(text: str) -> str:
    found = unicodedata.normalize("NFC", text)
    return found if len(found.encode()) <= MOST_GROWTH * len(text.encode()) else text


@given(st.lists(st.none() | words | st.text(max_size=8), max_size=8))
def test_texts_are_composed_as_unicodedata_composes_them(texts: list[str | None]) -> None:
    texts = [text and text.encode("utf-8", "ignore").decode() for text in texts]
    expected = [text and composed_by_python(text) for text in texts]
    found = composed_texts(column(None, *texts).slice(1))
    assert found.texts.to_pylist() == expected
    assert found.changed.tolist() == [row for row, text in enumerate(texts) if text != expected[row]]


def test_every_character_that_can_be_decomposed_is_composed_again() -> None:
    points = (chr(point) for point in range(0x110000) if not 0xD800 <= point < 0xE000)
    texts = [apart for one in points if (apart := unicodedata.normalize("NFD", one)) != one]
    assert len(texts) > 13_000
    assert composed_texts(column(*texts)).texts.to_pylist() == [unicodedata.normalize("NFC", text) for text in texts]


def test_a_mark_is_composed_with_a_letter_that_has_one_already() -> None:
    # As pages in Windows-1258 write Vietnamese: ô and a dot below, which are ọ and a circumflex when put in order.
    assert composed_texts(column("mô\u0323t")).texts.to_pylist() == ["một"]
    apart = {chr(point): unicodedata.normalize("NFD", chr(point)) for point in range(0xC0, 0x2000)}
    marks = {parts[-1] for parts in apart.values() if len(parts) > 1 and unicodedata.combining(parts[-1])}
    letters = [one for one, parts in apart.items() if unicodedata.combining(parts[-1])]
    texts = [f"a word {letter}{mark}" for letter in letters for mark in sorted(marks)]
    assert len(texts) > 30_000
    assert composed_texts(column(*texts)).texts.to_pylist() == [unicodedata.normalize("NFC", text) for text in texts]


def test_texts_that_are_composed_stay_the_same_array() -> None:
    texts = column("Tất cả mọi người", None, "사람", "हिन्दी", "plain")
    assert composed_texts(texts).texts is texts


def test_a_long_text_is_composed_as_a_whole() -> None:
    text = "e\u0301" * 700_000 + "\u0323" * 5
    assert composed_texts(column(text)).texts[0].as_py() == unicodedata.normalize("NFC", text)


@pytest.mark.parametrize("marks", ["\u0323\u0301", "\u0344", "\u0f73"])
def test_a_text_with_endless_marks_stays_as_it_is(marks: str) -> None:
    text = "e" + marks * 100_000  # put in order, it would take hours
    assert composed_texts(column(text, "e\u0301")).changed.tolist() == [1]
    assert composed_texts(column("\U0001d160" * 10)).changed.tolist() == []  # thrice as long
    assert composed_texts(column("e" + "\u0301\u0323" * (MOST_MARKS // 2))).changed.tolist() == [0]


def test_spans_mark_the_same_characters_in_the_text_as_written() -> None:
    texts = column("Đây là Nguye\u0302\u0303n Va\u0306n A.", "no change", "e\u0301 e\u0301")
    composed = composed_texts(texts)
    name = "Nguyễn Văn A".encode()
    start = composed.texts[0].as_py().encode().index(name)
    rows = [
        [{"start": start, "end": start + len(name), "kind": "name"}],
        [{"start": 0, "end": 2, "kind": "name"}],
        [{"start": 0, "end": 2, "kind": "a"}, {"start": 3, "end": 5, "kind": "b"}],
    ]
    found = spans_as_written(pa.array(rows, TYPED_SPANS), texts, composed.changed).to_pylist()
    assert found[1] == rows[1]
    marked = [
        [text.encode()[span["start"] : span["end"]].decode() for span in spans]
        for text, spans in zip(texts.to_pylist(), found, strict=True)
    ]
    assert marked == [["Nguye\u0302\u0303n Va\u0306n A"], ["no"], ["e\u0301", "e\u0301"]]
    assert [span["kind"] for span in found[2]] == ["a", "b"]


@given(words, st.data())
def test_what_a_span_marks_composes_to_what_was_found(text: str, drawn: st.DataObject) -> None:
    composed = unicodedata.normalize("NFC", text)
    bounds = sorted(drawn.draw(st.lists(st.integers(0, len(composed)), max_size=6, unique=True)))
    places = [len(composed[:bound].encode()) for bound in bounds]
    spans = [{"start": first, "end": last, "kind": "x"} for first, last in zip(places[::2], places[1::2], strict=False)]
    (found,) = spans_as_written(pa.array([spans], TYPED_SPANS), column(text), np.array([0])).to_pylist()
    raw, end = text.encode(), 0
    for span in found:  # sorted, disjoint, on whole characters
        assert end <= span["start"] < span["end"] <= len(raw)
        end = span["end"]
        raw[span["start"] : end].decode()
    marked = unicodedata.normalize("NFD", "".join(raw[span["start"] : span["end"]].decode() for span in found))
    for first, last in zip(places[::2], places[1::2], strict=False):  # nothing of what was found is left out
        assert set(unicodedata.normalize("NFD", composed.encode()[first:last].decode())) <= set(marked)
