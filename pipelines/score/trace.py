"""Writes the layer `trace.<name>`: each row's loss at each checkpoint, and its gradient's progress to the reference.

A row's values depend only on the row, the weights and, for contrastive tasks, the companions that are the same for
every row: not on which rows are read with it, nor on their order.

Videos are scored by some of their frames, in passes: the first pass sees each row's first frame, the next its second …
A row with fewer frames shows them again, so that every pass has the same rows and batches; only a frame's first showing
counts. A row that is a picture has one frame.
"""

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, cast

import apache_beam as beam
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from winnow.pipelines.binding.scores import BoundScore
from winnow.pipelines.media.score_inputs import Inputs
from winnow.pipelines.reading.chosen_text import text_of
from winnow.pipelines.reading.conditions import selected_rows
from winnow.pipelines.running.row_layers import RowLayerTask, write_layers
from winnow.pipelines.running.shard_rows import Part, read_parts
from winnow.pipelines.running.worker import HeartbeatWriter, prepare_worker
from winnow.pipelines.score.examples import LEFT_OUT, encoded_passes, too_large
from winnow.pipelines.score.weights import load_weights
from winnow.pipelines.store.generations import Store
from winnow.schemas.recipe.score import VideoFrames
from winnow.schemas.records import StoredWeights
from winnow.schemas.tombstones import FORGOTTEN
from winnow.scoring.mimic.direction import against
from winnow.scoring.protocol import (
    ALONE,
    NOT_FINITE,
    OK,
    TEXT,
    Contrastive,
    Encoded,
    Floats,
    Measure,
    Scorers,
    Task,
    TokenWise,
    Weights,
)

NOT_SELECTED, TOO_LARGE = "not_selected", "too_large"


@dataclass(frozen=True)
class TraceContext:
    """The settings of the stage that every task gets. Picklable."""

    store: Store
    bound: BoundScore
    reference: str | None  # the object of its weights; None if the task needs no weights
    trajectory: tuple[str, ...]
    companions: StoredWeights | None  # of a contrastive task
    inputs: Inputs
    target: tuple[str, ...] = ()  # the gradients of a target's loss, in the order of the trajectory

    @property
    def stage(self) -> str:
        """The prefix for strikes and poison records."""
        return f"{self.bound.entry.trace}/"


class Tracer(Protocol):
    """Computes the values of a trace in one process."""

    @property
    def task(self) -> Task | Measure:
        """The task that turns rows into examples."""

    def unscored(self, values: Floats) -> NDArray[np.object_]:
        """The status of examples by their values, which are not all finite."""

    def values(self, examples: Any) -> Floats:
        """Return the trace's columns for each example."""


@dataclass(frozen=True)
class WeightTracer:
    """Computes each example's scores, losses and reference loss, of pairs the alignment, and what else is asked for,
    from a task's weights."""

    task: Task
    scorers: Scorers  # at the checkpoints, and then, if there is a target, at the same ones in its direction
    reference: Weights
    checkpoints: int
    tokens: Callable[[Any], tuple[Floats, ...]] | None = None  # the measure `token_rho` at each checkpoint

    def unscored(self, values: Floats) -> NDArray[np.object_]:
        """A pair with an alignment and no loss lacks others: all have its picture or caption."""
        alone, of_reference = np.zeros(len(values), np.bool_), 2 * self.checkpoints
        if isinstance(self.task, Contrastive):
            alone = np.isnan(values[:, of_reference]) & np.isfinite(values[:, of_reference + 1])
        return np.where(alone, ALONE, NOT_FINITE).astype(object)

    def values(self, examples: Any) -> Floats:
        """Return one column for each score and loss."""
        every = self.scorers(examples)
        scored, of_target = every[: self.checkpoints], every[self.checkpoints :]
        losses = self.task.losses(self.reference, examples)
        aligned = [self.task.alignments(self.reference, examples)] if isinstance(self.task, Contrastive) else []
        beside = [*(one.score for one in of_target), *(() if self.tokens is None else self.tokens(examples))]
        columns = [*(one.score for one in scored), *(one.loss for one in scored), losses, *aligned, *beside]
        return np.stack(columns, axis=1)


@dataclass(frozen=True)
class MeasureTracer:
    """Computes the one column of a task without weights."""

    task: Measure

    def unscored(self, values: Floats) -> NDArray[np.object_]:
        """All alike."""
        return np.full(len(values), NOT_FINITE, object)

    def values(self, examples: Any) -> Floats:
        """Return the measure."""
        return self.task.values(examples)[:, None]


def make_tracer(context: TraceContext) -> Tracer:
    """Load the models in this process, and return what computes the trace."""
    bound = context.bound
    return MeasureTracer(bound.measure()) if bound.kind.measures else weight_tracer(context, bound.task())


def weight_tracer(context: TraceContext, task: Task) -> WeightTracer:
    """Return what computes the trace of a task that is loaded already."""
    bound = context.bound
    assert context.reference is not None
    reference = load_weights(context.store, context.reference)
    if context.companions is not None and context.companions.samples:
        task = among(context.store, task, context.companions)
    task.check(reference, context.reference)
    at = [load_weights(context.store, path) for path in context.trajectory]
    for path, weights in zip(context.trajectory, at, strict=True):
        task.check(weights, path)
    entry, count = bound.entry, len(at)
    gradients = [load_weights(context.store, path) for path in context.target]
    down = [against(weights, gradient) for weights, gradient in zip(at, gradients, strict=bool(gradients))]
    towards = [reference] * count + down
    scorers = task.scorers([*at, *at[: len(down)]], towards, entry.parameters, cosine=entry.variant == "cosine")
    tokens = None
    if entry.token_rho is not None:
        tokens = cast(TokenWise, task).token_rho(scorers, reference, entry.token_rho, count)
    return WeightTracer(task, scorers, reference, count, tokens)


def among(store: Store, task: Task, companions: StoredWeights) -> Task:
    """Return a contrastive task whose losses contrast rows with these companions; as it is if there are none."""
    if not companions.samples:
        return task
    return cast(Contrastive, task).among(load_weights(store, companions.objects[0]))


def trace_shard(context: TraceContext, tracer: Tracer, task: RowLayerTask, heartbeat: HeartbeatWriter) -> None:
    """Write and commit one shard of the layer."""
    trace = context.bound.entry.trace
    context = replace(context, inputs=context.inputs.in_store(context.store.objects))
    schema = context.bound.trace_schema
    texts = [column.name for column in context.bound.text if column in context.bound.inputs]

    frames = context.bound.entry.frames
    scores = max(context.bound.entry.checkpoints, 1)

    def trace_parts(parts: Iterator[Part]) -> Iterator[dict[str, pa.RecordBatch]]:
        for part in parts:
            for status, passes, counts in encode_part(context, tracer.task, part, task.source):
                scored = [score_rows(schema, tracer, status.copy(), encoded) for encoded in passes]
                yield {trace: scored[0] if frames is None else of_frames(scored, counts, scores, frames)}

    read = read_parts(context.store, context.stage, task.read, context.bound.columns, texts)
    write_layers(context.store, task, {trace: schema}, read, trace_parts, heartbeat)


def encode_part(
    context: TraceContext, task: Task | Measure, part: Part, source: str
) -> Iterator[tuple[NDArray[np.object_], Iterable[Encoded], NDArray[np.int64]]]:
    """Yield, part by part and in order, the status of each row, the examples of rows that are `ok` in each pass, and
    how many passes show each row something new."""
    bound = context.bound
    status = np.full(part.count, OK, object)
    if bound.where.text is not None:
        named = {column.name: part.columns[column.name] for column in bound.where.columns}
        status[~selected_rows(bound.where.text, named, part.count)] = NOT_SELECTED
    if TEXT in task.reads:
        long = too_large(text_of([one.name for one in bound.text], part.columns), bound.max_text_bytes)
        status[np.asarray(long)] = TOO_LARGE
    for which, reason in ((part.left_out, LEFT_OUT), (part.forgotten, FORGOTTEN)):
        if which is not None:
            status[which] = reason
    chosen = np.flatnonzero(status == OK)
    rows = pa.array(chosen)
    read = {name: column.take(rows) for name, column in part.columns.items()}
    counts = np.ones(part.count, np.int64)
    first = 0
    for these, passes, new in encoded_passes(task, bound, read, context.inputs, source):
        head = next(passes)
        status[chosen[these]], counts[chosen[these]] = head.status, new
        end = int(chosen[these.stop]) if these.stop < len(chosen) else part.count
        yield status[first:end], itertools.chain([head], passes), counts[first:end]
        first = end
    if first < part.count:
        number = 1 if bound.entry.frames is None else bound.entry.frames.max_frames
        yield status[first:], [Encoded(status[first:], None, 0)] * number, counts[first:]


def score_rows(schema: pa.Schema, tracer: Tracer, status: NDArray[np.object_], encoded: Encoded) -> pa.RecordBatch:
    """Score the `ok` rows, each of which has an example, and return all rows of the layer."""
    good = np.flatnonzero(status == OK)
    columns = np.full((len(status), len(schema) - 1), np.nan)
    if len(good):
        values = tracer.values(encoded.examples)
        not_finite = np.flatnonzero(~np.isfinite(values).all(axis=1))
        status[good[not_finite]] = tracer.unscored(values[not_finite])
        values[not_finite] = np.nan
        columns[good] = values
    absent = np.isnan(columns)
    arrays = [pa.array(status, pa.string())]
    arrays += [pa.array(columns[:, place], mask=absent[:, place]) for place in range(columns.shape[1])]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def of_frames(
    passes: Sequence[pa.RecordBatch], counts: NDArray[np.int64], scores: int, take: VideoFrames
) -> pa.RecordBatch:
    """The trace of some rows from its passes.

    `passes`: the rows' trace of each pass: a status, then `scores` columns, then the losses. `counts`: how many frames
    each row has; 0 for one without a picture. `take`: the mean over a row's frames, or the values of its worst, of the
    lowest score. A row of which a frame has no value gets none, with the status of the first such frame.
    """
    if len(passes) == 1:
        return passes[0]
    rows = np.arange(len(counts))
    shown = np.arange(len(passes))[:, None] < np.maximum(counts, 1)  # passes × rows
    statuses = np.array([one.column(0).to_pylist() for one in passes], object).reshape(shown.shape)
    bad = shown & (statuses != OK)
    first_bad = np.argmax(bad, axis=0)
    status = np.where(bad.any(axis=0), statuses[first_bad, rows], OK)
    columns = [np.asarray([_floats(one.column(place)) for one in passes]) for place in range(1, passes[0].num_columns)]
    if take.take == "mean":
        values = [np.where(shown, column, 0).sum(axis=0) / shown.sum(axis=0) for column in columns]
    else:
        means = np.where(shown & ~bad, np.sum(columns[:scores], axis=0) / scores, np.inf)
        worst = np.argmin(means, axis=0)
        values = [column[worst, rows] for column in columns]
    absent = status != OK
    arrays = [pa.array(status, pa.string()), *(pa.array(value, pa.float64(), mask=absent) for value in values)]
    return pa.RecordBatch.from_arrays(arrays, schema=passes[0].schema)


def _floats(column: pa.Array) -> Floats:
    found: Floats = column.to_numpy(zero_copy_only=False)  # NaN where null
    return found


class TraceRows(beam.DoFn):
    """Shard without a trace → the shard's name. Safe to repeat."""

    def __init__(self, context: TraceContext) -> None:
        self._context = context
        self._tracer: Tracer | None = None

    def setup(self) -> None:
        """Prepare the process."""
        prepare_worker()

    def process(self, element: bytes) -> Iterator[str]:
        """Score the shard's rows and commit the layer."""
        if self._tracer is None:
            self._tracer = make_tracer(self._context)
        task = RowLayerTask.from_json(element)
        with HeartbeatWriter(self._context.store.objects, task.commit) as heartbeat:
            trace_shard(self._context, self._tracer, task, heartbeat)
        yield task.shard
