"""The wiring of annotate: a pass's tasks in, the names of the shards that were committed out."""

from collections.abc import Iterator

import apache_beam as beam

from winnow.filters.operators import Kernel
from winnow.pipelines.annotate.task import AnnotationContext, annotate_shard
from winnow.pipelines.running.row_layers import RowLayerTask
from winnow.pipelines.running.worker import Heart, settle


class RunAnnotation(beam.DoFn):
    """A committed shard and the layers that it lacks → the shard's name. Safe to repeat."""

    def __init__(self, context: AnnotationContext) -> None:
        self._context = context
        self._kernels: dict[str, Kernel] = {}

    def setup(self) -> None:
        """Once a process."""
        settle()

    def process(self, element: bytes) -> Iterator[str]:
        """Measures the shard with every operator that it is owed."""
        task = RowLayerTask.from_json(element)
        for bound in self._context.operators:
            if bound.layer in task.owed and bound.layer not in self._kernels:  # models load once a process
                self._kernels[bound.layer] = bound.operator.load(bound.config, bound.assets)
        heart = Heart(self._context.store.objects, task.last(self._context.operators)[0], task.shard)
        try:
            annotate_shard(self._context, self._kernels, task, heart)
        finally:
            heart.stop()
        yield task.shard
