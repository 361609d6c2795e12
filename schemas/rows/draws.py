"""Schemas of draws (the rows of each shard that a plan selects, their copies and output) and of export rows."""

import pyarrow as pa

from winnow.schemas.rows.samples import CAPTION

NO_BAND = (1 << 64) - 1
"""The key of a null value, above the keys of all numbers."""

DRAW = pa.schema(
    [
        pa.field("output", pa.uint8(), nullable=False),  # its number in the plan
        pa.field("row", pa.uint32(), nullable=False),  # in the shard; ascending within an output
        pa.field("id", pa.binary(16), nullable=False),
        pa.field("stratum", pa.uint32(), nullable=False),  # its number in the output
        pa.field("first", pa.uint16(), nullable=False),  # the number of its first copy; earlier stages used lower ones
        pa.field("copies", pa.uint16(), nullable=False),
        pa.field("units", pa.int64(), nullable=False),  # of one copy, in the plan's unit
        pa.field("bytes", pa.int64(), nullable=False),  # of its text after edits
        pa.field(
            "dropped", pa.list_(pa.field("item", pa.int32(), nullable=False))
        ),  # the media that rules of items drop
    ]
)
"""One row per sample that an output uses at least once."""

MEDIUM = pa.struct(
    [
        pa.field("mime", pa.string(), nullable=False),  # of the exported medium, like all below
        pa.field("sha256", pa.string()),
        pa.field("bytes", pa.large_binary()),  # null for a large medium, which is not held
        pa.field("width", pa.int32()),
        pa.field("height", pa.int32()),
        pa.field("original_width", pa.int32()),  # as the store has them
        pa.field("original_height", pa.int32()),
        pa.field("ref", pa.string()),  # of a large medium until it is copied to this machine; JSON
        pa.field("file", pa.string()),  # of a large medium once it is copied: its file on this machine
    ]
)
"""An item on its way to an export."""

DOCUMENT_NODE = pa.struct(
    [
        pa.field("kind", pa.string(), nullable=False),  # text or image
        pa.field("start", pa.int64()),  # of a text: bytes of the exported text
        pa.field("end", pa.int64()),
        pa.field("item", pa.int32()),  # of a picture: its number in `media`
        pa.field("url", pa.string()),
        pa.field("alt", pa.string()),
    ]
)
"""A part of a document on its way to an export (`schemas/rows/interleaved.py`)."""

MIXED = pa.schema(
    [
        pa.field("order", pa.uint64(), nullable=False),  # hash(seed, copy, id); ascending within an export's file
        pa.field("copy", pa.uint16(), nullable=False),
        pa.field("id", pa.binary(16), nullable=False),
        pa.field("text", pa.large_string()),  # after edits
        pa.field("source", pa.string(), nullable=False),
        pa.field("source_class", pa.string(), nullable=False),
        pa.field("family", pa.string(), nullable=False),
        pa.field("language", pa.string(), nullable=False),
        pa.field("band", pa.string(), nullable=False),
        pa.field("licence", pa.string(), nullable=False),
        pa.field("url", pa.large_string()),  # large, as the size limit of shards does not count it
        pa.field("mime", pa.string()),
        pa.field("modality", pa.string(), nullable=False),
        pa.field("captions", pa.list_(pa.field("item", CAPTION, nullable=False)), nullable=False),
        pa.field("metadata", pa.large_string(), nullable=False),  # canonical JSON; large for the same reason
        pa.field("media", pa.list_(pa.field("item", MEDIUM, nullable=False)), nullable=False),
        # In reading order; none where no documents are written.
        pa.field("nodes", pa.list_(pa.field("item", DOCUMENT_NODE, nullable=False)), nullable=False),
    ]
)
"""One row for each copy of each sample of an export."""
