"""Prepares a score: makes the weights that it lacks, and tries them before rows are scored.

In the driver where workers are processes of its machine. Else as one task on a worker, which has the device and the
memory that the recipe's `hints` ask for; the driver reads the results from the store.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import cast

from winnow.pipelines.binding.scores import BoundScore
from winnow.pipelines.media.score_inputs import Inputs
from winnow.pipelines.running.job_steps import JobSteps
from winnow.pipelines.running.job_tasks import TaskFolder, TaskKind, TaskWithoutBlocks
from winnow.pipelines.running.linear_jobs import StoringJob
from winnow.pipelines.running.tasks import TaskLine
from winnow.pipelines.score.examples import ScoredShard
from winnow.pipelines.score.planted_errors import plant_errors
from winnow.pipelines.score.trace import TraceContext, WeightTracer, among, weight_tracer
from winnow.pipelines.score.weights import (
    Report,
    WeightsContext,
    find_weights,
    load_weights,
    make_companions,
    make_reference,
    make_target,
    make_trajectory,
    make_weights,
)
from winnow.pipelines.store.generations import Store
from winnow.schemas.errors import ScoreError
from winnow.schemas.records import StoredWeights, WeightKeys
from winnow.scoring.protocol import Contrastive, Mismatching, Task

_KIND = "weights"


@dataclass(frozen=True)
class Preparation:
    """What is to be prepared. Picklable, and of the same size for any number of shards."""

    store: Store
    bound: BoundScore
    keys: WeightKeys
    inputs: Inputs
    plants: bool  # whether its measures are tried on planted errors

    def counts(self) -> Mapping[str, int]:
        """How many objects of weights there are under each key."""
        entry = self.bound.entry
        counts = {
            self.keys.reference: 1,
            self.keys.trajectory: entry.checkpoints,
            self.keys.companions: 1,
            self.keys.target: entry.checkpoints,
        }
        return {key: count for key, count in counts.items() if key}

    def made(self) -> TraceContext | None:
        """What workers need to score rows; None if weights are missing."""
        found: dict[str, StoredWeights] = {}
        for key, count in self.counts().items():
            if (weights := find_weights(self.store, self.bound.entry.name, key, count)) is None:
                return None
            found[key] = weights
        keys = self.keys
        slopes = found[keys.target].objects if keys.target else ()
        return TraceContext(
            self.store,
            self.bound,
            found[keys.reference].objects[0],
            found[keys.trajectory].objects,
            found.get(keys.companions),
            self.inputs,
            slopes,
        )


def prepare(preparation: Preparation, shards: Sequence[ScoredShard], report: Report) -> TraceContext:
    """Make the weights that are missing, and try them: ScoreError if a checkpoint has no way to the reference."""
    bound, keys, store = preparation.bound, preparation.keys, preparation.store
    context = WeightsContext(store, shards, preparation.inputs, report)
    task = bound.task()
    reference, trajectory = make_weights(context, task, bound, keys)
    scored = task
    if bound.kind.contrastive:
        scored = among(store, task, make_companions(context, cast(Contrastive, task), bound, keys.companions))
    if keys.target:
        make_target(context, scored, bound, keys.target, trajectory)
    _require_ways(store, task, bound, reference, trajectory)
    traced = preparation.made()
    assert traced is not None
    if preparation.plants and isinstance(task, Mismatching):
        _try_planted(context, weight_tracer(traced, task), bound)
    return traced


def put_given(preparation: Preparation, shards: Sequence[ScoredShard], report: Report) -> None:
    """Put weights that the recipe names as files of this machine into the store."""
    bound, keys = preparation.bound, preparation.keys
    context = WeightsContext(preparation.store, shards, preparation.inputs, report)
    if bound.reference_rows is None:
        make_reference(context, bound.task(), bound, keys.reference, None)
    if bound.trajectory_rows is None:
        make_trajectory(context, bound.task(), bound, keys.trajectory, None)


@dataclass(frozen=True)
class _Shards(TaskLine):
    """The task."""

    shards: tuple[ScoredShard, ...]


@dataclass(frozen=True)
class _Told:
    """What it found: the lines for the user."""

    lines: tuple[str, ...]


@dataclass(frozen=True)
class PreparingJob:
    """The preparation as a job of one task."""

    folder: TaskFolder
    job: StoringJob

    @classmethod
    def of(cls, steps: JobSteps, preparation: Preparation, shards: Sequence[ScoredShard]) -> "PreparingJob":
        """Describe it in the job's folder."""
        folder = TaskFolder(steps)
        kind = TaskKind(_KIND, _Shards, TaskWithoutBlocks(partial(_prepare_on_worker, preparation)))
        folder.add(kind, _Shards(tuple(shards)), 0)
        hints = preparation.bound.entry.hints
        return cls(folder, StoringJob(steps, "Prepare", folder.count, folder.numbered.store, hints))

    def told(self) -> tuple[str, ...]:
        """The lines for the user, once it has run."""
        (told,) = self.folder.found(_KIND, _Told)
        return told.lines


def _prepare_on_worker(preparation: Preparation, task: _Shards) -> _Told:
    lines: list[str] = []
    prepare(preparation, task.shards, lines.append)
    return _Told(tuple(lines))


def _require_ways(
    store: Store, task: Task, bound: BoundScore, reference: StoredWeights, trajectory: StoredWeights
) -> None:
    weights = load_weights(store, reference.objects[0])
    for number, path in enumerate(trajectory.objects, 1):  # reports a zero direction before rows are read
        try:
            task.scorer(load_weights(store, path), weights, bound.entry.parameters)
        except ScoreError as error:
            given = f", {bound.trajectory[number - 1].file}" if bound.trajectory else ""
            raise ScoreError(f"{bound.entry.layer}: checkpoint {number}{given}: {error}") from error


def _try_planted(context: WeightsContext, tracer: WeightTracer, bound: BoundScore) -> None:
    """Report how well each measure finds errors that are planted."""
    found, layer = plant_errors(context, tracer, bound), bound.entry.layer
    if found is None:
        return
    areas = ", ".join(f"{name} {one.value:.2f} ({one.low:.2f} to {one.high:.2f})" for name, one in found.areas.items())
    context.report(
        f"{layer}  {found.planted:,} samples given the label or caption of another, beside {found.unchanged:,} others; "
        f"found by (area under the curve, 95 % interval): {areas}"
    )
    context.report(
        f"{layer}  mean loss of the {found.unchanged:,} others: {found.trajectory_loss:.3f} by the trajectory, "
        f"{found.reference_loss:.3f} by the reference"
    )
    if bound.reference and "alignment" in found.areas and found.areas["alignment"].low <= 0.5:
        context.report(
            f"{layer}  the given reference does not tell captions from exchanged ones: check that the task's layout, "
            "size, colours and tokenizer are those that its weights were trained with"
        )
