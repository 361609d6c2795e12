"""The step that writes layers of duplicates: one task per shard."""

from collections.abc import Iterator, Mapping

import apache_beam as beam

from winnow.pipelines.dedupe.search import Search
from winnow.pipelines.dedupe.task import GlobalKey, WriteTask, write_duplicates
from winnow.pipelines.running.worker import prepare_worker
from winnow.pipelines.store import layout
from winnow.pipelines.store.layers import commit_layers
from winnow.schemas.rows.duplicates import Kind, layer_of_kind


class WriteDuplicates(beam.DoFn):
    """Task → the shard's name, after its layers are committed. Safe to repeat."""

    def __init__(self, search: Search, keys: Mapping[Kind, GlobalKey]) -> None:
        self._search = search
        self._keys = keys

    def setup(self) -> None:
        """Prepare the process."""
        prepare_worker()

    def process(self, element: bytes) -> Iterator[str]:
        """Write and commit the layers."""
        task = WriteTask.from_json(element)
        one = self._search.covered[task.shard]
        written = [
            write_duplicates(self._search, kind, task.shard, key)
            for kind, key in self._keys.items()
            if layer_of_kind(kind) in task.missing
        ]
        commit_layers(self._search.store, one.shard, one.source, one.objects[layout.SAMPLES], written)
        yield one.shard
