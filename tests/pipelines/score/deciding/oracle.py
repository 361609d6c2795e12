"""The decision on all rows at once, row by row, as the oracle of the one in tasks."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from winnow.schemas.recipe import FilterConfig
from winnow.scoring.selection import BinariseRule, Quality, aggregate, binarise, estimate_quality, ranked
from winnow.scoring.selection.binarise import Step
from winnow.scoring.selection.ranks import RANDOM, Floats, Ids, hashed


@dataclass
class Expected:
    """The values of every row, and the fit of every group by name."""

    score: Floats
    keep: Floats
    votes: NDArray[np.int64]
    checkpoints: NDArray[np.int64]
    rank: Floats
    random: Floats
    steps: dict[str, tuple[Step, ...]] = field(default_factory=dict)
    quality: dict[str, Quality] = field(default_factory=dict)


def decided(scores: Floats, ids: Ids, groups: Sequence[str | None] | None, config: FilterConfig, seed: int) -> Expected:
    """Decide on rows × checkpoints."""
    rows = len(scores)
    scored = np.isfinite(scores)
    counts = scored.sum(axis=1)
    mean = np.full(rows, np.nan)
    np.divide(np.where(scored, scores, 0.0).sum(axis=1), counts, out=mean, where=counts > 0)
    found = Expected(mean, *np.full((1, rows), np.nan), *np.zeros((2, rows), np.int64), *np.full((2, rows), np.nan))
    rule = BinariseRule(config.binarise, config.temperature, config.batch, config.top, seed=seed)
    names = np.array(["" if groups is None else "(null)" if one is None else one for one in groups or [""] * rows])
    for name in sorted(set(names.tolist())):
        which = np.flatnonzero(names == name)
        own = ids[0][which], ids[1][which]
        votes = binarise(scores[which], rule, ids=own)
        kept = aggregate(votes.kept, config.aggregate, constrained=config.constrained)
        found.keep[which] = kept.probability
        found.votes[which] = (votes.kept == 1).sum(axis=1)
        found.checkpoints[which] = (votes.kept >= 0).sum(axis=1)
        by_chance = hashed(own, seed, RANDOM)
        orders = ranked(mean[which], own, seed), by_chance[np.isfinite(mean[which][by_chance])]
        for column, order in zip((found.rank, found.random), orders, strict=True):
            column[which[order]] = (np.arange(len(order)) + 0.5) / max(len(order), 1)
        found.steps[name], found.quality[name] = votes.detail, estimate_quality(kept.fit, votes.detail)
    return found
