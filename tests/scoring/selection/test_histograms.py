"""Histograms of scores: the same bytes however rows are divided, exact while few scores differ, close beyond."""

from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.property_sizes import scaled
from tests.scoring.selection.rows import SCORES
from winnow.scoring.selection.binarise import BinariseRule, binarise, cut_votes, fit_cut
from winnow.scoring.selection.clusters import two_gaussians, two_means
from winnow.scoring.selection.histograms import BINS, ScoreHistogram
from winnow.scoring.selection.ranks import Floats

COLUMNS = st.lists(SCORES, max_size=60).map(np.array)
LIMITS = (2, 3, 7, BINS)


def _same(one: ScoreHistogram, other: ScoreHistogram) -> bool:
    ends = [np.array([part.least, part.greatest]) for part in (one, other)]
    return (
        one.shift == other.shift
        and np.array_equal(one.bins, other.bins)
        and np.array_equal(one.counts, other.counts)
        and np.array_equal(ends[0], ends[1], equal_nan=True)
    )


@settings(deadline=None, derandomize=True, max_examples=scaled(200))
@given(
    scores=COLUMNS,
    cuts=st.lists(st.integers(0, 60), max_size=4).map(sorted),
    limit=st.sampled_from(LIMITS),
    random=st.randoms(use_true_random=False),
)
def test_neither_parts_nor_their_order_nor_the_tree_of_merges_matter(
    scores: Floats, cuts: list[int], limit: int, random: Random
) -> None:
    whole = ScoreHistogram.of(scores, limit=limit)
    parts = [ScoreHistogram.of(part, limit=limit) for part in np.split(scores, cuts)]
    random.shuffle(parts)
    assert _same(ScoreHistogram.merged(parts, limit), whole)
    paired = [ScoreHistogram.merged(parts[first : first + 2], limit) for first in range(0, len(parts), 2)]
    assert _same(ScoreHistogram.merged(paired, limit), whole)


@settings(deadline=None, derandomize=True, max_examples=scaled(200))
@given(scores=COLUMNS, limit=st.sampled_from(LIMITS))
def test_every_finite_score_is_in_the_bin_whose_value_is_nearest_in_bits(scores: Floats, limit: int) -> None:
    found = ScoreHistogram.of(scores, limit=limit)
    finite = np.sort(scores[np.isfinite(scores)])
    assert found.scored == len(finite)
    assert len(found.bins) <= limit
    if not len(finite):
        return
    values, edges = found.values, [found.lower_edge(number) for number in range(len(found.bins))]
    assert np.isfinite(values).all()
    assert (np.diff(values) > 0).all()
    upto = np.searchsorted(finite, edges, side="left")
    assert np.array_equal(np.diff(np.append(upto, len(finite))), found.counts)
    assert (found.least, found.greatest) == (finite[0], finite[-1])
    if found.shift == 0:
        assert np.array_equal(np.repeat(values, found.counts), finite)
    else:  # one bit less would have been too many
        finer = np.unique(ScoreHistogram.of(finite, limit=1 << 20).bins >> np.uint64(found.shift - 1))
        assert len(finer) > limit


def test_a_score_counts_as_often_as_is_said() -> None:
    found = ScoreHistogram.of(np.array([2.0, 1.0, 2.0, np.nan]), np.array([3, 1, 4, 9]))
    assert (found.values.tolist(), found.counts.tolist()) == ([1.0, 2.0], [1, 7])


def test_nothing_has_no_bins() -> None:
    for none in (ScoreHistogram.of(np.array([np.nan])), ScoreHistogram.merged([])):
        assert (none.scored, len(none.values)) == (0, 0)
    one = ScoreHistogram.of(np.array([1.0]))
    assert _same(ScoreHistogram.merged([none, one]), one)


def _two_heaps(rows: int, seed: int = 0, at: float = 0.0, scale: float = 1.0) -> Floats:
    random = np.random.default_rng(seed)
    low = random.random(rows) < 0.3
    return at + scale * np.where(low, random.normal(-2, 1, rows), random.normal(1, 0.6, rows))


HEAPS = [(0.0, 1.0), (1000.0, 1.0), (0.0, 1e-9), (-5.0, 0.01)]


@pytest.mark.parametrize(("at", "scale"), HEAPS)
def test_bins_are_narrow_beside_the_spread_of_scores(at: float, scale: float) -> None:
    scores = _two_heaps(300_000, at=at, scale=scale)
    found = ScoreHistogram.of(scores)
    assert BINS // 3 < len(found.bins) <= BINS
    near = found.values[np.searchsorted(found.values, scores).clip(max=len(found.values) - 1)]
    assert np.quantile(np.abs(near - scores), 0.999) < 0.02 * scale


@pytest.mark.parametrize(("at", "scale"), HEAPS)
def test_gaussians_of_a_histogram_are_those_of_all_rows_to_a_fraction_of_a_bin(at: float, scale: float) -> None:
    """The fit on all rows as the oracle: parameters agree to a thousandth of a deviation, where a bin is up to five."""
    scores = _two_heaps(200_000, at=at, scale=scale)
    values, counts = np.unique(scores, return_counts=True)
    by_rows = two_gaussians(values, counts)
    cut, by_bins = fit_cut(ScoreHistogram.of(scores), BinariseRule("gmm"))
    assert by_rows is not None
    assert by_bins is not None
    for one, other in zip(by_rows.clusters(), by_bins.clusters(), strict=True):
        assert abs(one.mean - other.mean) < 0.001 * scale
        assert abs(one.deviation - other.deviation) < 0.001 * scale
        assert abs(one.share - other.share) < 0.0005
    likely = by_rows.posterior(scores, monotone=True)
    assert np.abs(likely - by_bins.posterior(scores, monotone=True)).max() < 0.004
    assert ((likely > 0.5) != (cut_votes(cut, scores) == 1)).mean() < 0.0002


@pytest.mark.parametrize(("at", "scale"), HEAPS)
def test_two_means_of_a_histogram_cut_within_a_bin_of_the_best_cut(at: float, scale: float) -> None:
    scores = _two_heaps(200_000, at=at, scale=scale)
    values, counts = np.unique(scores, return_counts=True)
    best = two_means(values, counts)
    found = ScoreHistogram.of(scores)
    upper = fit_cut(found, BinariseRule("kmeans"))[0].lowest
    assert best is not None
    assert upper is not None
    edges = np.array([found.lower_edge(number) for number in range(len(found.bins))])
    assert abs(int(np.searchsorted(edges, upper)) - int(np.searchsorted(edges, values[best]))) <= 1


@settings(deadline=None, derandomize=True, max_examples=scaled(60))
@given(scores=COLUMNS, rule=st.sampled_from([BinariseRule("kmeans"), BinariseRule("gmm")]), parts=st.integers(1, 4))
def test_a_cut_of_merged_histograms_gives_each_row_the_vote_of_all_rows_at_once(
    scores: Floats, rule: BinariseRule, parts: int
) -> None:
    votes = binarise(scores[:, np.newaxis], rule)
    cut, mixture = fit_cut(
        ScoreHistogram.merged(ScoreHistogram.of(scores[first::parts]) for first in range(parts)), rule
    )
    assert np.array_equal(cut_votes(cut, scores), votes.kept[:, 0])
    assert (cut.note, cut.clusters) == (votes.detail[0].note, votes.detail[0].clusters)
    if mixture is not None:
        finite = np.isfinite(scores)
        likely = mixture.posterior(scores[finite], monotone=True)
        clear = np.abs(likely - 0.5) > 1e-9
        assert np.array_equal((likely > 0.5)[clear], (votes.kept[finite, 0] == 1)[clear])
