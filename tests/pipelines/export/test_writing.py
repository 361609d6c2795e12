"""Texts of a shard, put in order where they lie."""

from random import Random

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from winnow.pipelines.export import writing
from winnow.pipelines.export.writing import Texts

LONG = "a text that is longer than what Arrow keeps in a view itself"


def texts(*values: str | None) -> pa.LargeStringArray:
    return pa.array(values, pa.large_string())


def test_texts_of_several_pieces_come_in_the_order_that_is_asked_for() -> None:
    held = Texts([texts("short", LONG), texts(), texts("é" * 20, "")])
    assert held.sizes.tolist() == [5, len(LONG), 40, 0]
    taken = held.take(np.array([3, 1, 2, 0, 1]))
    taken.validate(full=True)
    assert taken.equals(texts("", LONG, "é" * 20, "short", LONG))


def test_a_sample_without_text_stays_without() -> None:
    held = Texts([texts(LONG, None), texts("x")])
    assert held.sizes.tolist() == [len(LONG), 0, 1]
    assert held.take(np.array([1, 2, 1, 0])).equals(texts(None, "x", None, LONG))


def test_slices_are_read_from_where_they_begin() -> None:
    piece = texts("before", LONG, None, "after").slice(1, 2)
    assert Texts([piece, piece]).take(np.array([3, 2, 1, 0])).equals(texts(None, LONG, None, LONG))


def test_a_text_that_no_view_can_hold_is_taken_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writing, "_VIEWED_BYTES", 8)
    held = Texts([texts(LONG, None), texts("x")])
    assert held.sizes.tolist() == [len(LONG), 0, 1]
    assert held.take(np.array([2, 1, 0])).equals(texts("x", None, LONG))


@given(st.lists(st.lists(st.none() | st.text(max_size=30), max_size=5), min_size=1, max_size=5), st.randoms())
def test_taking_is_what_taking_from_one_array_is(pieces: list[list[str | None]], random: Random) -> None:
    arrays = [texts(*piece) for piece in pieces]
    whole = pa.concat_arrays(arrays)
    order = np.array(random.sample(range(len(whole)), len(whole)), np.int64)
    assert Texts(arrays).take(order).equals(whole.take(pa.array(order)))
