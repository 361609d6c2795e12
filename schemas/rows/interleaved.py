"""The layer `page.interleaved`: a document's texts and pictures in reading order, by reference."""

from typing import Final

import pyarrow as pa

from winnow.schemas.rows.samples import MEDIA

LAYER: Final = "page.interleaved"

TEXT_NODE: Final = "text"
"""The kind of a node that is a part of the text; the others are those of media: image, video, audio or other."""

NODE = pa.struct(
    [
        pa.field("kind", pa.string(), nullable=False),
        pa.field("start", pa.int32()),  # of a text: bytes of the recipe's `text`, half-open
        pa.field("end", pa.int32()),
        pa.field("item", pa.int32()),  # of a medium: its number in `media`, or in the row's own
        pa.field("image", pa.int32()),  # of a picture of a page: its number in the extractor's `images`
    ]
)

NODES = pa.list_(pa.field("item", NODE, nullable=False))

_COUNT = pa.int32()
MOST_BETWEEN: Final = 2
"""Bytes between blocks of a text: an empty line. Where there are more, and a picture stands between two, the text has
the picture's name there, as Markdown does."""

INTERLEAVED = pa.schema(
    [
        pa.field("nodes", NODES),  # in reading order
        # The pictures of other rows that the nodes show, each once, in the order of their first nodes; null for a row
        # with media of its own. What follows has a value for each of these, or for each of the row's own media.
        pa.field("media", pa.list_(pa.field("item", MEDIA, nullable=False))),
        pa.field("sources", pa.list_(pa.string())),  # the source of each, null for the row's own
        pa.field("samples", pa.list_(pa.string())),  # the id of its row, in hexadecimal digits
        pa.field("urls", pa.list_(pa.string())),  # the address by which the page shows it
        pa.field("pages", pa.list_(pa.int64())),  # of the store, that show this address
        pa.field("shorter", pa.list_(pa.int32())),  # pixels
        pa.field("longer", pa.list_(pa.int32())),
        pa.field("aspect", pa.list_(pa.float64())),  # the longer side divided by the shorter one
        pa.field("bytes", pa.list_(pa.int64())),
        pa.field("texts", _COUNT),  # how many nodes are texts
        pa.field("pictures", _COUNT),  # and pictures
        pa.field("missing", _COUNT),  # images of the page that no row of the store has
    ]
)


def fact_name(column: str) -> str:
    """The name of the column with what another layer measured of each picture."""
    return column.replace(".", "_")


OF_DOCUMENTS: Final = ("nodes", "media")
"""The lists that do not have one value for each medium; all others have."""
