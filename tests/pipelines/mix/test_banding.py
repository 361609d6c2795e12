"""Bands of candidates by their values, and sums by keys: small cases by hand, any by counting."""

from itertools import chain

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from winnow.pipelines.mix.banding import bands_of, descending, without_nulls
from winnow.pipelines.mix.passes import largest, summed, sums_by, table_of
from winnow.schemas.rows.draws import NO_BAND
from winnow.scoring.mixture.cuts import Part

NULL = int(NO_BAND)


def keys(*values: int) -> np.ndarray[tuple[int, ...], np.dtype[np.uint64]]:
    return np.array(values, np.uint64)


@pytest.mark.parametrize(
    ("cuts", "bands", "groups", "values", "found"),
    [
        ([[10, 20]], 4, [0, 0, 0, 0, 0, 0], [5, 10, 15, 20, 99, NULL], [0, 1, 1, 2, 2, 3]),
        ([[10], [20]], 3, [1, 0, 1, 0, 0], [15, 15, 20, NULL, 9], [0, 1, 1, 2, 0]),
        ([[10], [NULL], [30]], 3, [2, 1, 2, 1], [30, 99, 29, NULL], [1, 0, 0, 2]),
        ([[10]], 3, [], [], []),
    ],
)
def test_a_band_begins_at_its_cut_and_the_last_has_no_values(
    cuts: list[list[int]], bands: int, groups: list[int], values: list[int], found: list[int]
) -> None:
    assert (
        bands_of(keys(*chain(*cuts)).reshape(len(cuts), -1), bands, np.array(groups, np.uint32), keys(*values)).tolist()
        == found
    )


def test_groups_are_told_apart_however_many_there_are() -> None:
    many = (1 << 16) + 1
    cuts = np.full((many, 1), 10, np.uint64)
    cuts[1 << 16] = 100
    groups = np.array([1 << 16, 0, 1 << 16, 0], np.uint32)
    assert bands_of(cuts, 3, groups, keys(50, 50, 100, 9)).tolist() == [0, 1, 1, 0]


def test_rows_without_a_value_are_left_out_and_the_largest_come_first() -> None:
    part = Part(np.array([1, 2, 3], np.uint32), keys(5, NULL, 7), np.array([10, 20, 30]))
    some = without_nulls(part)
    assert [one.tolist() for one in (some.group, some.key, some.weight)] == [[1, 3], [5, 7], [10, 30]]
    falling = descending(part)
    assert falling.key.tolist() == [NULL - 5, NULL - 7]
    assert (falling.group.tolist(), falling.weight.tolist()) == ([1, 3], [10, 30])


@given(
    st.lists(st.tuples(st.sampled_from([0, 1, 2, 7, 10**12]), st.integers(0, 1 << 40)), max_size=12), st.integers(0, 12)
)
def test_sums_by_keys_are_those_of_any_parts(rows: list[tuple[int, int]], cut: int) -> None:
    def part(some: list[tuple[int, int]]) -> dict[str, np.ndarray[tuple[int, ...], np.dtype[np.int64]]]:
        return sums_by(
            np.array([key for key, _ in some], np.int64), units=np.array([value for _, value in some], np.int64)
        )

    wanted = {
        key: (sum(1 for one, _ in rows if one == key), sum(value for one, value in rows if one == key))
        for key, _ in rows
    }
    for found in (part(rows), summed(iter([part(rows[:cut]), part(rows[cut:])]))):
        columns = (found[name].tolist() for name in ("key", "rows", "units"))
        assert [(key, (count, units)) for key, count, units in zip(*columns, strict=True)] == sorted(wanted.items())
    highest = largest(iter([part(rows[:cut]), part(rows[cut:])]))
    assert highest["key"].tolist() == sorted(wanted)
    few = part([row for row in rows if row[0] < 10])
    table = table_of(few, 8, "units", "rows")
    assert table[1].tolist() == [wanted.get(key, (0, 0))[0] for key in range(8)]
    assert table[0].tolist() == [wanted.get(key, (0, 0))[1] for key in range(8)]
