"""Turn scores into votes, per checkpoint: the paper's threshold 1/b, two-means, two Gaussians, or a top share.

`binarise` does so for rows that are all at hand. Where they are not, a `Cut` is fitted on a histogram of their scores
and then applied to some of them at a time: the votes are the same.
"""

from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from winnow.schemas.errors import RecipeError
from winnow.schemas.recipe.score import RelativeTemperature, Temperature
from winnow.schemas.uint128 import Words
from winnow.scoring.mixture.cuts import ordered_key, value_of_key
from winnow.scoring.selection.clusters import Cluster, Gaussians, two_gaussians, two_means
from winnow.scoring.selection.histograms import ScoreHistogram
from winnow.scoring.selection.in_batch import LEAST_BATCH, above_uniform, batches_of, members
from winnow.scoring.selection.ranks import TIES, Floats, Ids, Integers, count_of, hashed
from winnow.scoring.selection.share_interval import share_odds

RuleName: TypeAlias = Literal["threshold", "kmeans", "gmm", "top"]
Note: TypeAlias = Literal["", "unscored", "constant", "one_component", "not_converged"]
"""Special cases at a checkpoint: no row was scored; all scores are equal; one Gaussian took all rows, so that no row
has a vote; or EM was stopped before it converged."""

ABSTAINS: Final = np.int8(-1)
DROPS: Final = np.int8(0)
KEEPS: Final = np.int8(1)
EVEN: Final = 0.5
"""A row is kept if it belongs to the upper cluster with a higher probability."""


@dataclass(frozen=True)
class BinariseRule:
    """How scores become votes."""

    rule: RuleName = "gmm"
    temperature: Temperature = 1.0  # threshold: of the softmax; the paper's, on images
    batch: int = 32  # threshold: if batches are not given; the paper's
    share: float = 0.3  # top: the paper's filters of DataComp keep 0.3 to 0.4
    monotone: bool = True  # gmm: a higher score never has a lower keep probability
    seed: int = 0  # of batches and ties

    def __post_init__(self) -> None:
        if self.rule not in get_args(RuleName):
            raise RecipeError(f"unknown rule {self.rule!r}; expected one of {', '.join(get_args(RuleName))}")
        given = self.temperature
        if not 0 < (given.relative if isinstance(given, RelativeTemperature) else given) < float("inf"):
            raise RecipeError(f"temperature {given}: expected a number above zero")
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
    share_odds: tuple[float, float] | None = None  # gmm: bounds of the log odds of the upper cluster's share


@dataclass(frozen=True, slots=True)
class Cut:
    """What a rule makes of all scores at one checkpoint, and what turns any of them into votes."""

    note: Note = ""
    clusters: tuple[Cluster, Cluster] | None = None
    lowest: float | None = None  # the lowest score that is kept; None if none is
    tie: int | None = None  # top: of rows with that score, those with smaller hashes are kept; None: all
    share_odds: tuple[float, float] | None = None  # gmm: bounds of the log odds of the upper cluster's share

    @property
    def votes(self) -> bool:
        """Whether rows with a score have a vote."""
        return self.note in ("", "not_converged")


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
        cut = Cut("" if len(scored) else "unscored")
        if rule.rule in ("kmeans", "gmm"):
            cut, mixture = fit_cut(ScoreHistogram.of(column), rule)
            votes[:] = cut_votes(cut, column)
            if probability is not None and mixture is not None:
                probability[scored, number] = mixture.posterior(column[scored], monotone=rule.monotone)
                if not rule.monotone:
                    votes[scored] = probability[scored, number] > EVEN
        elif rule.rule == "threshold" and len(scored):
            assert batches is not None
            if not of or batches.ndim == 2:
                of = members(batches if batches.ndim == 1 else batches[:, number])
            votes[:] = above_uniform(column, of, rule.temperature)
        elif len(scored):
            assert order is not None
            _top(column, scored, order, rule.share, votes)
        detail.append(step_of(column, votes, cut))
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


def fit_cut(scores: ScoreHistogram, rule: BinariseRule) -> tuple[Cut, Gaussians | None]:
    """Fit two-means or two Gaussians to the scores of all rows."""
    values, counts = scores.values, scores.counts
    if len(values) < 2:
        return Cut("constant" if len(values) else "unscored"), None
    if rule.rule == "kmeans":
        first = two_means(values, counts)
        assert first is not None
        upper = np.arange(len(values)) >= first
        clusters = _described(values, counts, ~upper), _described(values, counts, upper)
        return Cut("", clusters, scores.lower_edge(first)), None
    mixture = two_gaussians(values, counts)
    if mixture is None:
        return Cut("one_component"), None
    note: Note = "" if mixture.converged else "not_converged"
    bounds = share_odds(mixture, values, counts)
    return Cut(note, mixture.clusters(), _lowest_likely(mixture, scores), share_odds=bounds), mixture


def _lowest_likely(mixture: Gaussians, scores: ScoreHistogram) -> float | None:
    """The lowest of all numbers between the scores that more likely belongs to the upper Gaussian; None for none."""

    def likely(key: int) -> bool:
        value = value_of_key(np.array([key], np.uint64))
        return bool(mixture.posterior(value, monotone=True)[0] > EVEN)

    low, high = ordered_key(np.array([scores.least, scores.greatest])).tolist()
    if not likely(high):
        return None
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if likely(middle) else (middle + 1, high)
    return float(value_of_key(np.array([high], np.uint64))[0])


def cut_votes(cut: Cut, scores: Floats, ties: Words | None = None) -> NDArray[np.int8]:
    """The votes of a cut on some rows.

    Args:
        cut: The cut.
        scores: Their scores.
        ties: The hashes that break their ties (`ranks.hashes` for `TIES`); needed if the cut divides tied rows.
    """
    if not cut.votes:
        return np.full(len(scores), ABSTAINS)
    finite = np.isfinite(scores)
    votes = np.where(finite, DROPS, ABSTAINS)
    if cut.lowest is not None:
        votes[finite & (scores >= cut.lowest)] = KEEPS
        if cut.tie is not None:
            assert ties is not None
            votes[(scores == cut.lowest) & (ties >= np.uint64(cut.tie))] = DROPS
    return votes


def _described(values: Floats, counts: Integers, which: NDArray[np.bool_]) -> Cluster:
    weight = counts[which]
    scale = float(np.abs(values).max())  # so that squares of large scores stay finite
    x = values[which] / scale
    rows = int(weight.sum())
    mean = float((weight * x).sum()) / rows
    variance = float((weight * (x - mean) ** 2).sum()) / rows
    return Cluster(mean * scale, variance**0.5 * scale, rows / int(counts.sum()))


def step_of(scores: Floats, votes: NDArray[np.int8], cut: Cut) -> Step:
    """What the votes of some rows reveal about the rule at one checkpoint."""
    kept, dropped = scores[votes == KEEPS], scores[votes == DROPS]
    return Step(
        int(np.isfinite(scores).sum()),
        len(kept) + len(dropped),
        len(kept),
        float(kept.min()) + 0.0 if len(kept) else None,
        float(dropped.max()) + 0.0 if len(dropped) else None,
        cut.clusters,
        cut.note,
        cut.share_odds,
    )
