"""The rows of a store: samples, dropped records and quarantined input.

`samples` rows are immutable and contain only data of the source itself; later measurements are in layers (law 1).
`QUARANTINE` and `DROPPED` rows keep their input range, so that the ranges of the three tables cover every input file
exactly once (law 3).
"""

from typing import Literal, TypeAlias

import pyarrow as pa

Modality: TypeAlias = Literal["text", "image", "video", "audio", "other", "forgotten"]
"""Kinds of samples; a forgotten one keeps its position but no content."""
Unit: TypeAlias = Literal["bytes", "stream", "member", "rows"]
"""The unit of offset and length: bytes of the file, bytes of the decompressed stream, or rows.

In a compressed file of several members (gzip members, zstd frames) a line that begins in a later one has the unit
`member`: the offset is that of the member in the file, `member` is the number of the line in it, from 1, and the length
counts decompressed bytes.
"""

EMPTY_MEDIUM = "application/x-empty"
"""The type of a medium without bytes."""
MISSING_MEDIUM = "application/x-missing"
"""The type of a medium that a row names and that was not there, or was none, when the row was read."""
UNAVAILABLE = "unavailable"
"""The status of a medium that cannot be read again."""
NOT_AN_IMAGE, NOT_A_VIDEO = "not_an_image", "not_a_video"
"""The status of a medium of another type, where pictures or videos are asked for."""

TIMESTAMP = pa.timestamp("us", tz="UTC")

SOURCE = pa.struct(
    [
        pa.field("name", pa.string(), nullable=False),
        pa.field("path", pa.string(), nullable=False),  # relative to the source's root, with forward slashes
        pa.field("record", pa.string(), nullable=False),  # WARC-Record-ID, the recipe's key column, or the ordinal
        pa.field("offset", pa.int64(), nullable=False),
        pa.field("length", pa.int64(), nullable=False),
        pa.field("unit", pa.string(), nullable=False),
        pa.field("member", pa.int32(), nullable=False),  # ordinal among the records that share this range
        pa.field("fetched_at", TIMESTAMP),
        pa.field("fetched_with", pa.string()),
    ]
)

MEDIA_REFERENCE = pa.struct(
    [
        pa.field("path", pa.string(), nullable=False),
        pa.field("offset", pa.int64(), nullable=False),  # in bytes; in "parquet" and "arrow" the number of the row
        pa.field("length", pa.int64(), nullable=False),
        pa.field("container", pa.string(), nullable=False),  # "file", "warc", "warc.gz", "tar", "parquet" …
        pa.field("member", pa.string()),  # of a tar its name; of a table the column, of a list such as `images[2]`
        pa.field("etag", pa.string()),
    ]
)

CLIP = pa.struct(
    [
        pa.field("of", pa.string(), nullable=False),  # the id of the sample with the whole video, in hexadecimal digits
        pa.field("start", pa.int64(), nullable=False),  # ticks: frames are shown from here
        pa.field("end", pa.int64(), nullable=False),  # to before here
        pa.field("numerator", pa.int64(), nullable=False),  # a tick takes numerator / denominator seconds
        pa.field("denominator", pa.int64(), nullable=False),
    ]
)
"""A part of a video. Everything else that its medium says, but for its frames and seconds, is of the whole file."""

MEDIA = pa.struct(
    [
        pa.field("sha256", pa.string()),  # null, as all that follows, for a record that ingest did not hold
        pa.field("bytes", pa.int64()),
        pa.field("mime", pa.string(), nullable=False),  # detected from the bytes, not as declared
        pa.field("ref", MEDIA_REFERENCE, nullable=False),
        pa.field("width", pa.int32()),  # as stored: before any rotation that its metadata asks for
        pa.field("height", pa.int32()),
        pa.field("orientation", pa.int32()),  # as EXIF numbers it, 1 to 8: 1 is upright
        pa.field("frames", pa.int32()),  # of an animation or a video, or pages; null where they are not counted
        pa.field("seconds", pa.float64()),  # of a video, counted in its packets
        pa.field("clip", CLIP),  # null: the whole medium
    ]
)

CAPTION = pa.struct(
    [
        pa.field("text", pa.string(), nullable=False),
        pa.field("origin", pa.string(), nullable=False),
        pa.field("language", pa.string()),
    ]
)

SAMPLES = pa.schema(
    [
        pa.field("id", pa.binary(16), nullable=False),
        pa.field("source", SOURCE, nullable=False),
        pa.field("source_class", pa.string(), nullable=False),
        pa.field("licence", pa.string(), nullable=False),
        pa.field("url", pa.string()),
        pa.field("domain", pa.string()),
        pa.field("modality", pa.string(), nullable=False),
        pa.field("mime", pa.string()),
        pa.field("text", pa.large_string()),
        pa.field("media", pa.list_(pa.field("item", MEDIA, nullable=False)), nullable=False),
        pa.field("captions", pa.list_(pa.field("item", CAPTION, nullable=False)), nullable=False),
        pa.field("metadata", pa.string(), nullable=False),  # canonical JSON
    ]
)

_RANGE = [
    pa.field("source", pa.string(), nullable=False),
    pa.field("path", pa.string(), nullable=False),
    pa.field("offset", pa.int64(), nullable=False),
    pa.field("length", pa.int64(), nullable=False),
    pa.field("unit", pa.string(), nullable=False),
    pa.field("member", pa.int32(), nullable=False),
    pa.field("reason", pa.string(), nullable=False),
]

DROPPED = pa.schema(_RANGE)

QUARANTINE = pa.schema([*_RANGE, pa.field("record", pa.string()), pa.field("detail", pa.string(), nullable=False)])
