"""What rows are compared by: a digest for each kind, or the reason why a row has none.

Rows of equal digests are equal. Texts and addresses have a layer of digests. A picture's digest is that of its bytes,
which ingest wrote, or of its PDQ hash.

Rows are compared, not items. So that no picture is dropped for another one's sake, rows are equal in bytes if all of
their pictures are, in the same order; and only rows of a single picture are compared by PDQ.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from winnow.pipelines.dedupe.search import Batch, Search
from winnow.pipelines.query.columns import MEDIA, Column
from winnow.pipelines.store import layout
from winnow.schemas.rows.duplicates import (
    ID_BYTES,
    LOW_QUALITY,
    NO_PICTURE,
    NOT_HASHED,
    OK,
    OTHER_MEDIA,
    SEVERAL_PICTURES,
    Kind,
)
from winnow.schemas.tombstones import FORGOTTEN

__all__ = ["HASH_BYTES", "Hashes", "digest_columns", "digests_of", "hashes_of", "status_columns", "statuses_of"]

HASH_BYTES = 32
_MODALITY = Column(layout.SAMPLES, "modality")
_DIGEST = pa.binary(ID_BYTES)
_PDQ_LEAVES = ("status", "items", "hash", "quality")


def digest_columns(search: Search, kind: Kind) -> list[Column]:
    """The columns that `digests_of` reads."""
    if kind == "image_bytes":
        return [MEDIA]
    if kind == "pdq":
        return [Column(search.kinds[kind], leaf) for leaf in _PDQ_LEAVES]
    return [Column(search.kinds[kind], "digest")]


def status_columns(search: Search, kind: Kind) -> list[Column]:
    """The columns that `statuses_of` reads."""
    if kind == "image_bytes":
        return [MEDIA, _MODALITY]
    return digest_columns(search, kind) if kind == "pdq" else [Column(search.kinds[kind], "status")]


def digests_of(search: Search, kind: Kind, batch: Batch) -> pa.FixedSizeBinaryArray:
    """The digest of each row of a batch; null for rows that are not compared."""
    if kind == "image_bytes":
        return pa.array([digest for _, digest in map(_picture_bytes, batch[MEDIA.name].to_pylist())], _DIGEST)
    if kind == "pdq":
        found = hashes_of(search, batch)
        digests: list[bytes | None] = [None] * len(batch[f"{search.kinds[kind]}.status"])
        for row, value in zip(found.rows.tolist(), found.values.to_pylist(), strict=True):  # a microsecond each
            digests[row] = hashlib.blake2b(value, digest_size=ID_BYTES).digest()
        return pa.array(digests, _DIGEST)
    return batch[f"{search.kinds[kind]}.digest"]


def statuses_of(search: Search, kind: Kind, batch: Batch) -> pa.StringArray:
    """`ok` for each row of a batch that is compared, else why it is not."""
    if kind == "image_bytes":
        statuses = pa.array([status for status, _ in map(_picture_bytes, batch[MEDIA.name].to_pylist())], pa.string())
        return pc.if_else(pc.equal(batch[_MODALITY.name], FORGOTTEN), FORGOTTEN, statuses)
    if kind == "pdq":
        return pa.array(_pdq_statuses(search, batch), pa.string())
    return batch[f"{search.kinds[kind]}.status"]


@dataclass(frozen=True)
class Hashes:
    """The PDQ hashes of the rows of a batch that are compared."""

    rows: NDArray[np.int64]
    values: pa.FixedSizeBinaryArray


def hashes_of(search: Search, batch: Batch) -> Hashes:
    """The PDQ hashes of a batch, without those of flat pictures."""
    rows = np.flatnonzero([status == OK for status in _pdq_statuses(search, batch)])
    lists = batch[f"{search.kinds['pdq']}.hash"].take(pa.array(rows))
    return Hashes(rows, pc.list_flatten(lists).cast(pa.binary(HASH_BYTES)))


def _picture_bytes(items: Sequence[dict[str, str]]) -> tuple[str, bytes | None]:
    """A row's status and digest; a row takes a few microseconds, as reading it does."""
    if not items:
        return NO_PICTURE, None
    pictures = [item["mime"].startswith("image/") for item in items]
    if not all(pictures):
        return OTHER_MEDIA if any(pictures) else NO_PICTURE, None
    hashes = [item["sha256"] for item in items]
    if not all(hashes):
        return NOT_HASHED, None
    return OK, hashlib.blake2b(" ".join(hashes).encode(), digest_size=ID_BYTES).digest()


def _pdq_statuses(search: Search, batch: Batch) -> list[str]:
    assert search.pdq is not None
    layer, gate = search.kinds["pdq"], search.pdq.min_quality
    statuses, items, quality = (batch[f"{layer}.{leaf}"].to_pylist() for leaf in ("status", "items", "quality"))
    return [_pdq_status(*row, gate) for row in zip(statuses, items, quality, strict=True)]


def _pdq_status(status: str, items: list[str | None] | None, quality: list[int | None] | None, gate: int) -> str:
    if status != OK or not items or not quality:
        return NO_PICTURE if status in (OK, "no_input") else status
    if len(items) > 1:
        return SEVERAL_PICTURES
    if items[0] != OK or quality[0] is None:
        return items[0] or NO_PICTURE
    return OK if quality[0] >= gate else LOW_QUALITY
