"""Streams and the windows that steps take out of them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.messages import assert_refused, assert_told_each
from winnow.schemas.errors import SourceError
from winnow.scoring.probe.streams import (
    Stream,
    Windows,
    document_bytes,
    held_out_windows,
    is_held_out,
    require_enough,
    windows_of,
)

CONTEXT = 4


def stream(family: str, count: int) -> Stream:
    tokens = np.arange(count * CONTEXT + 1).astype(np.uint8)
    return Stream(family, tokens, tokens)


STREAMS = {"blue": stream("blue", 10), "red": stream("red", 6)}


def windows(shares: dict[str, float], batch: int = 8, seed: int = 0) -> Windows:
    return Windows(STREAMS, tuple(shares.items()), CONTEXT, batch, seed)


def test_a_document_ends_with_a_zero_and_holds_no_other() -> None:
    assert document_bytes("a\0ü") == b"a \xc3\xbc\0"


def test_equal_texts_are_on_the_same_side_and_the_share_is_kept() -> None:
    sides = [is_held_out(b"text %d" % number, 0.1) for number in range(10_000)]
    assert sides == [is_held_out(b"text %d" % number, 0.1) for number in range(10_000)]
    assert 900 < sum(sides) < 1100


def test_windows_follow_one_another_with_the_byte_after() -> None:
    assert windows_of(STREAMS["red"].train, CONTEXT) == 6
    found = windows({"red": 1.0}, batch=6).batch(0)
    assert sorted(found[:, 0].tolist()) == [0, 4, 8, 12, 16, 20]
    assert all(row.tolist() == list(range(row[0], row[0] + CONTEXT + 1)) for row in found)


def test_every_window_comes_once_before_any_comes_again() -> None:
    made = windows({"red": 1.0}, batch=3)
    first, second = (np.concatenate([made.batch(step)[:, 0] for step in steps]) for steps in ((0, 1), (2, 3)))
    assert sorted(first.tolist()) == sorted(second.tolist()) == [0, 4, 8, 12, 16, 20]
    assert first.tolist() != second.tolist()


@given(st.floats(0.01, 0.99), st.integers(1, 40), st.integers(0, 5))
def test_each_step_keeps_shares_as_closely_as_whole_windows_can(share: float, batch: int, seed: int) -> None:
    made = windows({"blue": 1 - share, "red": share}, batch, seed)
    for step in range(5):
        before = made.drawn.copy()
        made.batch(step)
        given_red = int((made.drawn - before)[1])
        assert abs(given_red - share * batch) < 1
    assert int(made.drawn.sum()) == 5 * batch


def test_a_step_follows_from_the_seed_its_number_and_what_was_drawn() -> None:
    shares = {"blue": 0.5, "red": 0.5}
    whole = windows(shares)
    steps = [whole.batch(step) for step in range(4)]
    later = windows(shares)
    for step in range(2):
        later.batch(step)
    resumed = windows(shares)
    resumed.drawn = later.drawn.copy()
    assert all((resumed.batch(step) == steps[step]).all() for step in (2, 3))
    assert any(
        (one != other).any() for one, other in zip(steps, map(windows(shares, seed=1).batch, range(4)), strict=True)
    )


def test_losses_are_measured_from_all_over_the_held_out_bytes() -> None:
    found = held_out_windows(STREAMS["blue"].held_out, CONTEXT, 5 * CONTEXT)
    assert found[:, 0].tolist() == [0, 8, 16, 24, 32]
    assert len(held_out_windows(STREAMS["blue"].held_out, CONTEXT, 10**9)) == 10


def test_too_little_text_is_refused_with_what_is_needed() -> None:
    with pytest.raises(SourceError) as caught:
        require_enough(STREAMS, CONTEXT)
    assert_told_each(
        str(caught.value).splitlines(), ("blue:", "41 bytes", "least 257"), ("red:", "25 bytes", "least 257")
    )


def test_what_is_no_byte_is_counted_in_tokens() -> None:
    tokens = np.arange(9, dtype=np.uint16)
    with assert_refused(SourceError, "red:", "9 tokens", "least 257"):
        require_enough({"red": Stream("red", tokens, tokens)}, CONTEXT)
