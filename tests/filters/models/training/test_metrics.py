"""Precision, recall and AUC, against counting by hand and against the definition."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from winnow.filters.models.training.metrics import AtThreshold, evaluate_scores


def test_what_is_kept_is_counted_at_every_threshold() -> None:
    scores = np.array([0.9, 0.8, 0.5, 0.3, 0.1])
    truth = np.array([True, False, True, False, False])
    found = evaluate_scores(scores, truth, [0.5, 0.85, 0.95])
    assert (found.positives, found.negatives) == (2, 3)
    assert found.at == (
        AtThreshold(0.5, 3, 0.666667, 1.0, 0.8),
        AtThreshold(0.85, 1, 1.0, 0.5, 0.666667),
        AtThreshold(0.95, 0, None, 0.0, 0.0),
    )
    assert found.auc == round(5 / 6, 6)


def test_a_ratio_over_nothing_is_nothing() -> None:
    found = evaluate_scores(np.array([0.7]), np.array([False]), [0.5, 0.9])
    assert found.auc is None
    assert [(row.precision, row.recall, row.f1) for row in found.at] == [(0.0, None, 0.0), (None, None, None)]


@given(st.lists(st.tuples(st.sampled_from([0.0, 0.25, 0.5, 1.0]), st.booleans()), min_size=1, max_size=30))
def test_auc_is_how_often_a_positive_text_scores_higher(pairs: list[tuple[float, bool]]) -> None:
    high = [score for score, side in pairs if side]
    low = [score for score, side in pairs if not side]
    found = evaluate_scores(np.array([score for score, _ in pairs]), np.array([side for _, side in pairs])).auc
    if high and low:
        wins = sum((above > below) + (above == below) / 2 for above in high for below in low)
        assert found == round(wins / (len(high) * len(low)), 6)
    else:
        assert found is None
