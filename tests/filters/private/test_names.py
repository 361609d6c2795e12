"""What a model says of a text becomes spans of bytes, or none at all."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from winnow.filters.private.names import KINDS, byte_spans

ALL = frozenset(KINDS)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("by Ada Lovelace, 1843", "Ada Lovelace"),
        ("von Jürgen Groß", "Jürgen Groß"),
        ("η Ελένη Γ.", "Ελένη Γ"),
        ("私は山田太郎です", "山田太郎"),
        ("😀👩‍👩‍👧 Zoë 😀", "Zoë"),
        ("שלום דנה כהן!", "דנה כהן"),
        ("नमस्ते प्रिया", "प्रिया"),
    ],
)
def test_characters_become_bytes_in_every_script(text: str, name: str) -> None:
    start = text.index(name)
    (span,) = byte_spans(text, [(start, start + len(name), "name")], ALL) or []
    assert text.encode()[span[0] : span[1]].decode() == name


def test_marks_go_with_the_character_that_they_are_on() -> None:
    text = "Zoe\u0308 came"
    assert byte_spans(text, [(0, 3, "name")], ALL) == [(0, 5, "name")]
    assert byte_spans(text, [(0, 3, "name"), (3, 4, "address")], ALL) == [(0, 3, "name"), (3, 5, "address")]


def test_spans_may_come_in_any_order_and_as_numbers_of_numpy() -> None:
    found = [[np.int64(3), np.int32(4), "name"], (0, 2, "address")]
    assert byte_spans("ab cd", found, ALL) == [(0, 2, "address"), (3, 4, "name")]


@pytest.mark.parametrize(
    "found",
    [
        [(0, 6, "name")],
        [(-1, 2, "name")],
        [(2, 2, "name")],
        [(3, 1, "name")],
        [(0, 3, "name"), (2, 4, "name")],
        [(0, 3, "name"), (0, 3, "name")],
        [(0, 3, "org")],
        [(0, 3)],
        [(0, 3, "name", 0.9)],
        [("0", 3, "name")],
        [(0.0, 3.0, "name")],
        [(False, True, "name")],
        [(0, 3, None)],
        [None],
        ["abc"],
    ],
)
def test_what_is_no_span_is_none(found: list[object]) -> None:
    assert byte_spans("abcde", found, ALL) is None


@given(st.text(st.sampled_from("ab é漢😀\u0301\u200d"), max_size=12), st.data())
def test_whatever_a_model_says_spans_hold(text: str, data: st.DataObject) -> None:
    places = st.integers(-1, len(text) + 1)
    found = data.draw(st.lists(st.tuples(places, places, st.sampled_from([*KINDS, "org"])), max_size=4))
    last = 0
    for start, end, kind in byte_spans(text, found, ALL) or []:
        assert last <= start < end <= len(text.encode())
        assert kind in ALL
        text.encode()[start:end].decode()
        last = end
