"""The step that traces scores: one task per shard."""

from collections.abc import Iterator

import apache_beam as beam

from winnow.pipelines.running.row_layers import RowLayerTask
from winnow.pipelines.running.worker import Heart, settle
from winnow.pipelines.score.trace import TraceContext, Tracer, ready, trace_shard


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
