"""The input and output schemas of HTML extractors. All extractors' layers have the same columns."""

from typing import Final, Literal, TypeAlias

import pyarrow as pa

PAGES = pa.schema(
    [
        pa.field("html", pa.large_string()),  # decoded page; null if the sample is not an HTML page
        pa.field("url", pa.string()),
    ]
)

PartKind: TypeAlias = Literal["text", "heading", "list", "table", "code", "quote", "image"]

Status: TypeAlias = Literal[
    "ok", "empty", "unsure", "not_html", "too_large", "too_deep", "too_many_nodes", "failed", "not_selected",
    "forgotten",
]  # fmt: skip
"""Why a row has no text: `empty` is a page without main content; the other rows are null (law 2)."""

WITHOUT_TEXT: Final[tuple[Status, ...]] = ("empty", "unsure", "too_large", "too_deep", "too_many_nodes", "failed")
"""What an extractor says of pages out of which it got no text."""

IMAGE = pa.struct(
    [
        pa.field("src", pa.string(), nullable=False),  # absolute if the page's URL is known
        pa.field("alt", pa.string()),
        pa.field("title", pa.string()),
        pa.field("caption", pa.string()),  # the <figcaption> of the enclosing <figure>
        pa.field("before", pa.string()),  # up to 200 characters of the page's text before the image
        pa.field("after", pa.string()),
        pa.field("width", pa.int32()),  # as declared in the page, not verified
        pa.field("height", pa.int32()),
        # Other addresses of the same picture: of `srcset`, of <source>, of lazy loaders; null if there are none.
        pa.field("candidates", pa.list_(pa.field("item", pa.string(), nullable=False))),
    ]
)

PART = pa.struct(
    [
        pa.field("kind", pa.string(), nullable=False),
        pa.field("start", pa.int32(), nullable=False),  # UTF-8 byte range of `text`, half-open; empty for an image
        pa.field("end", pa.int32(), nullable=False),
        pa.field("image", pa.int32()),  # index into `images`
    ]
)

LINK = pa.struct([pa.field("url", pa.string(), nullable=False), pa.field("rel", pa.string())])

EXTRACTED = "extract."
"""The prefix of extractors' layers, which have their own texts."""

EXTRACTION = pa.schema(
    [
        pa.field("status", pa.string(), nullable=False),
        pa.field("text", pa.large_string()),
        pa.field("title", pa.string()),
        pa.field("canonical_url", pa.string()),
        pa.field("language", pa.string()),  # as declared by the page
        pa.field("links", pa.list_(pa.field("item", LINK, nullable=False))),
        pa.field("images", pa.list_(pa.field("item", IMAGE, nullable=False))),
        pa.field("parts", pa.list_(pa.field("item", PART, nullable=False))),  # in reading order
    ]
)
