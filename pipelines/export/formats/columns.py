"""What formats take from a batch of rows: parts of bounded size, names, texts as bytes, and the columns of a table."""

from collections.abc import Iterator, Sequence

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.compute as pc

from winnow.schemas.identity import Json

NO_BANDS = {b"bands": b"none"}
"""Metadata key of the rows' schema that marks a plan without bands, which has no such column."""

_DIGITS = np.frombuffer(b"".join(b"%02x" % value for value in range(256)), "S2")

BLOCK_BYTES = 32 << 20
BLOCK_ROWS = 8192


def blocks(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """Splits the batch into parts of one row, or of at most `BLOCK_BYTES` of texts and media and `BLOCK_ROWS` rows.

    A row with a medium that is not in memory stands alone.
    """
    sizes = np.asarray(pc.binary_length(batch.column("text")).fill_null(0), dtype=np.int64)
    media = batch.column("media")
    if len(flat := media.flatten()):
        held = np.asarray(pc.fill_null(pc.binary_length(pc.struct_field(flat, "bytes")), 0), dtype=np.int64)
        each = np.where(pc.struct_field(flat, "file").is_valid(), BLOCK_BYTES + 1, held)
        ends = np.cumsum(np.asarray(pc.list_value_length(media), dtype=np.int64))
        sizes = sizes + np.diff(np.concatenate([[0], np.cumsum(each)])[ends], prepend=0)
    total = np.cumsum(sizes)
    start = 0
    while start < len(batch):
        before = int(total[start - 1]) if start else 0
        fits = int(np.searchsorted(total, before + BLOCK_BYTES, side="right"))
        stop = min(max(fits, start + 1), start + BLOCK_ROWS, len(batch))
        yield batch.slice(start, stop - start)
        start = stop


def identity_of(block: pa.RecordBatch) -> tuple[list[str], list[int]]:
    """The id in hex and the copy number of each row."""
    return [value.hex() for value in block.column("id").to_pylist()], block.column("copy").to_pylist()


def sample_name(block: pa.RecordBatch, row: int) -> str:
    """How errors name a sample."""
    name = f"sample {block.column('id')[row].as_py().hex()} of {block.column('source')[row].as_py()}"
    url = block.column("url")[row].as_py()
    return f"{name} ({url})" if url else name


def as_binary(texts: pa.Array) -> pa.Array:
    """Texts as bytes, empty where null, without copying."""
    return pc.fill_null(texts.cast(pa.large_string()).cast(pa.large_binary()), b"")


def count_media(block: pa.RecordBatch) -> int:
    """The number of media of the rows."""
    return len(block.column("media").flatten())


_PLAIN = ("family", "language", "licence", "modality", "source", "source_class")
_MAYBE = ("band", "metadata", "mime", "url")


def sample_facts(block: pa.RecordBatch) -> dict[str, Sequence[Json]]:
    """What is known of each sample but its text and media, as JSON values of one type each, none of them null."""
    columns: dict[str, Sequence[Json]] = {name: block.column(name).to_pylist() for name in _PLAIN}
    columns |= {name: block.column(name).fill_null("").to_pylist() for name in _MAYBE}
    columns["captions"] = captions_in_json(block)
    columns["id"], columns["copy"] = identity_of(block)
    return columns


def captions_in_json(block: pa.RecordBatch) -> list[str]:
    """The captions of each sample, as JSON in a string."""
    captions = block.column("captions")
    if not len(captions.flatten()):
        return ["[]"] * len(block)
    return [orjson.dumps(value).decode() for value in captions.to_pylist()]


def table_columns(batch: pa.RecordBatch) -> pa.RecordBatch:
    """The written columns of a batch of `winnow.schemas.rows.draws.MIXED`."""
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
    """Each value's bytes as lower-case hexadecimal digits."""
    width = ids.type.byte_width
    raw = np.frombuffer(ids.buffers()[1], np.uint8, len(ids) * width, ids.offset * width)
    offsets = np.arange(len(ids) + 1, dtype=np.int32) * (2 * width)
    return pa.StringArray.from_buffers(len(ids), pa.py_buffer(offsets), pa.py_buffer(_DIGITS[raw].tobytes()))
