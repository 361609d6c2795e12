"""Counts of vote patterns: the same however rows are divided; of too many patterns those of a sample of rows."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.property_sizes import scaled
from tests.scoring.selection.rows import sampled_votes
from winnow.scoring.selection.label_model import fit_patterns, patterns_of
from winnow.scoring.selection.vote_counts import VoteCounts

ROWS = st.lists(st.tuples(*[st.integers(-1, 1)] * 3, st.integers(0, 2**64 - 1)), min_size=1, max_size=40)


def _counts(rows: list[tuple[int, ...]], limit: int) -> VoteCounts:
    table = np.array([row[:3] for row in rows], np.int8).reshape(-1, 3)
    return VoteCounts.of(table, np.array([row[3] for row in rows], np.uint64), limit)


@settings(deadline=None, derandomize=True, max_examples=scaled(200))
@given(rows=ROWS, limit=st.sampled_from([1, 2, 5, 100]), parts=st.integers(1, 4))
def test_neither_parts_nor_order_matter(rows: list[tuple[int, ...]], limit: int, parts: int) -> None:
    whole = _counts(rows, limit)
    merged = VoteCounts.merged([_counts(rows[first::parts], limit) for first in reversed(range(parts))], limit)
    assert merged.least == whole.least
    for name in ("votes", "zeros", "counts"):
        assert np.array_equal(getattr(merged, name), getattr(whole, name)), name
    assert len(whole.patterns.counts) <= limit


@settings(deadline=None, derandomize=True, max_examples=scaled(60))
@given(rows=ROWS)
def test_few_patterns_count_every_row(rows: list[tuple[int, ...]]) -> None:
    found, expected = _counts(rows, 27).patterns, patterns_of(np.array([row[:3] for row in rows], np.int8))[0]
    assert np.array_equal(found.votes, expected.votes)
    assert np.array_equal(found.counts, expected.counts)


def test_a_sample_of_rows_gives_about_the_same_model() -> None:
    votes, _ = sampled_votes(40_000, 0.6, [0.9, 0.8, 0.75, 0.85, 0.7] * 3, [0.8, 0.85, 0.75, 0.8, 0.7] * 3)
    hashes = np.random.default_rng(1).integers(0, 2**64, len(votes), dtype=np.uint64)
    counted = VoteCounts.of(votes, hashes, 2000)
    assert counted.least > 0
    assert 1000 < counted.counts.sum() < 10_000
    sampled, whole = (fit_patterns(one, "label_model").model for one in (counted.patterns, patterns_of(votes)[0]))
    assert sampled is not None
    assert whole is not None
    assert abs(sampled.balance - whole.balance) < 0.03
    assert np.abs(sampled.sensitivity - whole.sensitivity).max() < 0.03
