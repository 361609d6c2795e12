"""Cosines of rounded vectors: every pair that comparing all with all gives, the same in any order and any blocks."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from tests.property_sizes import scaled
from winnow.filters.duplicates.components import components
from winnow.filters.duplicates.vectors import cosines
from winnow.filters.duplicates.vectors.cosines import MAX_DIMENSIONS, Vectors, cosine_pairs, join_cosines, rounded

Pairs = dict[tuple[int, int], float]


def planted(count: int, dimensions: int, seed: int) -> NDArray[np.float32]:
    """Vectors in all directions; a third are others of them, with a little noise."""
    random = np.random.default_rng(seed)
    found = random.standard_normal((count, dimensions)).astype(np.float32)
    copies = random.integers(0, count // 2, count // 3)
    noise = random.standard_normal((len(copies), dimensions)) * random.uniform(0, 0.5, (len(copies), 1))
    found[-len(copies) :] = found[copies] + noise
    return found


def brute(vectors: Vectors, min_cosine: float) -> Pairs:
    """All pairs, by products of whole numbers of 64 bits."""
    whole = vectors.astype(np.int64)
    lengths = np.sqrt(np.square(whole).sum(axis=1).astype(np.float64))
    found = np.minimum((whole @ whole.T).astype(np.float64) / np.outer(lengths, lengths), 1)
    first, second = np.nonzero(np.triu(found >= min_cosine, 1))
    return {(int(one), int(other)): float(found[one, other]) for one, other in zip(first, second, strict=True)}


def found_pairs(vectors: Vectors, min_cosine: float) -> Pairs:
    found: Pairs = {}
    for part in cosine_pairs(vectors, min_cosine):
        pairs = list(zip(part.first.tolist(), part.second.tolist(), strict=True))
        assert not found.keys() & set(pairs)
        found |= zip(pairs, part.cosine.tolist(), strict=True)
    return found


@pytest.mark.parametrize("min_cosine", [0.5, 0.95, 1.0])
def test_every_pair_is_found_with_its_exact_cosine_and_no_other(min_cosine: float) -> None:
    vectors, _ = rounded(planted(1400, 24, 3))  # more than one block of lines
    assert found_pairs(vectors, min_cosine) == brute(vectors, min_cosine)
    assert len(brute(vectors, min_cosine)) > (100 if min_cosine < 1 else -1)


def test_blocks_and_threads_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    vectors, _ = rounded(planted(600, 300, 5))
    whole = found_pairs(vectors, 0.8)
    monkeypatch.setattr(cosines, "_LINES", 37)
    monkeypatch.setattr(cosines, "_COLUMNS", 51)
    assert found_pairs(vectors, 0.8) == whole == brute(vectors, 0.8)


@settings(max_examples=scaled(20), deadline=None)
@given(st.integers(3, 80), st.integers(1, 40), st.integers(0, 1 << 32))
def test_the_order_of_vectors_changes_nothing(count: int, dimensions: int, seed: int) -> None:
    vectors, _ = rounded(planted(count, dimensions, seed))
    order = np.random.default_rng(seed).permutation(count)
    one, other = (join_cosines(some, 0.9) for some in (vectors, vectors[order]))
    best = dict(zip(one.matched.tolist(), one.cosine.tolist(), strict=True))
    assert dict(zip(order[other.matched].tolist(), other.cosine.tolist(), strict=True)) == best
    ends = [order[part.astype(np.int64)].astype(np.uint64) for part in other.forest]
    expected = brute(vectors, 0.9)
    pairs = np.array([*expected], np.uint64).reshape(-1, 2)
    for given_back in (one.forest, (ends[0], ends[1])):
        for mine, theirs in zip(components(*given_back), components(pairs[:, 0], pairs[:, 1]), strict=True):
            assert mine.tolist() == theirs.tolist()
    for position, nearest, cosine in zip(one.matched, one.nearest, one.cosine, strict=True):
        close = {sum(pair) - position: value for pair, value in expected.items() if position in pair}
        assert (cosine, nearest) == (max(close.values()), min(at for at, value in close.items() if value == cosine))


@pytest.mark.parametrize("dimensions", [1, 2, 384, MAX_DIMENSIONS])
def test_products_of_rounded_vectors_are_exact_in_32_bit_floats(dimensions: int) -> None:
    random = np.random.default_rng(1)
    given_vectors = random.standard_normal((40, dimensions)).astype(np.float32)
    given_vectors[0] = 1  # every number is rounded the same way
    given_vectors[1] = -given_vectors[0]
    whole, known = rounded(given_vectors)
    assert known.all()
    assert int(np.square(whole.astype(np.int64)).sum(axis=1).max()) < 1 << 24
    assert (whole.astype(np.float32) @ whole.T.astype(np.float32)).tolist() == (
        whole.astype(np.int64) @ whole.T.astype(np.int64)
    ).tolist()


def test_rounding_changes_a_cosine_by_less_than_a_thousandth() -> None:
    exact = planted(300, 384, 9).astype(np.float64)
    exact /= np.linalg.norm(exact, axis=1, keepdims=True)
    whole = rounded(exact.astype(np.float32))[0].astype(np.float64)
    whole /= np.linalg.norm(whole, axis=1, keepdims=True)
    assert np.abs(exact @ exact.T - whole @ whole.T).max() < 1e-3


def test_vectors_without_a_direction_are_known() -> None:
    lines = [[0, 0], [np.nan, 1], [1, np.inf], [3e38, 3e38], [1e-40, 0]]
    whole, known = rounded(np.array(lines, np.float32))
    assert known.tolist() == [False, False, False, True, True]
    assert whole[:3].tolist() == [[0, 0]] * 3
    assert whole[3, 0] == whole[3, 1] > 2800
    assert (whole[4] == [4094, 0]).all()
    assert len(rounded(np.zeros((0, 5), np.float32))[0]) == 0
