"""The Beam step that counts tokens: one task per shard."""

from collections.abc import Iterator

import apache_beam as beam

from winnow.filters.language.tokenizers import Tokenizer
from winnow.pipelines.mix.tokens import TokensContext, count_shard
from winnow.pipelines.reading.text_edits import Edits
from winnow.pipelines.running.row_layers import RowLayerTask
from winnow.pipelines.running.worker import HeartbeatWriter, prepare_worker


class CountTokens(beam.DoFn):
    """Shard without counts → the shard's name. Safe to repeat."""

    def __init__(self, context: TokensContext) -> None:
        self._context = context
        self._edits: Edits | None = None
        self._tokenizer: Tokenizer | None = None

    def setup(self) -> None:
        """Prepare the process."""
        prepare_worker()

    def process(self, element: bytes) -> Iterator[str]:
        """Count the shard's tokens and commit the layer."""
        if self._edits is None:
            self._edits = self._context.bound.open_edits()
            self._tokenizer = self._context.bound.open_tokenizer()
        task = RowLayerTask.from_json(element)
        with HeartbeatWriter(self._context.store.objects, task.commit) as heartbeat:
            count_shard(self._context, self._edits, self._tokenizer, task, heartbeat)
        yield task.shard
