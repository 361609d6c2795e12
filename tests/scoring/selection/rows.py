"""Rows for tests: ids, scores with everything that is awkward, votes of checkpoints that err at random."""

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from winnow.scoring.selection.ranks import Floats, Ids, Integers

AWKWARD = (0.0, -0.0, 1.0, -1.0, 1e-320, 1.7e308, -1.7e308, float("nan"), float("inf"), float("-inf"))
"""Scores that tie, that are no scores, and that overflow when they are squared or subtracted."""

SCORES = st.one_of(st.sampled_from(AWKWARD), st.floats(-3, 3), st.integers(-3, 3).map(float))


def ids_of(rows: int, seed: int = 0) -> Ids:
    words = np.random.default_rng(seed).integers(0, 2**64, (2, rows), dtype=np.uint64)
    return words[0], words[1]


def shuffled(ids: Ids, order: Integers) -> Ids:
    return ids[0][order], ids[1][order]


@st.composite
def tables(draw: st.DrawFn, checkpoints: int = 2, max_rows: int = 24) -> tuple[Floats, Ids, Integers]:
    """Scores of rows at checkpoints, the rows' ids, and another order of the rows."""
    rows = draw(st.integers(1, max_rows))
    values = draw(st.lists(SCORES, min_size=rows * checkpoints, max_size=rows * checkpoints))
    order = np.array(draw(st.permutations(range(rows))), np.int64)
    return np.array(values).reshape(rows, checkpoints), ids_of(rows, draw(st.integers(0, 5))), order


def sampled_votes(
    rows: int,
    balance: float,
    sensitivity: list[float],
    specificity: list[float],
    *,
    abstains: float = 0.0,
    seed: int = 0,
) -> tuple[NDArray[np.int8], NDArray[np.bool_]]:
    """Votes of checkpoints that err independently, and which rows are good."""
    random = np.random.default_rng(seed)
    good = random.random(rows) < balance
    keeps = np.where(good[:, np.newaxis], sensitivity, 1 - np.array(specificity))
    votes = (random.random(keeps.shape) < keeps).astype(np.int8)
    votes[random.random(keeps.shape) < abstains] = -1
    return votes, good
