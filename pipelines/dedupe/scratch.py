"""Tables that the steps of a search exchange through the scratch folder.

Their names are fixed and their content is deterministic, so a step may run twice.
"""

from collections.abc import Iterator

import pyarrow as pa

from winnow.pipelines.running.blocks import decode_batch, encode_batch
from winnow.pipelines.store.facade import ObjectStore
from winnow.schemas.errors import StageError


def put_part(objects: ObjectStore, scratch: str, what: str, number: int, batch: pa.RecordBatch) -> None:
    """Store one part."""
    objects.put(_path(scratch, what, number), encode_batch(batch))


def read_part(objects: ObjectStore, scratch: str, what: str, number: int) -> pa.RecordBatch:
    """Read one part, which must exist."""
    try:
        return decode_batch(objects.read(_path(scratch, what, number)))
    except FileNotFoundError:
        raise StageError(f"dedupe: {what} {number} was never written; run the same command again") from None


def read_parts(objects: ObjectStore, scratch: str, what: str, count: int) -> Iterator[pa.RecordBatch]:
    """Yield all parts, in order."""
    return (read_part(objects, scratch, what, number) for number in range(count))


def _path(scratch: str, what: str, number: int) -> str:
    return f"{scratch}/{what}/{number:08d}.arrow"
