"""Finding what lies on a disk of this machine in a pipeline whose workers are on others."""

import io
from typing import Any

import apache_beam as beam
from apache_beam.internal.cloudpickle.cloudpickle import CloudPickler
from apache_beam.pipeline import AppliedPTransform, PipelineVisitor

from winnow.pipelines.store.local import LocalStore
from winnow.pipelines.store.memory import MemoryStore
from winnow.schemas.errors import StageError


def require_no_disks(pipeline: beam.Pipeline) -> None:
    """A StageError where a worker would open a folder, or the memory, of this machine."""
    pipeline.visit(_Steps())


class _Steps(PipelineVisitor):
    def visit_transform(self, transform_node: AppliedPTransform) -> None:
        """Each step, as workers are given it."""
        step = transform_node.transform
        if isinstance(step, beam.ParDo):
            _Looking(transform_node.full_label).dump((step.fn, step.args, step.kwargs))


class _Looking(CloudPickler):
    """Pickles as Beam does, looking at what goes in; what comes out is dropped."""

    def __init__(self, step: str) -> None:
        super().__init__(io.BytesIO())
        self._step = step

    def reducer_override(self, obj: Any) -> Any:
        """Called for each object on its way."""
        if isinstance(obj, LocalStore | MemoryStore):
            raise StageError(
                f"{obj.root}: {self._step} opens it, and workers do not see it; put it at gs://BUCKET/… or s3://BUCKET/…"
            )
        return super().reducer_override(obj)
