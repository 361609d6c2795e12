"""A table as one Parquet file with its own checksum, for names that do not depend on the content.

The footer holds a checksum over the store, the path and the file, computed with zeros in its place. It is checked
before anything is parsed.
"""

import pyarrow as pa
import pyarrow.parquet as pq

from winnow.pipelines.store.facade import ObjectStore
from winnow.pipelines.store.integrity.damage import damaged
from winnow.schemas.identity import digest

_KEY = "winnow.checksum"
_BYTES = 8
_ZEROS = b"0" * (2 * _BYTES)
_BEFORE = _KEY.encode() + bytes([0x18, len(_ZEROS)])  # Thrift writes a string's field and length between the two


def sealed_table(owner: str, path: str, table: pa.Table) -> bytes:
    """The bytes of a table's file for this path of a store."""
    sink = pa.BufferOutputStream()
    with pq.ParquetWriter(sink, table.schema, compression="zstd") as parquet:
        parquet.write_table(table)
        parquet.add_key_value_metadata({_KEY: _ZEROS.decode()})
    raw: bytes = sink.getvalue().to_pybytes()
    at = raw.rindex(_BEFORE + _ZEROS) + len(_BEFORE)
    return _with_digits(raw, at, _checksum(owner, path, raw))


def unsealed_table(objects: ObjectStore, owner: str, path: str, raw: bytes) -> pa.Table:
    """The table in such a file; DamagedError if it was not sealed for this path of this store."""
    at = raw.rfind(_BEFORE) + len(_BEFORE)
    if at < len(_BEFORE):
        raise damaged(objects.root, path, "it has no checksum")
    if raw[at : at + len(_ZEROS)] != _checksum(owner, path, _with_digits(raw, at, _ZEROS)):
        raise damaged(objects.root, path, "its checksum is that of other content")
    return pq.read_table(pa.BufferReader(raw), use_threads=False, pre_buffer=False)


def _with_digits(raw: bytes, at: int, digits: bytes) -> bytes:
    return raw[:at] + digits + raw[at + len(digits) :]


def _checksum(owner: str, path: str, raw: bytes) -> bytes:
    return digest(owner, path, raw, size=_BYTES).hex().encode()
