"""A cut is the smallest key at which the rows up to it reach the target, however rows come and however many fit."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from random import Random
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.messages import assert_refused
from tests.property_sizes import scaled
from winnow.scoring.mixture.cuts import (
    NOTHING,
    ROOM,
    Cut,
    CutSearch,
    OpenRanges,
    Part,
    SeenRows,
    find_cuts,
    ordered_key,
    value_of_key,
)

ROOMS = (1, 2, 5, 64, ROOM)  # from one bit a pass to all rows at once


class Row(NamedTuple):
    group: int
    key: int
    weight: int


def _part(rows: Sequence[Row]) -> Part:
    columns = zip(*rows, strict=True) if rows else ((), (), ())
    group, key, weight = columns
    return Part(np.array(group, np.uint32), np.array(key, np.uint64), np.array(weight, np.int64))


def _parts(rows: Sequence[Row], width: int = 3) -> Callable[[], Iterator[Part]]:
    """The rows, so many in each part."""
    return lambda: (_part(rows[start : start + width]) for start in range(0, len(rows), width))


def cuts_in(
    parts: Callable[[], Iterable[Part]], targets: Mapping[int, Sequence[int]], *, room: int = ROOM
) -> dict[int, tuple[Cut, ...]]:
    """The cuts, with each pass made here."""

    def see(openings: OpenRanges) -> SeenRows:
        seen = SeenRows(openings)
        for part in parts():
            seen.add(part)
        return seen

    return find_cuts(see, targets, room=room)


def _by_definition(rows: Sequence[Row], group: int, target: int) -> Cut:
    """Row by row, in the order of keys."""
    own = sorted((row for row in rows if row.group == group), key=lambda row: row.key)
    if not own or not target:
        return NOTHING
    weight = 0
    for row in own:
        weight += row.weight
        if weight >= target:
            break
    upto = [one for one in own if one.key <= row.key]
    last = sum(one.weight for one in own if one.key == row.key)
    return Cut(row.key, sum(one.weight for one in upto), len(upto), last)


KEYS = st.one_of(
    st.integers(0, 2**64 - 1),
    st.integers(0, 5),  # ties
    st.integers(2**64 - 3, 2**64 - 1),
    st.integers(0, 2**24 - 1).map(lambda low: 0xABCDE_FABCD << 24 | low),  # forty leading bits in common
    st.floats(0, 1).map(lambda value: int(ordered_key(np.array([value]))[0])),
)
WEIGHTS = st.one_of(st.integers(0, 9), st.just(0), st.integers(0, 2**56))
ROWS = st.lists(st.builds(Row, st.sampled_from([0, 1, 2, 9]), KEYS, WEIGHTS), max_size=40)
TARGETS = st.dictionaries(
    st.sampled_from([0, 1, 5, 9, 100_000]), st.lists(st.one_of(st.integers(0, 40), st.integers(0, 2**62)), max_size=4)
)


@settings(derandomize=True, deadline=None, max_examples=scaled(300))
@given(rows=ROWS, targets=TARGETS, width=st.integers(1, 50), room=st.sampled_from(ROOMS))
def test_cuts_are_what_the_definition_says(
    rows: list[Row], targets: dict[int, list[int]], width: int, room: int
) -> None:
    found = cuts_in(_parts(rows, width), targets, room=room)
    assert found == {
        group: tuple(_by_definition(rows, group, target) for target in wanted) for group, wanted in targets.items()
    }


@settings(derandomize=True, deadline=None)
@given(
    rows=ROWS.flatmap(lambda rows: st.tuples(st.just(rows), st.permutations(rows))),
    targets=TARGETS,
    widths=st.tuples(st.integers(1, 50), st.integers(1, 50)),
    rooms=st.tuples(st.sampled_from(ROOMS), st.sampled_from(ROOMS)),
)
def test_neither_order_nor_parts_nor_room_matter(
    rows: tuple[list[Row], list[Row]],
    targets: dict[int, list[int]],
    widths: tuple[int, int],
    rooms: tuple[int, int],
) -> None:
    one = cuts_in(_parts(rows[0], widths[0]), targets, room=rooms[0])
    other = cuts_in(_parts(rows[1], widths[1]), targets, room=rooms[1])
    assert one == other


@settings(derandomize=True, deadline=None)
@given(rows=ROWS, targets=st.lists(st.integers(0, 2**58), min_size=1, max_size=6).map(sorted))
def test_a_larger_target_takes_all_that_a_smaller_one_does(rows: list[Row], targets: list[int]) -> None:
    (cuts,) = cuts_in(_parts(rows), {0: targets}, room=4).values()
    assert list(cuts) == sorted(cuts, key=lambda cut: (cut.key, cut.taken, cut.rows))


@settings(derandomize=True, deadline=None)
@given(
    keys=st.lists(KEYS, min_size=1, max_size=30, unique=True),
    weights=st.data(),
    share=st.floats(0, 1),
    room=st.sampled_from(ROOMS),
)
def test_without_ties_less_than_one_row_is_too_much(
    keys: list[int], weights: st.DataObject, share: float, room: int
) -> None:
    rows = [Row(3, key, weights.draw(WEIGHTS)) for key in keys]
    target = int(sum(row.weight for row in rows) * share)
    ((cut,),) = cuts_in(_parts(rows), {3: [target]}, room=room).values()
    if target == 0:
        assert cut == NOTHING
        return
    (last,) = (row for row in rows if row.key == cut.key)
    assert cut.taken - last.weight < target <= cut.taken or cut.rows == len(rows)


TINY = [Row(4, 10, 5), Row(4, 20, 0), Row(4, 30, 7), Row(4, 30, 1), Row(4, 40, 0), Row(7, 15, 2)]


@pytest.mark.parametrize("room", ROOMS)
@pytest.mark.parametrize(
    ("target", "cut"),
    [
        (0, NOTHING),
        (1, Cut(10, 5, 1, 5)),
        (5, Cut(10, 5, 1, 5)),  # reached exactly: the row of no weight after it stays
        (6, Cut(30, 13, 4, 8)),  # both rows of the key
        (13, Cut(30, 13, 4, 8)),
        (14, Cut(40, 13, 5, 0)),  # never reached: all rows, the last one of no weight too
    ],
)
def test_a_small_case_by_hand(target: int, cut: Cut, room: int) -> None:
    assert cuts_in(_parts(TINY), {4: [target]}, room=room) == {4: (cut,)}


@pytest.mark.parametrize("room", ROOMS)
def test_targets_may_come_in_any_order_and_more_than_once(room: int) -> None:
    cuts = cuts_in(_parts(TINY), {4: [13, 1, 0, 1], 7: [], 1: [3]}, room=room)
    assert cuts == {4: (Cut(30, 13, 4, 8), Cut(10, 5, 1, 5), NOTHING, Cut(10, 5, 1, 5)), 7: (), 1: (NOTHING,)}


def test_nothing_asked_reads_nothing() -> None:
    assert cuts_in(lambda: pytest.fail("read"), {3: [0], 4: []}) == {3: (NOTHING,), 4: ()}


@pytest.mark.parametrize("room", ROOMS)
def test_weights_are_summed_exactly_above_what_a_float_holds(room: int) -> None:
    most = (1 << 61) - 1
    rows = [Row(0, 1, most), Row(0, 2, 1), Row(0, 3, most), Row(0, 4, 1)]
    cuts = cuts_in(_parts(rows), {0: [most, most + 1, most + 2, 2 * most + 1, 2 * most + 2]}, room=room)[0]
    assert [cut.key for cut in cuts] == [1, 2, 3, 3, 4]
    assert cuts[-1].taken == 1 << 62


def _hashed(rows: int, groups: int) -> list[Part]:
    """Rows with keys like hashes, in parts of ten thousand."""
    numbers = np.arange(rows, dtype=np.uint64)
    keys = (numbers ^ (numbers >> np.uint64(3))) * np.uint64(0x9E3779B97F4A7C15)
    group, weight = (numbers % np.uint64(groups)).astype(np.uint32), (keys >> np.uint64(54)).astype(np.int64)
    slices = [slice(start, start + 10_000) for start in range(0, rows, 10_000)]
    return [Part(group[part], keys[part], weight[part]) for part in slices]


@pytest.mark.parametrize("room", [1 << 10, 1 << 16, ROOM])
def test_many_rows_are_cut_like_few(room: int) -> None:
    parts = _hashed(300_000, 700)
    group, key, weight = (
        np.concatenate([getattr(part, name) for part in parts]) for name in ("group", "key", "weight")
    )
    found = cuts_in(lambda: parts, {number: [1, 50_000, 1 << 40] for number in range(700)}, room=room)
    for number in (0, 1, 350, 699):
        order = np.argsort(key[group == number])
        keys, weights = key[group == number][order], weight[group == number][order]
        sums = np.cumsum(weights)
        places = [int(np.searchsorted(sums, target)) for target in (1, 50_000)] + [len(keys) - 1]
        assert found[number] == tuple(Cut(int(keys[at]), int(sums[at]), at + 1, int(weights[at])) for at in places)


@pytest.mark.parametrize(("rows", "groups", "room", "most"), [(20_000, 9, ROOM, 1), (200_000, 9, 1 << 15, 2)])
def test_few_rows_are_read_once_and_many_twice(rows: int, groups: int, room: int, most: int) -> None:
    parts, reads = _hashed(rows, groups), []

    def read() -> list[Part]:
        reads.append(1)
        return parts

    cuts_in(read, {number: [rows * 20] for number in range(groups)}, room=room)
    assert len(reads) == most


def test_the_shards_of_an_export_hold_equal_numbers_of_samples_within_one() -> None:
    rows, shards = 1000, 7
    parts = [Part(part.group, part.key, np.ones(len(part.key), np.int64)) for part in _hashed(rows, 1)]
    cuts = cuts_in(lambda: parts, {0: [rows * shard // shards for shard in range(1, shards + 1)]}, room=50)[0]
    sizes = np.diff([0, *(cut.rows for cut in cuts)])
    assert sizes.sum() == rows
    assert set(sizes.tolist()) == {142, 143}


def test_rows_that_change_between_passes_are_an_error() -> None:
    rows = iter([[Row(0, key, 1) for key in range(20)], [Row(0, key, 1) for key in range(19)]])
    with assert_refused(ValueError, "19 rows", "20"):
        cuts_in(lambda: [_part(next(rows))], {0: [20]}, room=8)


@pytest.mark.parametrize(
    ("rows", "targets", "message"),
    [
        ([Row(0, 1, -1)], {0: [1]}, "a row weighs -1"),
        ([Row(0, 1, 1 << 62), Row(1, 2, 1 << 62)], {0: [1]}, "weigh more than"),
        ([], {0: [-1]}, "targets are weights from 0"),
        ([], {1 << 25: [1]}, "groups are numbers from 0"),
    ],
)
def test_what_cannot_be_summed_or_found_is_refused(
    rows: list[Row], targets: dict[int, list[int]], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        cuts_in(_parts(rows), targets)


def test_a_part_has_columns_of_one_length() -> None:
    with assert_refused(ValueError, "weight"):
        Part(np.zeros(2, np.uint32), np.zeros(2, np.uint64), np.zeros(1, np.int64))


@settings(derandomize=True, deadline=None)
@given(values=st.lists(st.floats(allow_nan=False), min_size=1))
def test_keys_are_ordered_like_their_numbers_and_give_them_back(values: list[float]) -> None:
    numbers = np.array(values)
    keys = ordered_key(numbers)
    assert keys.dtype == np.uint64
    assert np.array_equal(value_of_key(keys), numbers)
    assert np.array_equal(keys[:, None] < keys[None], numbers[:, None] < numbers[None])
    assert np.array_equal(keys[:, None] == keys[None], numbers[:, None] == numbers[None])


def test_keys_of_single_precision_are_those_of_the_same_numbers() -> None:
    numbers = np.array([-1.5, -0.0, 0.0, 0.1, np.inf], np.float32)
    assert np.array_equal(ordered_key(numbers), ordered_key(numbers.astype(np.float64)))


def test_known_keys_stay_known() -> None:
    keys = ordered_key(np.array([-np.inf, -1.0, -0.0, 0.0, 1.0, np.inf]))
    assert [hex(key) for key in keys.tolist()] == [
        "0xfffffffffffff",
        "0x400fffffffffffff",
        "0x8000000000000000",
        "0x8000000000000000",
        "0xbff0000000000000",
        "0xfff0000000000000",
    ]


def test_not_a_number_has_no_key() -> None:
    with pytest.raises(ValueError, match="NaN cannot"):
        ordered_key(np.array([1.0, np.nan]))


@settings(derandomize=True, deadline=None, max_examples=scaled(100))
@given(
    rows=ROWS,
    targets=TARGETS,
    readers=st.integers(1, 4),
    rooms=st.tuples(st.sampled_from(ROOMS), st.sampled_from(ROOMS)),
    random=st.randoms(use_true_random=False),
)
def test_readers_that_each_see_some_rows_find_the_same_cuts(
    rows: list[Row], targets: dict[int, list[int]], readers: int, rooms: tuple[int, int], random: Random
) -> None:
    """Each reader has less room than the search, so some return rows and others histograms."""
    wanted = [(group, target) for group, asked in targets.items() for target in asked if target]
    if not wanted:
        return
    groups, asked = (np.array(column, np.int64) for column in zip(*wanted, strict=True))
    search = CutSearch(groups, asked, rooms[0])
    while not search.done:
        shares = [SeenRows(replace(search.openings, room=rooms[1])) for _ in range(readers)]
        for number, seen in enumerate(shares):
            seen.add(_part(rows[number::readers]))
        random.shuffle(shares)
        whole = SeenRows(search.openings)
        for seen in shares:
            whole.absorb(seen)
        search.narrow(whole)
    assert search.cuts() == [_by_definition(rows, group, target) for group, target in wanted]
