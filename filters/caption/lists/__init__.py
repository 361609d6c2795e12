"""The captions of a batch as one column of texts, and layers with a list of measures per row."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from winnow.filters.language.folding.composed import composed_texts
from winnow.filters.operators import CAPTIONS, STATUS
from winnow.schemas.rows.duplicates import NO_CAPTIONS, NO_MEDIA

MEDIA = "samples.media"
REASONS = (NO_CAPTIONS, NO_MEDIA)


@dataclass(frozen=True, slots=True)
class Captions:
    """The captions of some rows: those of row i are `offsets[i]` to `offsets[i + 1]`."""

    as_written: pa.LargeStringArray  # published rules on captions count these
    offsets: NDArray[np.int32]
    statuses: list[str]  # of the rows

    def composed(self) -> pa.LargeStringArray:
        """The texts in composed form (NFC): `as_written` itself if nothing changes."""
        return composed_texts(self.as_written).texts


def lengths_of(lists: pa.ListArray) -> NDArray[np.int64]:
    """How many values each list has; null is none."""
    found: NDArray[np.int64] = pc.fill_null(lists.value_lengths(), 0).to_numpy(zero_copy_only=False).astype(np.int64)
    return found


def captions_of(batch: pa.RecordBatch, column: str = CAPTIONS) -> Captions:
    """The captions in a column of a batch that has `MEDIA` too; null is none."""
    captions = batch.column(column)
    counts, media = lengths_of(captions), lengths_of(batch.column(MEDIA))
    absent = np.where(media > 0, NO_CAPTIONS, NO_MEDIA)
    texts = pc.struct_field(captions.flatten(), "text").cast(pa.large_string())
    return Captions(texts, _offsets(counts), np.where(counts > 0, "ok", absent).tolist())


def listed(captions: Captions, schema: pa.Schema, columns: Sequence[pa.Array]) -> pa.RecordBatch:
    """A layer: the status, then a list of each measure, null for rows without captions.

    Args:
        captions: The captions.
        schema: The layer's columns: `STATUS` first.
        columns: The measures of every caption.
    """
    none = np.append(np.diff(captions.offsets) == 0, False)
    offsets = pa.array(captions.offsets, mask=none)
    lists = [pa.ListArray.from_arrays(offsets, column) for column in columns]
    assert schema.names[0] == STATUS.name
    return pa.RecordBatch.from_arrays([pa.array(captions.statuses, pa.string()), *lists], schema=schema)


def _offsets(counts: NDArray[np.int64]) -> NDArray[np.int32]:
    offsets = np.zeros(len(counts) + 1, np.int32)
    np.cumsum(counts, out=offsets[1:])
    return offsets
