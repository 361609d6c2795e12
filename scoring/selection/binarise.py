"""Turn scores into votes, per checkpoint: the paper's threshold 1/b, two-means, two Gaussians, or a top share."""

from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from winnow.schemas.errors import RecipeError
from winnow.scoring.selection.clusters import Cluster, two_gaussians, two_means
from winnow.scoring.selection.in_batch import LEAST_BATCH, above_uniform, batches_of, members
from winnow.scoring.selection.ranks import TIES, Floats, Ids, Integers, count_of, hashed

RuleName: TypeAlias = Literal["threshold", "kmeans", "gmm", "top"]
Note: TypeAlias = Literal["", "unscored", "constant", "one_component", "not_converged"]
"""Special cases at a checkpoint: no row was scored; all scores are equal; one Gaussian took all rows, so that no row
has a vote; or EM was stopped before it converged."""

ABSTAINS: Final = np.int8(-1)
DROPS: Final = np.int8(0)
KEEPS: Final = np.int8(1)


@dataclass(frozen=True)
class BinariseRule:
    """How scores become votes."""

    rule: RuleName = "gmm"
    temperature: float = 1.0  # threshold: of the softmax; the paper's, on images
    batch: int = 32  # threshold: if batches are not given; the paper's
    share: float = 0.3  # top: the paper's filters of DataComp keep 0.3 to 0.4
    monotone: bool = True  # gmm: a higher score never has a lower keep probability
    seed: int = 0  # of batches and ties

    def __post_init__(self) -> None:
        if self.rule not in get_args(RuleName):
            raise RecipeError(f"unknown rule {self.rule!r}; expected one of {', '.join(get_args(RuleName))}")
        if not 0 < self.temperature < float("inf"):
            raise RecipeError(f"temperature {self.temperature}: expected a number above zero")
        if self.batch < LEAST_BATCH:
            raise RecipeError(f"batch {self.batch}: expected {LEAST_BATCH} rows or more")
        if not 0 <= self.share <= 1:
            raise RecipeError(f"share {self.share}: expected a number from 0 to 1")


@dataclass(frozen=True, slots=True)
class Step:
    """The result of the rule at one checkpoint."""

    scored: int  # rows
    voted: int  # rows with a vote to keep or drop
    kept: int
    lowest_kept: float | None
    highest_dropped: float | None
    clusters: tuple[Cluster, Cluster] | None = None  # the lower and the upper; for kmeans and gmm
    note: Note = ""


@dataclass(frozen=True, slots=True)
class Votes:
    """The votes of checkpoints on rows."""

    kept: NDArray[np.int8]  # rows × checkpoints: 1 keeps, 0 drops, -1 abstains
    detail: tuple[Step, ...]
    probability: Floats | None = field(default=None)  # gmm: the probability of the upper cluster; rows × checkpoints


def binarise(scores: Floats, rule: BinariseRule, *, ids: Ids | None = None, batches: Integers | None = None) -> Votes:
    """Compute one vote for each score.

    Args:
        scores: Rows × checkpoints; non-finite scores abstain.
        rule: The rule.
        ids: The ids of the rows, required by `top`, and by `threshold` unless batches are given.
        batches: The batch number of each row, common to all checkpoints or per checkpoint (rows × checkpoints);
            negative for no batch. A row that is the only one with a score in its batch abstains.

    Returns:
        The votes, independent of the order of rows.
    """
    if scores.ndim != 2:
        raise ValueError(f"scores have {scores.ndim} dimensions: expected rows × checkpoints")
    rows, checkpoints = scores.shape
    if ids is None and (rule.rule == "top" or (rule.rule == "threshold" and batches is None)):
        raise ValueError(f"the rule {rule.rule} needs the ids of rows")
    if ids is not None and not rows == len(ids[0]) == len(ids[1]):
        raise ValueError(f"{rows} rows of scores, but {len(ids[0])} ids")
    if batches is not None and (len(batches) != rows or batches.shape not in ((rows,), scores.shape)):
        raise ValueError(f"batches of shape {batches.shape} for scores of shape {scores.shape}")
    if rule.rule == "threshold" and batches is None and ids is not None:
        batches = batches_of(ids, rule.batch, rule.seed)
    order = hashed(ids, rule.seed, TIES) if ids is not None and rule.rule == "top" else None
    kept = np.full(scores.shape, ABSTAINS)
    probability = np.full(scores.shape, np.nan) if rule.rule == "gmm" else None
    detail = []
    of: list[Integers] = []
    # Not hot: one iteration per checkpoint.
    for number in range(checkpoints):
        column = np.ascontiguousarray(scores[:, number], np.float64)
        scored = np.flatnonzero(np.isfinite(column))
        votes = kept[:, number]
        clusters: tuple[Cluster, Cluster] | None = None
        note: Note = ""
        if not len(scored):
            note = "unscored"
        elif rule.rule == "threshold":
            assert batches is not None
            if not of or batches.ndim == 2:
                of = members(batches if batches.ndim == 1 else batches[:, number])
            votes[:] = above_uniform(column, of, rule.temperature)
        elif rule.rule == "top":
            assert order is not None
            _top(column, scored, order, rule.share, votes)
        else:
            note, clusters, likely = _clustered(column[scored], rule)
            if likely is not None:
                votes[scored] = likely > 0.5
                if probability is not None:
                    probability[scored, number] = likely
        detail.append(_step(column, votes, len(scored), clusters, note))
    return Votes(kept, tuple(detail), probability)


def _top(scores: Floats, scored: Integers, order: Integers, share: float, votes: NDArray[np.int8]) -> None:
    count = count_of(share, len(scored))
    votes[scored] = DROPS
    if not count:
        return
    cut = np.partition(scores[scored], len(scored) - count)[len(scored) - count]
    above = scores > cut  # False for NaN
    votes[above & np.isfinite(scores)] = KEEPS
    tied = order[scores[order] == cut]
    votes[tied[: count - int((votes == KEEPS).sum())]] = KEEPS


def _clustered(scores: Floats, rule: BinariseRule) -> tuple[Note, tuple[Cluster, Cluster] | None, Floats | None]:
    """The probability of the upper cluster; None without two clusters."""
    values, place, counts = np.unique(scores, return_inverse=True, return_counts=True)
    values = values + 0.0  # turns -0 into 0, which compare equal
    if len(values) == 1:
        return "constant", None, None
    if rule.rule == "kmeans":
        cut = two_means(values, counts)
        assert cut is not None
        upper = np.arange(len(values)) >= cut
        clusters = _described(values, counts, ~upper), _described(values, counts, upper)
        return "", clusters, upper.astype(np.float64)[place]
    mixture = two_gaussians(values, counts)
    if mixture is None:
        return "one_component", None, None
    likely = mixture.posterior(values, monotone=rule.monotone)
    return "" if mixture.converged else "not_converged", mixture.clusters(), likely[place]


def _described(values: Floats, counts: Integers, which: NDArray[np.bool_]) -> Cluster:
    weight = counts[which]
    scale = float(np.abs(values).max())  # so that squares of large scores stay finite
    x = values[which] / scale
    rows = int(weight.sum())
    mean = float((weight * x).sum()) / rows
    variance = float((weight * (x - mean) ** 2).sum()) / rows
    return Cluster(mean * scale, variance**0.5 * scale, rows / int(counts.sum()))


def _step(
    scores: Floats, votes: NDArray[np.int8], scored: int, clusters: tuple[Cluster, Cluster] | None, note: Note
) -> Step:
    kept, dropped = scores[votes == KEEPS], scores[votes == DROPS]
    return Step(
        scored,
        len(kept) + len(dropped),
        len(kept),
        float(kept.min()) + 0.0 if len(kept) else None,
        float(dropped.max()) + 0.0 if len(dropped) else None,
        clusters,
        note,
    )
