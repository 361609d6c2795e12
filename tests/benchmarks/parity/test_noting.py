"""A threshold that notes what it is compared with shows the values of code that only says yes or no."""

import numpy as np
import pytest

from benchmarks.parity.peers.noting import noted


@pytest.mark.parametrize("value", [2, 2.5, np.float64(2.5), np.mean([2, 3])])
def test_both_sides_of_a_comparison_note_the_other(value: float) -> None:
    notes: dict[str, tuple[float, bool]] = {}
    threshold = noted("least", 3, notes)
    assert not value < threshold
    assert not value > threshold
    assert notes == {"least": (value, True), "least_2": (value, False)}


def test_pairs_are_named_by_their_number() -> None:
    notes: dict[str, tuple[float, bool]] = {}
    for _, threshold in noted("top", ((2, 0.2), (3, 0.18)), notes):
        assert not threshold < 0.19
    assert notes == {"top_2": (0.19, False), "top_3": (0.19, True)}


def test_a_threshold_of_nothing_still_switches_its_rule_off() -> None:
    assert not noted("least", 0, {})
    assert noted("least", 3, {}) == 3
