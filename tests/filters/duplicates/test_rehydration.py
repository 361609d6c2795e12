import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from winnow.filters.duplicates.rehydration import FINEWEB2, Rehydration, measured_rehydration

ITALIAN = {1: 1, 2: 3, 3: 4, 4: 5, 5: 6, 7: 7, 8: 8, 11: 9, 17: 10, 26: 9, 31: 8, 145: 1}
"""The beginning and the end of a published table."""


def test_each_weight_holds_up_to_the_next_size() -> None:
    sizes = np.array([0, 1, 2, 16, 17, 25, 26, 144, 145, 1 << 40])
    assert Rehydration.of(ITALIAN).repeats(sizes).tolist() == [1, 1, 3, 9, 10, 10, 9, 8, 1, 1]
    assert FINEWEB2.repeats(np.array([1, 2, 3, 4, 5, 99, 100, 999, 1000])).tolist() == [1, 2, 3, 3, 5, 5, 8, 8, 1]


@pytest.mark.parametrize("weights", [{}, {2: 1}, {1: -1}, {1: 1001}, {0: 1, 1: 2}])
def test_tables_that_do_not_say_what_to_do_are_refused(weights: dict[int, int]) -> None:
    with pytest.raises(ValueError, match=r"rise from 1|expected 0 to 1000"):
        Rehydration.of(weights)


def test_texts_of_the_sizes_that_filters_spare_are_repeated_most() -> None:
    sizes = list(range(1, 12))
    removed = [60, 50, 40, 30, 20, 10, 20, 30, 40, 70, 90]
    found = measured_rehydration(sizes, [100 - gone for gone in removed], removed)
    repeats = found.repeats(np.array(sizes))
    assert repeats.argmax() == 5
    assert repeats[[0, 9, 10]].tolist() == [1, 1, 1]
    assert repeats.max() == 7  # 10 before it is smoothed over its neighbours
    assert (np.diff(repeats[:6]) >= 0).all()


@given(
    st.lists(st.tuples(st.integers(0, 50), st.integers(0, 50)).filter(any), min_size=1, max_size=30), st.integers(2, 20)
)
def test_repeats_are_between_one_and_the_most(counts: list[tuple[int, int]], most: int) -> None:
    kept, removed = zip(*counts, strict=True)
    sizes = list(range(1, len(counts) + 1))
    repeats = measured_rehydration(sizes, kept, removed, most).repeats(np.array(sizes))
    assert repeats.min() >= 1
    assert repeats.max() <= most
