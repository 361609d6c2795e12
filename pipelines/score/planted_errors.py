"""How well each measure of a score finds errors that are planted for this purpose.

A tenth of the rows, by the hashes of their ids, is held out of the trajectory's training: a model knows the labels and
captions that it was trained on, so others in their place would be found too easily. Half of the held-out rows that are
no trusted ones get the label or caption of another. The figure says how well the measures tell these from the other
half, not how many errors the data have.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from winnow.pipelines.binding.scores import BoundScore, Condition
from winnow.pipelines.score.examples import PLANTED, collect_examples
from winnow.pipelines.score.weights import WeightsContext, scored_shards
from winnow.scoring.selection.detection import Area, area_between
from winnow.scoring.tasks.protocol import Contrastive, Floats, Mismatching, Scored, Task, Weights

ROWS = 512
_FEWEST = 10  # of each half


@dataclass(frozen=True, slots=True)
class PlantedErrors:
    """The results of a check."""

    planted: int
    unchanged: int
    areas: Mapping[str, Area]  # by measure
    trajectory_loss: float  # the mean of unchanged rows over the trajectory's checkpoints
    reference_loss: float  # the same of the reference


def plant_errors(
    context: WeightsContext, task: Task, bound: BoundScore, reference: Weights, trajectory: Sequence[Weights]
) -> PlantedErrors | None:
    """Return how well measures find planted errors; None if the task cannot plant any, or has too few rows."""
    if not isinstance(task, Mismatching):
        return None
    condition = _scored_but_not_trusted(bound)
    shards = scored_shards(context.state, tuple(dict.fromkeys((*bound.inputs, *condition.columns))))
    found = collect_examples(context.store, task, bound, shards, condition, PLANTED, None, context.inputs, wanted=ROWS)
    half = found.count // 2
    if half < _FEWEST:
        return None
    unchanged = task.chosen(found.examples, np.arange(half))
    planted, changed = task.mismatched(task.chosen(found.examples, np.arange(half, found.count)))
    planted = task.chosen(planted, np.flatnonzero(changed))
    score = task.scorers(trajectory, reference, bound.entry.parameters, cosine=bound.entry.variant == "cosine")
    good, bad = (_measures(task, score(examples), reference, examples) for examples in (unchanged, planted))
    finite = [np.isfinite(np.stack(list(one.values()))).all(axis=0) for one in (good, bad)]
    if min(int(one.sum()) for one in finite) < _FEWEST:
        return None
    areas = {name: area_between(good[name][finite[0]], bad[name][finite[1]]) for name in good}
    reference_loss = -float(good["loss"][finite[0]].mean())
    trajectory_loss = float(good["rho"][finite[0]].mean()) + reference_loss
    return PlantedErrors(int(finite[1].sum()), int(finite[0].sum()), areas, trajectory_loss, reference_loss)


def _scored_but_not_trusted(bound: BoundScore) -> Condition:
    where, trusted = bound.where, bound.reference_rows
    if trusted is None:
        return where
    text = f"not ({trusted.text})" if where.text is None else f"({where.text}) and not ({trusted.text})"
    return Condition(text, tuple(dict.fromkeys((*where.columns, *trusted.columns))))


def _measures(task: Task, scored: Sequence[Scored], reference: Weights, examples: Any) -> dict[str, Floats]:
    """The measures of rows; the higher, the better."""
    scores, losses = (np.mean([getattr(one, name) for one in scored], axis=0) for name in ("score", "loss"))
    loss = task.losses(reference, examples)
    found = {"mimic": scores, "rho": losses - loss, "loss": -loss}
    if isinstance(task, Contrastive):
        found["alignment"] = task.alignments(reference, examples)
    return found
