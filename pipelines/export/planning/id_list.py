"""Writes the ids of an export in DataComp's subset format: sorted pairs of 64-bit numbers in a .npy.

An id's first eight bytes are the first number, its last eight the second, both big-endian: the order
of the pairs is the order of the ids, and `f"{first:016x}{second:016x}"` is the id as winnow prints it.
"""

from collections.abc import Iterable
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from winnow.schemas.identity import ID_BYTES

UID = np.dtype("<u8,<u8")  # the type that datacomp's resharder reads


def write_id_list(ids: Iterable[pa.Array], file: Path) -> int:
    """Writes the distinct ids of 16 bytes in ascending order; returns their number.

    The file appears at once, when complete. All ids are held in memory, at most twice: 3.2 GB for 1e8 samples.
    """
    uids = sorted_uids(ids)
    written = file.with_name(f".{file.name}.winnow-unfinished")
    try:
        with written.open("wb") as stream:
            np.save(stream, uids)
        written.replace(file)
    finally:
        written.unlink(missing_ok=True)
    return len(uids)


def sorted_uids(ids: Iterable[pa.Array]) -> npt.NDArray[np.void]:
    """The distinct ids as pairs, ascending."""
    held = bytearray()  # grows in place; joining arrays would hold everything twice
    for batch in ids:
        if batch.type != pa.binary(ID_BYTES) or batch.null_count:
            raise ValueError(f"{batch.type} with {batch.null_count} nulls; expected ids of {ID_BYTES} bytes")
        held += memoryview(batch.buffers()[1])[batch.offset * ID_BYTES : (batch.offset + len(batch)) * ID_BYTES]
    names = np.frombuffer(held, f"S{ID_BYTES}")
    names.sort()
    once = np.ones(len(names), bool)
    np.not_equal(names[1:], names[:-1], out=once[1:])
    return names[once].view(">u8").astype("<u8").view(UID)
