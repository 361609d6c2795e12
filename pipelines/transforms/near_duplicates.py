"""Near duplicates among the texts of a whole PCollection of batches: found by MinHash, verified, joined to clusters.

The way of a text, as in a store's search (`winnow.pipelines.dedupe.near`), with every exchange inside the engine:

1. Bands of its signature meet in the partitions of their keys. Texts with equal words are joined there, and of each
   group one goes on; rows that share a key are candidates.
2. Each pair goes to its first row's partition, and with that row's signature on to its second row's, where signatures
   decide it if they are clear. Pairs that are not take the same way again, with texts.
3. One task joins the edges to clusters; each cluster is sent to the partitions of its rows.

What happens in a partition are the plain functions of `near_steps`.
"""

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any, Literal

import apache_beam as beam
import pyarrow as pa
from apache_beam.pvalue import PCollection

from winnow.filters.duplicates.kinds.near import NearConfig, NearSettings, near_settings
from winnow.pipelines.running.blocks import AddressedBlock
from winnow.pipelines.running.exchange import Engine, Exchange
from winnow.pipelines.running.job_steps import sending, split_by_origin
from winnow.pipelines.running.worker import prepare_worker
from winnow.pipelines.transforms.batches import column_of_batch, named_column, require_global_window
from winnow.pipelines.transforms.near_steps import (
    CERTAIN,
    CLUSTER,
    REPRESENTATIVE,
    ROW,
    SIZE,
    content_and_id,
    find_candidates,
    join_edges,
    mark_rows,
    numbered_rows,
    require_once,
    send_bands,
    send_rows,
    send_values,
    signed_rows,
    verify_by_signature,
    verify_by_text,
    with_first,
)
from winnow.schemas.errors import RecipeError, StageError
from winnow.schemas.problems import Place
from winnow.schemas.recipe import build_config
from winnow.schemas.recipe.nodes import located


class NearDuplicates(beam.PTransform[PCollection[pa.RecordBatch], PCollection[pa.RecordBatch]]):
    """Batches to batches of the same rows, in another order, with three columns more.

    `duplicate.cluster` names the row's cluster (null for a row without near duplicates), `duplicate.size` is the number
    of its rows, and `duplicate.representative` is true for one row of each cluster and for rows without a cluster: a
    choice by a hash of the id, which is the same on any runner, for any number of workers.

    Args:
        options: As under `dedupe: near` in a recipe: `preset`, `min_similarity`, `bands`, …
        id: The column with distinct ids: strings, bytes or integers, without nulls.
        text: The column with the texts.
        keep: `all` rows, or the `representatives` only.
        partitions: Into how many parts the rows are divided; one part is held in memory, with its texts.

    Raises:
        RecipeError: An option is unknown or has a wrong value.
    """

    def __init__(
        self,
        options: Mapping[str, Any] | None = None,
        *,
        id: str = "id",
        text: str = "text",
        keep: Literal["all", "representatives"] = "all",
        partitions: int = 64,
    ) -> None:
        super().__init__()
        if options is not None and not isinstance(options, Mapping):
            raise RecipeError(f"NearDuplicates: expected a mapping of options, not {type(options).__name__}")
        if keep not in ("all", "representatives"):
            raise RecipeError(f"NearDuplicates: keep: expected 'all' or 'representatives', not {keep!r}")
        if not isinstance(partitions, int) or not 1 <= partitions <= 1 << 16:
            raise RecipeError(f"NearDuplicates: partitions: expected 1 to 65,536, not {partitions!r}")
        config = build_config(NearConfig, located(dict(options or {}), Place("NearDuplicates", 0)), "options")
        self._near = near_settings(config)
        self._columns = (id, text)
        self._keep = keep
        self._partitions = partitions

    def expand(self, batches: PCollection[pa.RecordBatch]) -> PCollection[pa.RecordBatch]:
        """The steps of the search, and the way back of its clusters to the rows."""
        require_global_window(self.label, batches)
        near, parts = self._near, self._partitions
        id_column, text_column = self._columns
        numbered = batches | "Number" >> beam.ParDo(_Number(id_column, text_column)).with_output_types(pa.RecordBatch)
        contents = numbered | "Contents" >> beam.Map(partial(content_and_id, id_column)).with_output_types(
            tuple[str, str]
        )
        _ = contents | "EqualBatches" >> beam.GroupByKey() | "Once" >> beam.Map(partial(require_once, id_column))
        signed = numbered | "Sign" >> beam.ParDo(_Sign(text_column, near)).with_output_types(pa.RecordBatch)
        bands = signed | "Bands" >> sending(partial(send_bands, near, parts))
        found = bands | "Candidates" >> _exchange(partial(find_candidates, near, parts))
        certain, candidates = split_by_origin(found, CERTAIN, "Equal")
        by_signature = _Verify(signed, "signature", near, parts)
        clear, unclear = split_by_origin(candidates | "BySignature" >> by_signature, CERTAIN, "Clear")
        texts = signed | "OfTexts" >> beam.Map(_without_signature).with_output_types(pa.RecordBatch)
        compared = unclear | "ByText" >> _Verify(texts, "text", near, parts)
        clusters = (certain, clear, compared) | "Clusters" >> _exchange(partial(join_edges, parts))
        rows = numbered | "Rows" >> sending(partial(send_rows, parts))
        marked: PCollection[pa.RecordBatch] = (rows, clusters) | "Mark" >> Exchange(
            partial(mark_rows, id_column, self._keep), transport=Engine(), emits=pa.RecordBatch
        )
        return marked


class _Verify(beam.PTransform[PCollection[AddressedBlock], PCollection[AddressedBlock]]):
    """Pairs, sent to their first rows' partitions, to edges, and to pairs that this cannot decide."""

    def __init__(
        self,
        rows: PCollection[pa.RecordBatch],
        value: Literal["signature", "text"],
        near: NearSettings,
        partitions: int,
    ) -> None:
        super().__init__()
        self._rows, self._value, self._near, self._partitions = rows, value, near, partitions

    def expand(self, pairs: PCollection[AddressedBlock]) -> PCollection[AddressedBlock]:
        values = self._rows | f"Send.{self._value}" >> sending(partial(send_values, self._value, self._partitions))
        firsts = (pairs, values) | "Firsts" >> _exchange(partial(with_first, self._partitions))
        if self._value == "signature":
            verify = partial(verify_by_signature, self._near, self._partitions)
        else:
            verify = partial(verify_by_text, self._near)
        judged: PCollection[AddressedBlock] = (firsts, values) | "Seconds" >> _exchange(verify)
        return judged


def _without_signature(batch: pa.RecordBatch) -> pa.RecordBatch:
    return batch.select(["row", "text"])


def _exchange(consume: Any) -> Exchange[AddressedBlock]:
    return Exchange(consume, transport=Engine(), emits=AddressedBlock)


class _Number(beam.DoFn):
    """A batch → the batch with a number for each row."""

    def __init__(self, id_column: str, text_column: str) -> None:
        self._id, self._text = id_column, text_column

    def setup(self) -> None:
        """Prepares the process."""
        prepare_worker()

    def process(self, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        """Numbers the rows of one batch."""
        column_of_batch("NearDuplicates", batch, self._text, pa.large_string())
        named_column("NearDuplicates", batch, self._id)
        if taken := {CLUSTER, SIZE, REPRESENTATIVE} & set(batch.schema.names):
            raise StageError(f"NearDuplicates: the batch has a column {sorted(taken)[0]!r} already")
        if batch.num_rows:
            yield batch.append_column(ROW, pa.array(numbered_rows(batch, self._id)))


class _Sign(beam.DoFn):
    """A numbered batch → its rows that can be compared, with their signatures."""

    def __init__(self, text_column: str, near: NearSettings) -> None:
        self._text, self._near = text_column, near

    def process(self, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        """Signs one batch."""
        signed = signed_rows(batch, self._text, self._near)
        if signed.num_rows:
            yield signed
