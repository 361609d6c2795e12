"""Layers of duplicates: rows that are equal or similar over a whole store (global layers)."""

from collections.abc import Mapping
from typing import Final, Literal, TypeAlias

import pyarrow as pa

ID_BYTES = 16
HASH_BITS = 256.0  # of a PDQ hash

Kind: TypeAlias = Literal["exact", "url", "near", "image_bytes", "pdq"]
KINDS: tuple[Kind, ...] = ("exact", "url", "near", "image_bytes", "pdq")

CHOSEN_IN: tuple[Kind, ...] = ("url", "exact", "near", "image_bytes", "pdq")
"""The order in which representatives are chosen. For an address the better text is kept, so addresses come first; then
each dropped row has a similar text that is kept."""

DUPLICATES = "dedupe."
"""The prefix of these layers' names."""

VIRTUAL = "duplicate"
"""The prefix of virtual layers: `duplicate.near` of a plan tells whether another row represents this one."""

OK, UNMATCHED = "ok", "unmatched"
"""The statuses of a row with duplicates, and of a compared row without any."""

NO_PICTURE, NOT_HASHED, OTHER_MEDIA, SEVERAL_PICTURES, LOW_QUALITY = (
    "no_picture",
    "not_hashed",
    "other_media",
    "several_pictures",
    "low_quality",
)
"""Why a row's pictures are not compared, beside the statuses of `image.pdq`: it has none; ingest did not hold their
bytes; it has media of another kind, or further pictures, that would be lost with it; its hash is of a flat picture."""

_CLUSTER = [
    pa.field("status", pa.string(), nullable=False),
    pa.field("cluster", pa.binary(ID_BYTES)),  # the smallest id in the cluster; its own id if it has no duplicates
    pa.field("size", pa.int64()),  # 1 without duplicates
    pa.field("matched", pa.binary(ID_BYTES)),  # the most similar row; null without duplicates
]

GROUPS = pa.schema(_CLUSTER)
"""`dedupe.exact`, `dedupe.url` and `dedupe.image_bytes`."""

NEAR = pa.schema(
    [
        *_CLUSTER,
        pa.field("texts", pa.int64()),  # distinct texts in the cluster; 1 without duplicates
        pa.field("similarity", pa.float64()),  # to the matched row; null without duplicates
        # how the similarity was determined: equal, estimate or jaccard; null without duplicates
        pa.field("by", pa.string()),
    ]
)
"""`dedupe.near`."""

PDQ = pa.schema(
    [
        *_CLUSTER,
        pa.field("hashes", pa.int64()),  # distinct hashes in the cluster; 1 without duplicates
        pa.field("distance", pa.int16()),  # bits in which the hash differs from that of the matched row
    ]
)
"""`dedupe.pdq`."""

DISTINCT: Final[Mapping[Kind, str]] = {"near": "texts", "pdq": "hashes"}
"""The column that counts what is different within a cluster, of the kinds whose clusters chains can grow."""


def layer_of_kind(kind: Kind) -> str:
    """The layer's name."""
    return f"{DUPLICATES}{kind}"


def schema_of_kind(kind: Kind) -> pa.Schema:
    """The layer's columns."""
    return NEAR if kind == "near" else PDQ if kind == "pdq" else GROUPS
