"""Layers of duplicates: rows that are equal or similar over a whole store (global layers)."""

from collections.abc import Mapping
from typing import Final, Literal, TypeAlias

import pyarrow as pa

ID_BYTES = 16
HASH_BITS = 256.0  # of a PDQ hash

Kind: TypeAlias = Literal[
    "exact", "url", "near", "image_bytes", "pdq", "embedding", "vpdq", "video_embedding", "captions"
]
KINDS: tuple[Kind, ...] = (
    "exact",
    "url",
    "near",
    "image_bytes",
    "pdq",
    "embedding",
    "vpdq",
    "video_embedding",
    "captions",
)

CHOSEN_IN: tuple[Kind, ...] = ("url", "exact", "near", "image_bytes", "pdq", "embedding", "vpdq", "video_embedding")
"""The order in which representatives are chosen. For an address the better text is kept, so addresses come first; then
each dropped row has a similar text that is kept. Captions alone choose none: they only say how often one occurs."""

DUPLICATES = "dedupe."
"""The prefix of these layers' names."""

VIRTUAL = "duplicate"
"""The prefix of virtual layers: `duplicate.near` of a plan tells whether another row represents this one."""

OK, UNMATCHED = "ok", "unmatched"
"""The statuses of a row with duplicates, and of a compared row without any."""

NO_VIDEO = "no_video"
"""Why a row is not compared by its videos: it has no media."""

NO_CAPTION, NO_TEXT_LEFT = "no_caption", "no_text_left"
"""Why captions are not compared: a row has none; one has no text but white space."""

NO_PICTURE, NOT_HASHED, NOT_AN_IMAGE, LOW_QUALITY, NOT_MEASURED = (
    "no_picture",
    "not_hashed",
    "not_an_image",
    "low_quality",
    "not_measured",
)
"""Why a row's pictures are not compared, beside the statuses of `image.pdq`: it has none; ingest did not hold an item's
bytes; an item is no picture; its hash is of a flat picture; it has no hash."""

_CLUSTER = [
    pa.field("status", pa.string(), nullable=False),
    pa.field("cluster", pa.binary(ID_BYTES)),  # the smallest id in the cluster; its own id if it has no duplicates
    pa.field("size", pa.int64()),  # 1 without duplicates
    pa.field("matched", pa.binary(ID_BYTES)),  # the most similar row; null without duplicates
]

GROUPS = pa.schema(_CLUSTER)
"""`dedupe.exact` and `dedupe.url`."""

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

_ITEM_CLUSTER = [
    pa.field("status", pa.string(), nullable=False),  # of the row: `ok` if one of its items has duplicates
    pa.field("share", pa.float64()),  # of the row's items that have duplicates; null if it has no items
    pa.field("items", pa.list_(pa.string())),  # the status of each item
    pa.field("cluster", pa.list_(pa.binary(ID_BYTES))),  # the smallest id of an item in the cluster
    pa.field("size", pa.list_(pa.int64())),  # items in the cluster; 1 without duplicates
    pa.field("matched", pa.list_(pa.binary(ID_BYTES))),  # the most similar item; null without duplicates
]

ITEM_GROUPS = pa.schema(_ITEM_CLUSTER)
"""`dedupe.image_bytes` and `dedupe.captions`: but for `OF_ROWS`, lists, aligned with the row's media or captions. They
are null where the items were not compared for a reason that concerns the row (`forgotten`, or not measured)."""

PDQ = pa.schema(
    [
        *_ITEM_CLUSTER,
        pa.field("hashes", pa.list_(pa.int64())),  # distinct hashes in the cluster; 1 without duplicates
        pa.field("distance", pa.list_(pa.int16())),  # bits in which the hash differs from that of the matched item
    ]
)
"""`dedupe.pdq`: lists, as in `ITEM_GROUPS`."""

EMBEDDING = pa.schema(
    [
        *_ITEM_CLUSTER,
        pa.field("vectors", pa.list_(pa.int64())),  # distinct vectors in the cluster; 1 without duplicates
        pa.field("similarity", pa.list_(pa.float64())),  # the cosine with the matched item's vector
    ]
)
"""`dedupe.embedding` and `dedupe.video_embedding`: lists, as in `ITEM_GROUPS`."""

VPDQ = pa.schema(
    [
        *_ITEM_CLUSTER,
        pa.field("videos", pa.list_(pa.int64())),  # different videos in the cluster; 1 without duplicates
        pa.field("own_share", pa.list_(pa.float64())),  # of the video's frames, those that the matched one has
        pa.field("other_share", pa.list_(pa.float64())),  # of the matched one's frames, those that this has
    ]
)
"""`dedupe.vpdq`: lists, as in `ITEM_GROUPS`."""

OF_ROWS: Final = ("status", "share")
"""The columns of layers of items that say something of the row."""

OF_PICTURES: Final[frozenset[Kind]] = frozenset({"image_bytes", "pdq", "embedding"})
"""The kinds that compare the pictures among a row's media."""

OF_VECTORS: Final[tuple[Kind, ...]] = ("embedding", "video_embedding")
"""The kinds that compare embeddings."""

OF_MEDIA: Final[frozenset[Kind]] = OF_PICTURES | {"vpdq", "video_embedding"}
"""The kinds whose items are a row's media."""

OF_ITEMS: Final[frozenset[Kind]] = OF_MEDIA | {"captions"}
"""The kinds that compare the items of rows; the others compare rows. The items of `captions` are a row's captions."""

DISTINCT: Final[Mapping[Kind, str]] = {
    "near": "texts",
    "pdq": "hashes",
    "embedding": "vectors",
    "vpdq": "videos",
    "video_embedding": "vectors",
}
"""The column that counts what is different within a cluster, of the kinds whose clusters chains can grow."""


def layer_of_kind(kind: Kind) -> str:
    """The layer's name."""
    return f"{DUPLICATES}{kind}"


def schema_of_kind(kind: Kind) -> pa.Schema:
    """The layer's columns."""
    return _SCHEMAS.get(kind, GROUPS)


_SCHEMAS: Final[Mapping[Kind, pa.Schema]] = {
    "near": NEAR,
    "image_bytes": ITEM_GROUPS,
    "pdq": PDQ,
    "embedding": EMBEDDING,
    "vpdq": VPDQ,
    "video_embedding": EMBEDDING,
    "captions": ITEM_GROUPS,
}
