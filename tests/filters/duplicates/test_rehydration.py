import numpy as np
import pytest

from winnow.filters.duplicates.rehydration import FINEWEB2, Rehydration

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
