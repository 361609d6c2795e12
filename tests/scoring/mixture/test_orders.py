"""Orders are hashes: the same everywhere, even, and independent of ids, of each other and of other copies."""

import hashlib
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from winnow.schemas.uint128 import Words, words_of
from winnow.scoring.mixture.orders import Key, draw_order, export_order, key_of

WORD = st.integers(0, 2**64 - 1)
ROWS = 1 << 16
DRAW = key_of(7, "draw")


def _ids(*values: int) -> tuple[Words, Words]:
    return words_of(pa.array([value.to_bytes(16, "big") for value in values], pa.binary(16)))


def _counting(low_first: bool) -> tuple[Words, Words]:
    """Ids that differ in a few bits at one end."""
    numbers, zeros = np.arange(ROWS, dtype=np.uint64), np.zeros(ROWS, np.uint64)
    return (zeros, numbers) if low_first else (numbers << np.uint64(48), zeros)


def _as_numbers(words: Words) -> NDArray[np.float64]:
    """From -0.5 to 0.5."""
    return words.astype(np.float64) / 2.0**64 - 0.5


def _assert_even(cells: NDArray[np.integer], count: int) -> None:
    """Chi-square over cells that are equally likely, within five standard deviations of what chance gives."""
    expected = len(cells) / count
    chi = float(((np.bincount(cells, minlength=count) - expected) ** 2 / expected).sum())
    assert abs(chi - (count - 1)) < 5 * (2 * (count - 1)) ** 0.5


def _assert_unrelated(one: Words, other: Words) -> None:
    """No correlation, and each pair of tenths is as frequent as any."""
    assert abs(float((_as_numbers(one) * _as_numbers(other)).mean()) * 12) < 5 / len(one) ** 0.5
    tenths = [((words >> np.uint64(32)) * np.uint64(10) >> np.uint64(32)).astype(np.int64) for words in (one, other)]
    _assert_even(tenths[0] * 10 + tenths[1], 100)


def _spread(word: int) -> int:
    word = (word ^ (word >> 30)) * 0xBF58476D1CE4E5B9 % (1 << 64)
    word = (word ^ (word >> 27)) * 0x94D049BB133111EB % (1 << 64)
    return word ^ (word >> 31)


@settings(derandomize=True, deadline=None)
@given(
    ids=st.lists(st.integers(0, 2**128 - 1), min_size=1, max_size=5),
    high=WORD,
    low=WORD,
    copy=st.integers(0, 2**16 - 1),
)
def test_a_place_is_what_the_definition_says(ids: list[int], high: int, low: int, copy: int) -> None:
    states = [_spread(_spread(one >> 64 ^ high) ^ one % (1 << 64) ^ low) for one in ids]
    expected = [_spread((state + (copy + 1) * 0x9E3779B97F4A7C15) % (1 << 64)) for state in states]
    key = Key(np.uint64(high), np.uint64(low))
    assert export_order(_ids(*ids), key, np.full(len(ids), copy, np.uint16)).tolist() == expected


def test_the_key_is_a_digest_of_the_seed_and_the_purpose() -> None:
    parts = (len(part).to_bytes(8, "little") + part for part in (b"7", b"draw"))
    assert (
        b"".join(int(word).to_bytes(8, "big") for word in DRAW)
        == hashlib.blake2b(b"".join(parts), digest_size=16).digest()
    )
    assert len({key_of(seed, purpose) for seed in range(20) for purpose in ("draw", "split", "export")}) == 60


def test_known_places_stay_known() -> None:
    ids = _ids(0, 1, 1 << 64, 2**128 - 1, int.from_bytes(bytes(range(16)), "big"))
    assert draw_order(ids, DRAW).tolist() == [
        4_397_356_823_023_419_589,
        5_388_772_477_076_848_893,
        13_983_261_686_261_910_048,
        9_520_505_005_058_754_146,
        11_113_698_742_161_370_701,
    ]
    assert export_order(ids, key_of(7, "export"), np.array([0, 1, 2, 3, 65535], np.uint16)).tolist() == [
        708_096_552_180_752_576,
        15_748_693_348_570_729_343,
        11_796_866_052_666_973_090,
        14_198_374_259_393_177_221,
        4_529_896_424_736_752_880,
    ]


def test_the_order_of_copy_0_is_the_draw_order_of_that_key() -> None:
    ids = _counting(low_first=True)
    assert np.array_equal(draw_order(ids, DRAW), export_order(ids, DRAW, np.zeros(ROWS, np.uint16)))


def test_the_place_of_a_row_does_not_depend_on_the_rows_beside_it() -> None:
    high, low = _counting(low_first=True)
    copies = (np.arange(ROWS) % 5).astype(np.uint16)
    whole = export_order((high, low), DRAW, copies)
    bounds = [0, 1, 17, 16_400, ROWS]
    parts = [
        export_order((high[start:end], low[start:end]), DRAW, copies[start:end]) for start, end in pairwise(bounds)
    ]
    assert np.array_equal(np.concatenate(parts), whole)
    assert np.array_equal(export_order((high[::-1], low[::-1]), DRAW, copies[::-1]), whole[::-1])


def test_no_rows_have_no_places() -> None:
    assert len(draw_order(_ids(), DRAW)) == 0


def test_columns_of_other_lengths_are_refused() -> None:
    with pytest.raises(ValueError, match="expected two words per row"):
        export_order(_ids(1, 2), DRAW, np.zeros(1, np.uint16))


@pytest.mark.parametrize("low_first", [True, False])
@pytest.mark.parametrize("shift", [0, 26, 54])
def test_places_are_even_in_all_their_bits_even_of_ids_that_count(low_first: bool, shift: int) -> None:
    order = draw_order(_counting(low_first), DRAW)
    assert len(np.unique(order)) == ROWS
    _assert_even(((order >> np.uint64(shift)) & np.uint64(1023)).astype(np.int64), 1024)


def test_every_bit_of_an_id_turns_every_bit_of_its_place_half_of_the_time() -> None:
    rows = 2000
    high, low = (np.frombuffer(hashlib.shake_128(name).digest(8 * rows), np.uint64) for name in (b"high", b"low"))
    before = draw_order((high, low), DRAW)
    for bit in range(128):
        flip = np.uint64(1 << bit % 64)
        turned = (high ^ flip, low) if bit >= 64 else (high, low ^ flip)
        changed = (draw_order(turned, DRAW) ^ before).astype("<u8").view(np.uint8).reshape(rows, 8)
        share = np.unpackbits(changed, axis=1, bitorder="little").mean(axis=0)
        assert len(share) == 64
        assert np.abs(share - 0.5).max() < 6 * 0.5 / rows**0.5, bit  # 8,192 shares: six standard deviations


def test_places_do_not_follow_ids() -> None:
    ids = _counting(low_first=False)
    _assert_unrelated(draw_order(ids, DRAW), ids[0])
    neighbours = draw_order(ids, DRAW)
    _assert_unrelated(neighbours[1:], neighbours[:-1])


@pytest.mark.parametrize("other", [key_of(7, "split"), key_of(8, "draw")])
@pytest.mark.parametrize("low_first", [True, False])
def test_orders_of_other_purposes_and_seeds_are_unrelated(other: Key, low_first: bool) -> None:
    ids = _counting(low_first)
    _assert_unrelated(draw_order(ids, DRAW), draw_order(ids, other))


@pytest.mark.parametrize(("one", "other"), [(0, 1), (1, 2), (0, 65_535)])
def test_orders_of_copies_are_unrelated(one: int, other: int) -> None:
    ids = _counting(low_first=True)
    orders = [export_order(ids, DRAW, np.full(ROWS, copy, np.uint16)) for copy in (one, other)]
    _assert_unrelated(*orders)


def test_no_two_copies_of_a_sample_have_one_place() -> None:
    high, low = _ids(5)
    copies = np.arange(1 << 16, dtype=np.uint16)
    assert len(np.unique(export_order((np.repeat(high, 1 << 16), np.repeat(low, 1 << 16)), DRAW, copies))) == 1 << 16
