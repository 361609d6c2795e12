"""The columns of formats that are tables: what of a sample a reader sees, under which name."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

NO_BANDS = {b"bands": b"none"}
"""Metadata of the rows' schema where the plan has no bands: then there is no such column."""

_DIGITS = np.frombuffer(b"".join(b"%02x" % value for value in range(256)), "S2")


def table_columns(batch: pa.RecordBatch) -> pa.RecordBatch:
    """What is written of a batch of `winnow.schemas.draws.MIXED`."""
    columns = {
        "id": hexadecimal(batch["id"]),
        "text": batch["text"],
        "source": batch["source"],
        "class": batch["source_class"],
        "language": batch["language"],
        "family": batch["family"],
        "band": batch["band"],
        "licence": batch["licence"],
        "url": batch["url"],
        "metadata": batch["metadata"],
        "copy": batch["copy"].cast(pa.int32()),
    }
    if (batch.schema.metadata or {}).get(b"bands") == NO_BANDS[b"bands"]:
        del columns["band"]
    else:
        columns["band"] = pc.if_else(pc.equal(batch["band"], ""), pa.scalar(None, pa.string()), batch["band"])
    return pa.RecordBatch.from_pydict(columns)


def hexadecimal(ids: pa.FixedSizeBinaryArray) -> pa.StringArray:
    """Each value's bytes as lower-case digits."""
    width = ids.type.byte_width
    raw = np.frombuffer(ids.buffers()[1], np.uint8, len(ids) * width, ids.offset * width)
    offsets = np.arange(len(ids) + 1, dtype=np.int32) * (2 * width)
    return pa.StringArray.from_buffers(len(ids), pa.py_buffer(offsets), pa.py_buffer(_DIGITS[raw].tobytes()))
