"""The layer `trace.<name>`: what each row's loss is at each checkpoint, and how far its gradient goes to the reference.

A row's values depend on the row and the weights alone, but for tasks whose losses need a batch: theirs are assembled of
the rows of a shard in their order, so that they are the same however a shard is read.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Protocol

import apache_beam as beam
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from winnow.pipelines.binding.scores import BoundScore
from winnow.pipelines.media.score_inputs import Inputs
from winnow.pipelines.query.conditions import selected_rows
from winnow.pipelines.running.row_layers import RowLayerTask, write_layers
from winnow.pipelines.running.shard_rows import Part, read_parts, text_of
from winnow.pipelines.running.worker import Heart, settle
from winnow.pipelines.score.examples import DECODED, LEFT_OUT, encoded_rows, too_large
from winnow.pipelines.score.gathering import bytes_of
from winnow.pipelines.score.weights import load_weights
from winnow.pipelines.store.generations import Store
from winnow.schemas.rows.scores import trace_schema
from winnow.schemas.tombstones import FORGOTTEN
from winnow.scoring.tasks.protocol import ALONE, NOT_FINITE, OK, TEXT, Floats, Measure, Scorers, Task, Weights

_BATCHES = 8  # that are scored together at least
NOT_SELECTED, TOO_LARGE = "not_selected", "too_large"


@dataclass(frozen=True)
class TraceContext:
    """What every task of the stage knows. Picklable."""

    store: Store
    bound: BoundScore
    reference: str | None  # the object of its weights; none where nothing points
    trajectory: tuple[str, ...]
    inputs: Inputs

    @property
    def stage(self) -> str:
        """What strikes and poison are kept under."""
        return f"{self.bound.entry.trace}/"


class Tracer(Protocol):
    """What says the values of a trace, ready in one process."""

    @property
    def task(self) -> Task | Measure:
        """What makes examples of rows."""

    @property
    def together(self) -> int:
        """How many examples share a batch; 0 where each is by itself."""

    def values(self, examples: Any) -> Floats:
        """Of each example its columns of the trace."""


@dataclass(frozen=True)
class Scoring:
    """A task with its weights: of each example its scores, its losses and the reference's loss."""

    task: Task
    scorers: Scorers
    reference: Weights

    @property
    def together(self) -> int:
        """As the task says."""
        return self.task.together

    def values(self, examples: Any) -> Floats:
        """A column each."""
        scored = self.scorers(examples)
        losses = self.task.losses(self.reference, examples)
        return np.stack([*(one.score for one in scored), *(one.loss for one in scored), losses], axis=1)


@dataclass(frozen=True)
class Measuring:
    """What needs no weights: one column."""

    task: Measure
    together: int = 0

    def values(self, examples: Any) -> Floats:
        """The measure."""
        return self.task.values(examples)[:, None]


def ready(context: TraceContext) -> Tracer:
    """What scores, in this process; models are loaded here and nowhere else."""
    bound = context.bound
    if bound.kind.measures:
        return Measuring(bound.measure())
    task = bound.task()
    assert context.reference is not None
    reference = load_weights(context.store, context.reference)
    task.check(reference, context.reference)
    at = [load_weights(context.store, path) for path in context.trajectory]
    for path, weights in zip(context.trajectory, at, strict=True):
        task.check(weights, path)
    cosine = bound.entry.variant == "cosine"
    scorers = task.scorers(at, reference, bound.entry.parameters, cosine=cosine)
    return Scoring(task, scorers, reference)


@dataclass
class Waiting:
    """Rows that are encoded and not scored yet, as their batch is not whole."""

    statuses: list[NDArray[np.object_]] = field(default_factory=list)
    examples: list[Any] = field(default_factory=list)
    count: int = 0
    held: int = 0  # bytes of the examples

    def add(self, status: NDArray[np.object_], encoded: Any, count: int) -> None:
        """Let the rows of `encode_part` wait."""
        self.statuses.append(status)
        self.count += count
        self.held += bytes_of(encoded)
        if count:
            self.examples.append(encoded)

    def enough(self, together: int) -> bool:
        """Whether they are scored now: some whole batches, or fewer of large examples."""
        return self.count >= _BATCHES * together or (self.count >= together and self.held >= DECODED)


def trace_shard(context: TraceContext, tracer: Tracer, task: RowLayerTask, beat: Heart) -> None:
    """Write one shard of the layer, and commit it."""
    trace = context.bound.entry.trace
    schema = trace_schema(context.bound.entry.checkpoints)
    texts = [column.name for column in context.bound.text if column in context.bound.inputs]

    def traced(parts: Iterator[Part]) -> Iterator[dict[str, pa.RecordBatch]]:
        waiting = Waiting()
        for part in parts:
            for status, encoded, count in encode_part(context, tracer.task, part, task.source):
                waiting.add(status, encoded, count)
                if waiting.enough(max(tracer.together, 1)):
                    yield {trace: scored(schema, tracer, waiting, tracer.together)}
        if waiting.statuses:
            yield {trace: scored(schema, tracer, waiting)}

    read = read_parts(context.store, context.stage, task.read, context.bound.columns, texts)
    write_layers(context.store, task, {trace: schema}, read, traced, beat)


def encode_part(
    context: TraceContext, task: Task | Measure, part: Part, source: str
) -> Iterator[tuple[NDArray[np.object_], Any, int]]:
    """Of each row its status, the examples of those that are `ok`, and their count: some rows at a time, in order."""
    bound = context.bound
    status = np.full(part.count, OK, object)
    if bound.where.text is not None:
        named = {column.name: part.columns[column.name] for column in bound.where.columns}
        status[~selected_rows(bound.where.text, named, part.count)] = NOT_SELECTED
    if TEXT in task.reads:
        long = too_large(text_of([one.name for one in bound.text], part.columns), bound.max_text_bytes)
        status[np.asarray(long)] = TOO_LARGE
    for which, said in ((part.left_out, LEFT_OUT), (part.forgotten, FORGOTTEN)):
        if which is not None:
            status[which] = said
    chosen = np.flatnonzero(status == OK)
    rows = pa.array(chosen)
    read = {name: column.take(rows) for name, column in part.columns.items()}
    first = 0
    for these, encoded in encoded_rows(task, bound, read, context.inputs, source):
        status[chosen[these]] = encoded.status
        end = int(chosen[these.stop]) if these.stop < len(chosen) else part.count
        yield status[first:end], encoded.examples, encoded.count
        first = end
    if first < part.count:
        yield status[first:], None, 0


def scored(schema: pa.Schema, tracer: Tracer, waiting: Waiting, together: int = 0) -> pa.RecordBatch:
    """Score what waits: its rows of the layer.

    Args:
        schema: Of the layer.
        tracer: Scores examples.
        waiting: What waits, some rows at least; what stays waiting, afterwards.
        together: How many examples a whole batch has: the examples behind the last whole one stay; 0 for none.
    """
    status = np.concatenate(waiting.statuses)
    good = np.flatnonzero(status == OK)
    examples = tracer.task.joined(waiting.examples) if len(waiting.examples) > 1 else next(iter(waiting.examples), None)
    rest = Waiting()
    if together and (left := len(good) % together):
        ends = int(good[-left])  # the first row whose batch is not whole
        count = len(good) - left
        behind = tracer.task.chosen(examples, np.arange(count, len(good)))
        rest = Waiting([status[ends:]], [behind], left, bytes_of(behind))
        status, good, examples = status[:ends], good[:count], tracer.task.chosen(examples, np.arange(count))
    columns = np.full((len(status), len(schema) - 1), np.nan)
    if len(good):
        values = tracer.values(examples)
        columns[good] = values
        silent = np.flatnonzero(~np.isfinite(values).all(axis=1))
        status[good[silent]] = NOT_FINITE
        columns[good[silent]] = np.nan
        if tracer.together and len(good) % tracer.together == 1 and len(good) - 1 in silent:
            status[good[-1]] = ALONE
    absent = ~np.isfinite(columns)
    arrays = [pa.array(status, pa.string())]
    arrays += [pa.array(columns[:, place], mask=absent[:, place]) for place in range(columns.shape[1])]
    waiting.statuses, waiting.examples = rest.statuses, rest.examples
    waiting.count, waiting.held = rest.count, rest.held
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


class TraceRows(beam.DoFn):
    """A committed shard without a trace → the shard's name. Safe to repeat."""

    def __init__(self, context: TraceContext) -> None:
        self._context = context
        self._tracer: Tracer | None = None

    def setup(self) -> None:
        """Once a process."""
        settle()

    def process(self, element: bytes) -> Iterator[str]:
        """Scores and commits."""
        if self._tracer is None:
            self._tracer = ready(self._context)
        task = RowLayerTask.from_json(element)
        layer = self._context.bound.entry.trace
        heart = Heart(self._context.store.objects, layer, task.shard)
        try:
            trace_shard(self._context, self._tracer, task, heart)
        finally:
            heart.stop()
        yield task.shard
