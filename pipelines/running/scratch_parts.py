"""Tables that the steps of a job exchange through its scratch folder.

Their names are fixed and their content is deterministic, so a step may run twice.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa
from numpy.typing import NDArray

from winnow.pipelines.running.blocks import decode_batch, encode_batch
from winnow.pipelines.store.facade import ObjectStore
from winnow.schemas.errors import StageError


def put_part(objects: ObjectStore, scratch: str, what: str, number: int, batch: pa.RecordBatch) -> None:
    """Store one part."""
    objects.put(_path(scratch, what, number), encode_batch(batch))


def read_part(objects: ObjectStore, scratch: str, what: str, number: int) -> pa.RecordBatch:
    """Read one part, which must exist."""
    found = find_part(objects, scratch, what, number)
    if found is None:
        raise StageError(f"{scratch}: {what} {number} was never written; run the same command again")
    return found


def find_part(objects: ObjectStore, scratch: str, what: str, number: int) -> pa.RecordBatch | None:
    """Read one part; None if it was not written, as nothing was sent to it."""
    try:
        return decode_batch(objects.read(_path(scratch, what, number)))
    except FileNotFoundError:
        return None


def read_parts(objects: ObjectStore, scratch: str, what: str, count: int) -> Iterator[pa.RecordBatch]:
    """Yield all parts, in order."""
    return (read_part(objects, scratch, what, number) for number in range(count))


def existing_parts(objects: ObjectStore, scratch: str, what: str) -> Iterator[pa.RecordBatch]:
    """Yield the parts that were written, in order: partitions that nothing was sent to write none."""
    return (decode_batch(objects.read(info.path)) for info in objects.list(f"{scratch}/{what}/"))


def put_arrays(objects: ObjectStore, scratch: str, what: str, number: int, arrays: Mapping[str, pa.Array]) -> None:
    """Store arrays of different lengths as one part."""
    lists = [pa.LargeListArray.from_arrays(pa.array([0, len(array)], pa.int64()), array) for array in arrays.values()]
    put_part(objects, scratch, what, number, pa.RecordBatch.from_arrays(lists, list(arrays)))


def read_arrays(objects: ObjectStore, scratch: str, what: str, number: int) -> dict[str, pa.Array]:
    """Read arrays, which must exist."""
    part = read_part(objects, scratch, what, number)
    return {name: part[name].values for name in part.schema.names}


def put_numbers(objects: ObjectStore, scratch: str, what: str, number: int, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Store arrays of numbers or texts, of different lengths, as one part."""
    put_arrays(objects, scratch, what, number, {name: pa.array(values) for name, values in arrays.items()})


def read_numbers(objects: ObjectStore, scratch: str, what: str, number: int) -> dict[str, NDArray[Any]]:
    """Read arrays of numbers or texts, which must exist."""
    arrays = read_arrays(objects, scratch, what, number)
    return {name: values.to_numpy(zero_copy_only=False) for name, values in arrays.items()}


def _path(scratch: str, what: str, number: int) -> str:
    return f"{scratch}/{what}/{number:08d}.arrow"
