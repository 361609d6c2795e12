"""Equal pictures, byte by byte."""

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from winnow.filters.duplicates.kind import PICTURES, DuplicateKind, Signature
from winnow.schemas.rows.duplicates import ID_BYTES, NOT_HASHED, OK
from winnow.schemas.rows.samples import NOT_AN_IMAGE


@dataclass(frozen=True)
class ImageBytesConfig:
    """Equal pictures, byte by byte."""


def _values(_: ImageBytesConfig, leaves: Sequence[pa.Array]) -> tuple[pa.StringArray, pa.Array]:
    mime, sha256 = leaves
    picture = pc.starts_with(mime, "image/")
    found = [None if one is None else bytes.fromhex(one)[:ID_BYTES] for one in sha256.to_pylist()]  # less than to read
    statuses = pc.if_else(picture, pc.if_else(sha256.is_valid(), OK, NOT_HASHED), NOT_AN_IMAGE)
    return statuses, pa.array(found, pa.binary(ID_BYTES))


KIND = DuplicateKind(
    name="image_bytes",
    version=4,
    summary="pictures with the same bytes",
    unit=PICTURES,
    settings=ImageBytesConfig,
    signature=Signature("samples", ("mime", "sha256"), _values),  # ingest writes the digest of each item
    listed=40,
    chosen=40,
    split=60,
)
