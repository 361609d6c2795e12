"""Examples as arrays: the tokens of texts end to end, their windows, and tables of them. Nothing here needs PyTorch."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from winnow.scoring.torch_models.examples import Examples, Ragged, joined

TEXTS = [[1, 2, 3, 4, 5], [6], [], [7, 8, 9, 10], [11, 12]]


def texts_of(tokens: Ragged) -> list[list[int]]:
    return [tokens.one(place).tolist() for place in range(len(tokens.ends))]


def test_texts_stand_end_to_end_and_each_is_found_again() -> None:
    tokens = Ragged.of(TEXTS)
    assert tokens.values.tolist() == list(range(1, 13))
    assert (tokens.ends.tolist(), tokens.lengths.tolist()) == ([5, 6, 6, 10, 12], [5, 1, 0, 4, 2])
    assert texts_of(tokens) == TEXTS
    assert texts_of(Ragged.of([])) == []


@pytest.mark.parametrize(
    ("width", "windows", "of"),
    [
        (
            2,
            [[1, 2], [2, 3], [3, 4], [4, 5], [6], [], [7, 8], [8, 9], [9, 10], [11, 12]],
            [0, 0, 0, 0, 1, 2, 3, 3, 3, 4],
        ),
        (3, [[1, 2, 3], [3, 4, 5], [6], [], [7, 8, 9], [9, 10], [11, 12]], [0, 0, 1, 2, 3, 3, 4]),
        (4, [[1, 2, 3, 4], [4, 5], [6], [], [7, 8, 9, 10], [11, 12]], [0, 0, 1, 2, 3, 4]),
        (5, TEXTS, [0, 1, 2, 3, 4]),
    ],
)
def test_a_window_begins_with_the_last_token_of_the_one_before(
    width: int, windows: list[list[int]], of: list[int]
) -> None:
    found, whose = Ragged.of(TEXTS).windows(width)
    assert (texts_of(found), whose.tolist()) == (windows, of)


@given(st.lists(st.lists(st.integers(0, 99), max_size=20), max_size=6), st.integers(2, 9))
def test_windows_predict_each_token_but_a_texts_first_once(texts: list[list[int]], width: int) -> None:
    found, of = Ragged.of(texts).windows(width)
    again: list[list[int]] = [[] for _ in texts]
    for window, place in zip(texts_of(found), of, strict=True):
        assert len(window) <= width
        again[place] += window[1:] if again[place] else window
    assert again == texts


def test_a_table_of_tokens_is_filled_up() -> None:
    tokens = Ragged.of([[3], [], [4, 5, 6]])
    assert tokens.padded(4).tolist() == [[3, 0, 0, 0], [0, 0, 0, 0], [4, 5, 6, 0]]
    assert tokens.padded(3, fill=9).tolist() == [[3, 9, 9], [9, 9, 9], [4, 5, 6]]


def test_examples_are_chosen_in_any_order_and_joined_with_all_that_they_hold() -> None:
    pixels = np.arange(3 * 2 * 2 * 3, dtype=np.uint8).reshape(3, 2, 2, 3)
    examples = Examples(3, pixels, Ragged.of([[1], [2, 3], []]), np.array([7, 8, 9]))
    some = examples.chosen(np.array([2, 0]))
    assert some.pixels is not None
    assert some.tokens is not None
    assert some.labels is not None
    assert (some.count, some.pixels.tolist()) == (2, pixels[[2, 0]].tolist())
    assert (texts_of(some.tokens), some.labels.tolist()) == ([[], [1]], [9, 7])
    both = joined([some, examples])
    assert both.pixels is not None
    assert both.tokens is not None
    assert both.labels is not None
    assert (both.count, both.pixels.tolist()) == (5, pixels[[2, 0, 0, 1, 2]].tolist())
    assert (texts_of(both.tokens), both.labels.tolist()) == ([[], [1], [1], [2, 3], []], [9, 7, 7, 8, 9])
    bare = joined([Examples(1), Examples(2)])
    assert (bare.count, bare.pixels, bare.tokens, bare.labels) == (3, None, None, None)
    assert Examples(2).chosen(np.array([1])) == Examples(1)
