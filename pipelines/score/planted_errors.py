"""How well each measure of a score finds errors that are planted for this purpose.

A tenth of the rows, by the hashes of their ids, is held out of the trajectory's training: a model knows the labels and
captions that it was trained on, so others in their place would be found too easily. Half of the held-out rows that are
no trusted ones get the label or caption of another. The figure says how well the measures tell these from the other
half, not how many errors the data have.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from winnow.pipelines.binding.scores import BoundScore, Condition
from winnow.pipelines.score.deciding.decision import measures_of
from winnow.pipelines.score.examples import PLANTED, collect_examples
from winnow.pipelines.score.trace import WeightTracer
from winnow.pipelines.score.weights import WeightsContext
from winnow.scoring.protocol import Floats, Mismatching
from winnow.scoring.selection.detection import Area, area_between

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


def plant_errors(context: WeightsContext, tracer: WeightTracer, bound: BoundScore) -> PlantedErrors | None:
    """Return how well measures find errors that the tracer's task plants; None if there are too few rows."""
    task = tracer.task
    assert isinstance(task, Mismatching)
    condition = _scored_but_not_trusted(bound)
    found = collect_examples(
        context.store, task, bound, context.shards, condition, PLANTED, None, context.inputs, wanted=ROWS, held_out=True
    )
    half = found.count // 2
    if half < _FEWEST:
        return None
    unchanged = task.chosen(found.examples, np.arange(half))
    planted, changed = task.mismatched(task.chosen(found.examples, np.arange(half, found.count)))
    planted = task.chosen(planted, np.flatnonzero(changed))
    good, bad = (_measures(tracer.values(examples), bound) for examples in (unchanged, planted))
    if min(len(one["loss"]) for one in (good, bad)) < _FEWEST:
        return None
    loss = float(good["loss"].mean())
    signs = {"loss": -1.0}  # of the others, high values are good
    areas = {name: area_between(signs.get(name, 1.0) * good[name], signs.get(name, 1.0) * bad[name]) for name in good}
    return PlantedErrors(len(bad["loss"]), len(good["loss"]), areas, float(good["rho"].mean()) + loss, loss)


def _scored_but_not_trusted(bound: BoundScore) -> Condition:
    found = bound.where
    for trusted in (bound.reference_rows, bound.target_rows):
        if trusted is not None:
            text = f"not ({trusted.text})" if found.text is None else f"({found.text}) and not ({trusted.text})"
            found = Condition(text, tuple(dict.fromkeys((*found.columns, *trusted.columns))))
    return found


def _measures(values: Floats, bound: BoundScore) -> dict[str, Floats]:
    """The measures of rows with finite values."""
    finite = values[np.isfinite(values).all(axis=1)]
    return measures_of(dict(zip(bound.trace_schema.names[1:], finite.T, strict=True)))
