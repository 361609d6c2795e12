"""Checks that every id follows from the source of its row, and that no two rows share an id.

Tasks check each id, and send it to a partition chosen by the id. Memory is that of one partition.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from winnow.pipelines.audit.findings import Findings
from winnow.pipelines.running.exchange import partitions_for
from winnow.pipelines.running.job_steps import JobSteps
from winnow.pipelines.running.row_arrays import ids_column
from winnow.pipelines.running.scratch_parts import existing_parts, put_part
from winnow.pipelines.store import layout
from winnow.pipelines.store.hiding.redaction import is_redacted
from winnow.schemas.identity import ID_BYTES, sample_id
from winnow.schemas.records import Generation
from winnow.schemas.uint128 import values_of

SHOWN = 10
REPEATED = pa.schema(
    [pa.field("id", pa.binary(ID_BYTES), nullable=False), pa.field("rows", pa.int64(), nullable=False)]
)


def id_partitions(generation: Generation) -> int:
    """How many partitions the ids of a generation are sent to."""
    return partitions_for(generation.layers[layout.SAMPLES].rows * ID_BYTES)


def strange_ids(samples: pa.RecordBatch) -> NDArray[np.int64]:
    """The rows of a batch whose id is not that of their source, path and key; purged rows have lost their key."""
    source = samples["source"]
    parts = (pc.struct_field(source, name).to_pylist() for name in ("name", "path", "record"))
    # Hashing in C takes most of the time of this loop.
    right = pa.array([sample_id(*one) for one in zip(*parts, strict=True)], pa.binary(ID_BYTES))
    other: NDArray[np.bool_] = pc.not_equal(samples["id"].cast(right.type), right).to_numpy(zero_copy_only=False)
    return np.flatnonzero(other & ~is_redacted(samples))


@dataclass(frozen=True)
class RepeatedIds:
    """Finds ids that rows share. Picklable."""

    steps: JobSteps

    def store(self, partition: int, batches: Iterable[pa.RecordBatch]) -> Iterator[int]:
        """Stores the first repeated ids of a partition."""
        high, low = ids_column(list(batches), "id")
        ascending = np.lexsort((low, high))
        high, low = high[ascending], low[ascending]
        begins = np.flatnonzero(np.append(True, (high[1:] != high[:-1]) | (low[1:] != low[:-1])))
        sizes = np.diff(np.append(begins, len(high)))
        first = begins[sizes > 1][:SHOWN]
        part = pa.RecordBatch.from_arrays(
            [values_of(high[first], low[first]), pa.array(sizes[sizes > 1][:SHOWN], pa.int64())], schema=REPEATED
        )
        if part.num_rows:
            put_part(self.steps.objects, self.steps.scratch, "repeated", partition, part)
        yield partition

    def conclude(self, generation: Generation, findings: Findings, *, complete: bool) -> None:
        """Reports the first repeated ids; without any, that ids differ, if all of them were sent."""
        repeated: dict[bytes, int] = {}
        for part in existing_parts(self.steps.objects, self.steps.scratch, "repeated"):
            repeated.update(zip(part["id"].to_pylist(), part["rows"].to_pylist(), strict=True))
        for identity in sorted(repeated)[:SHOWN]:
            findings.problems.append(f"{repeated[identity]} rows share the id {identity.hex()}")
        if not repeated and complete:
            rows = generation.layers[layout.SAMPLES].rows
            findings.proved.append("1 id, which no other row has" if rows == 1 else f"{rows:,} ids are all different")
