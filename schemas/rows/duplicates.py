"""Layers of duplicates: rows that are equal or similar over a whole store (global layers)."""

from typing import Final, TypeAlias

import pyarrow as pa

ID_BYTES = 16
HASH_BITS = 256.0  # of a PDQ hash

Kind: TypeAlias = str
"""The name of a kind of duplicates; `winnow.filters.duplicates.kind` has what it says of itself."""

DUPLICATES = "dedupe."
"""The prefix of these layers' names."""

VIRTUAL = "duplicate"
"""The prefix of virtual layers: `duplicate.near` of a plan tells whether another row represents this one."""

OK, UNMATCHED = "ok", "unmatched"
"""The statuses of a row with duplicates, and of a compared row without any."""

NO_VIDEO = "no_video"
"""Why a row is not compared by its videos: it has no media."""

NO_CAPTIONS, NO_MEDIA = "no_captions", "no_media"
"""Statuses of rows without captions: those that have media, and all others, such as pages."""

NO_CAPTION, NO_TEXT_LEFT = "no_caption", "no_text_left"
"""Why captions are not compared: a row has none; one has no text but white space."""

NO_PICTURE, NOT_HASHED, LOW_QUALITY, NOT_MEASURED = "no_picture", "not_hashed", "low_quality", "not_measured"
"""Why a row's pictures are not compared, beside `NOT_AN_IMAGE` and the statuses of `image.pdq`: it has none; ingest did
not hold an item's bytes; its hash is of a flat picture; it has no hash."""

CLUSTER: Final = [
    pa.field("status", pa.string(), nullable=False),
    pa.field("cluster", pa.binary(ID_BYTES)),  # the smallest id in the cluster; its own id if it has no duplicates
    pa.field("size", pa.int64()),  # 1 without duplicates
    pa.field("matched", pa.binary(ID_BYTES)),  # the most similar row; null without duplicates
]
"""The first columns of kinds that compare rows."""

ITEM_CLUSTER: Final = [
    pa.field("status", pa.string(), nullable=False),  # of the row: `ok` if one of its items has duplicates
    pa.field("share", pa.float64()),  # of the row's items that have duplicates; null if it has no items
    pa.field("items", pa.list_(pa.string())),  # the status of each item
    pa.field("cluster", pa.list_(pa.binary(ID_BYTES))),  # the smallest id of an item in the cluster
    pa.field("size", pa.list_(pa.int64())),  # items in the cluster; 1 without duplicates
    pa.field("matched", pa.list_(pa.binary(ID_BYTES))),  # the most similar item; null without duplicates
]
"""The first columns of kinds that compare items: but for `OF_ROWS`, lists, aligned with the row's media or captions.
They are null where the items were not compared for a reason that concerns the row (`forgotten`, or not measured)."""

OF_ROWS: Final = ("status", "share")
"""The columns of layers of items that say something of the row."""


def layer_of_kind(kind: Kind) -> str:
    """The layer's name."""
    return f"{DUPLICATES}{kind}"
