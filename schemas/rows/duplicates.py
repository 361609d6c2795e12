"""Layers of duplicates: rows that are equal or similar over a whole store (global layers)."""

from typing import Literal, TypeAlias

import pyarrow as pa

ID_BYTES = 16

Kind: TypeAlias = Literal["exact", "url", "near"]
KINDS: tuple[Kind, ...] = ("exact", "url", "near")

CHOSEN_IN: tuple[Kind, ...] = ("url", "exact", "near")
"""The order in which it is chosen who stays. Of an address the better text stays, whatever the others say, so addresses
come first: whom a row then goes for is like it in its text, and so on, so that no text goes without one that stays."""

DUPLICATES = "dedupe."
"""The prefix of these layers' names."""

VIRTUAL = "duplicate"
"""The prefix of a virtual layer: a plan's `duplicate.near` is whether another row represents this one."""

OK, UNMATCHED = "ok", "unmatched"
"""A row that others are duplicates of, and one that was compared with all others and is like none of them."""

_CLUSTER = [
    pa.field("status", pa.string(), nullable=False),
    pa.field("cluster", pa.binary(ID_BYTES)),  # the smallest id of its rows; its own where it is alone
    pa.field("size", pa.int64()),  # 1 where it is alone
    pa.field("matched", pa.binary(ID_BYTES)),  # the row that it is most like; null where it is alone
]

GROUPS = pa.schema(_CLUSTER)
"""`dedupe.exact` and `dedupe.url`."""

NEAR = pa.schema(
    [
        *_CLUSTER,
        pa.field("texts", pa.int64()),  # different texts of the cluster, equal ones counted once; 1 where it is alone
        pa.field("similarity", pa.float64()),  # to the matched row; null where it is alone
        pa.field("by", pa.string()),  # how that is known: equal, estimate or jaccard; null where it is alone
    ]
)
"""`dedupe.near`."""


def layer_of_kind(kind: Kind) -> str:
    """The layer's name."""
    return f"{DUPLICATES}{kind}"


def schema_of_kind(kind: Kind) -> pa.Schema:
    """The layer's columns."""
    return NEAR if kind == "near" else GROUPS
