"""Each rule gives one vote a score; what has no score has no vote."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.property_sizes import scaled
from tests.scoring.selection.rows import ids_of, shuffled, tables
from winnow.schemas.errors import RecipeError
from winnow.scoring.selection.binarise import BinariseRule, Votes, binarise
from winnow.scoring.selection.ranks import Floats, Ids, Integers, count_of

NAN = math.nan
TWO_HEAPS = np.array([[0.0], [0.1], [0.2], [NAN], [5.0], [5.1]])
CLUSTERED = [BinariseRule("kmeans"), BinariseRule("gmm")]
RULES = [
    BinariseRule("threshold", batch=4),
    BinariseRule("threshold", batch=4, temperature=0.1),
    *CLUSTERED,
    BinariseRule("gmm", monotone=False),
    BinariseRule("top", share=0.4),
]


def _votes(scores: Floats, rule: BinariseRule) -> list[list[int]]:
    found: list[list[int]] = binarise(scores, rule, ids=ids_of(len(scores))).kept.T.tolist()
    return found


@pytest.mark.parametrize("rule", CLUSTERED)
def test_the_cluster_of_the_higher_mean_is_kept(rule: BinariseRule) -> None:
    assert _votes(TWO_HEAPS, rule) == [[0, 0, 0, -1, 1, 1]]


def test_a_top_share_is_of_the_rows_with_a_score() -> None:
    assert _votes(TWO_HEAPS, BinariseRule("top", share=0.6)) == [[0, 0, 1, -1, 1, 1]]
    assert _votes(TWO_HEAPS, BinariseRule("top", share=0)) == [[0, 0, 0, -1, 0, 0]]
    assert _votes(TWO_HEAPS, BinariseRule("top", share=1)) == [[1, 1, 1, -1, 1, 1]]


def test_batches_may_be_given_one_for_all_checkpoints_or_for_each() -> None:
    scores = np.array([[0.0, 0.0], [1.0, 1.0], [2.0, 2.0], [3.0, 3.0]])
    rule, once = BinariseRule("threshold"), np.array([0, 0, 1, 1])
    assert binarise(scores, rule, batches=once).kept.T.tolist() == [[0, 1, 0, 1], [0, 1, 0, 1]]
    each = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    assert binarise(scores, rule, batches=each).kept.T.tolist() == [[0, 1, 0, 1], [0, 0, 1, 1]]


def test_checkpoints_are_binarised_each_by_itself() -> None:
    scores = np.hstack([TWO_HEAPS, -TWO_HEAPS, np.full((6, 1), NAN), np.full((6, 1), 3.0)])
    votes = binarise(scores, BinariseRule("gmm"))
    assert votes.kept.T.tolist() == [[0, 0, 0, -1, 1, 1], [1, 1, 1, -1, 0, 0], [-1] * 6, [-1] * 6]
    assert [step.note for step in votes.detail] == ["", "", "unscored", "constant"]
    assert votes.probability is not None
    assert np.array_equal(np.isnan(votes.probability), votes.kept == -1)


def test_the_detail_says_what_was_found() -> None:
    step = binarise(TWO_HEAPS, BinariseRule("kmeans")).detail[0]
    assert (step.scored, step.voted, step.kept, step.highest_dropped, step.lowest_kept) == (5, 5, 2, 0.2, 5.0)
    assert step.clusters is not None
    lower, upper = step.clusters
    assert (lower.mean, lower.share, upper.mean, upper.share) == pytest.approx((0.1, 0.6, 5.05, 0.4))
    assert upper.deviation == pytest.approx(0.05)


def test_one_row_or_none_has_no_clusters() -> None:
    for rule in CLUSTERED:
        assert _votes(np.array([[1.0]]), rule) == [[-1]]
    for rule in RULES:
        assert binarise(np.zeros((0, 3)), rule, ids=ids_of(0)).kept.shape == (0, 3)
        assert [step.note for step in binarise(np.zeros((0, 1)), rule, ids=ids_of(0)).detail] == ["unscored"]


def test_two_rows_are_told_apart() -> None:
    for rule in CLUSTERED:
        assert _votes(np.array([[1.0], [2.0]]), rule) == [[0, 1]]


@pytest.mark.parametrize("share", [0.29, 0.3, 0.35, 0.57, 0.58])
def test_a_share_is_counted_as_it_is_written(share: float) -> None:
    assert count_of(share, 100) == round(share * 100)
    votes = binarise(np.zeros((100, 1)), BinariseRule("top", share=share), ids=ids_of(100))
    assert int((votes.kept == 1).sum()) == round(share * 100)  # though all scores are equal


def test_ties_fall_by_id_and_seed() -> None:
    scores, ids = np.zeros((200, 1)), ids_of(200)
    one, again, other = (binarise(scores, BinariseRule("top", seed=seed), ids=ids).kept for seed in (1, 1, 2))
    assert np.array_equal(one, again)
    assert not np.array_equal(one, other)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: f"{rule.rule}-{rule.temperature}-{rule.monotone}")
@settings(deadline=None, derandomize=True, max_examples=scaled(60))
@given(tables())
def test_votes_are_the_same_for_any_order_of_rows(rule: BinariseRule, table: tuple[Floats, Ids, Integers]) -> None:
    scores, ids, order = table
    one = binarise(scores, rule, ids=ids)
    other = binarise(scores[order], rule, ids=shuffled(ids, order))
    assert np.array_equal(other.kept, one.kept[order])
    assert other.detail == one.detail
    _assert_same(one, other, order)
    assert np.array_equal(one.kept == -1, one.kept < 0)
    assert (one.kept[~np.isfinite(scores)] == -1).all()


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: f"{rule.rule}-{rule.temperature}-{rule.monotone}")
def test_votes_on_many_rows_are_the_same_for_any_order(rule: BinariseRule) -> None:
    """More rows than EM reads blocks; longer than any unrolled loop."""
    random = np.random.default_rng(0)
    scores, ids, order = random.normal(0, 1, (10_007, 1)).round(5), ids_of(10_007), random.permutation(10_007)
    scores[::3] += 4
    one = binarise(scores, rule, ids=ids)
    other = binarise(scores[order], rule, ids=shuffled(ids, order))
    assert np.array_equal(other.kept, one.kept[order])
    assert other.detail == one.detail
    _assert_same(one, other, order)


def _assert_same(one: Votes, other: Votes, order: Integers) -> None:
    assert (one.probability is None) == (other.probability is None)
    if one.probability is not None and other.probability is not None:
        assert np.array_equal(other.probability, one.probability[order], equal_nan=True)


@settings(deadline=None, derandomize=True, max_examples=scaled(60))
@given(tables(), st.sampled_from(RULES))
def test_a_kept_row_of_one_cut_is_never_below_a_dropped_one(
    table: tuple[Floats, Ids, Integers], rule: BinariseRule
) -> None:
    if rule.rule == "threshold" or not rule.monotone:
        return  # a cut for each batch; or none
    scores, ids, _ = table
    for step in binarise(scores, rule, ids=ids).detail:
        if step.lowest_kept is not None and step.highest_dropped is not None:
            assert step.lowest_kept >= step.highest_dropped


@pytest.mark.parametrize(
    ("field", "message"),
    [
        ({"rule": "median"}, "unknown rule 'median'"),
        ({"temperature": 0.0}, "temperature 0.0: expected"),
        ({"temperature": NAN}, "temperature nan: expected"),
        ({"batch": 1}, "batch 1: expected 2"),
        ({"share": 1.5}, "share 1.5: expected"),
    ],
)
def test_a_rule_that_cannot_be_meant_is_refused(field: dict[str, object], message: str) -> None:
    with pytest.raises(RecipeError, match=message):
        BinariseRule(**field)  # type: ignore[arg-type]


def test_what_a_rule_needs_is_asked_for() -> None:
    for rule in (BinariseRule("top"), BinariseRule("threshold")):
        with pytest.raises(ValueError, match="needs the ids"):
            binarise(TWO_HEAPS, rule)
    with pytest.raises(ValueError, match=r"but .* ids"):
        binarise(TWO_HEAPS, BinariseRule("top"), ids=ids_of(3))
    with pytest.raises(ValueError, match="rows × checkpoints"):
        binarise(TWO_HEAPS[:, 0], BinariseRule("gmm"))
    with pytest.raises(ValueError, match="batches of shape"):
        binarise(TWO_HEAPS, BinariseRule("threshold"), batches=np.zeros(3, np.int64))
