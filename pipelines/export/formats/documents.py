"""What formats of documents share: their options, and each document as texts and pictures in reading order."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from winnow.pipelines.export.formats.wanted_media import (
    MediaKind,
    MediaOptions,
    WantedMedia,
    filled_texts,
    sizes_of_media,
)


@dataclass(frozen=True)
class DocumentOptions(MediaOptions):
    """Options that formats of documents share."""

    media: MediaKind = "images"  # none: only where pictures are, by their addresses

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.media not in ("images", "none"):
            raise ValueError(f"a document has images or none, not media: {self.media}")

    @property
    def documents(self) -> bool:
        """Whether samples are documents."""
        return True

    @property
    def caption_rule(self) -> str:
        """Which caption is the text of a document without any, behind its pictures; none unless one is asked for."""
        return self.caption or ("first" if self.caption_origins or self.caption_languages else "none")

    def wanted(self, *, same_number: bool = False) -> WantedMedia | None:  # noqa: ARG002
        """No requirement: a document may be all text."""
        return None


MOST_SHOWN_BYTES: Final = 64 << 20
"""Bytes of pictures that a document may have by repeating some: a page may show a large one a thousand times."""


class Part(NamedTuple):
    """A text, or a picture by its number among the sample's media."""

    text: str | None
    picture: int = -1
    url: str | None = None
    alt: str | None = None


def documents_in(block: pa.RecordBatch, options: DocumentOptions) -> Iterator[Sequence[Part]]:
    """The parts of each row's document, in reading order. Row by row, as JSON is written: pictures outweigh this."""
    texts, captions = block.column("text").to_pylist(), [None] * len(block)
    if options.caption_rule != "none":
        captions = filled_texts(block, options).to_pylist()
    for text, caption, nodes in zip(texts, captions, block.column("nodes").to_pylist(), strict=True):
        utf8 = (text or "").encode()
        said: list[Part] = [Part(caption)] if text is None and caption else []
        yield [*(_part(utf8, node) for node in nodes), *said]


def copied_documents_in(block: pa.RecordBatch, options: DocumentOptions) -> Iterator[Sequence[Part]]:
    """The same, for a format that writes a picture wherever it is shown: one that would take more than
    `MOST_SHOWN_BYTES` of pictures shows each once, where it is first."""
    media = block.column("media")
    sizes = sizes_of_media(media.flatten())
    counts = pc.list_value_length(media).to_numpy(zero_copy_only=False)
    firsts = (np.cumsum(counts) - counts).tolist()
    for parts, first in zip(documents_in(block, options), firsts, strict=True):
        shown = [one.picture for one in parts if one.text is None] if options.wants_media else []
        yield parts if sum(sizes[first + one] for one in shown) <= MOST_SHOWN_BYTES else _each_once(parts)


def _each_once(parts: Sequence[Part]) -> list[Part]:
    """The parts without pictures that were shown before."""
    firsts = {one.picture: place for place, one in reversed(list(enumerate(parts))) if one.text is None}
    return [one for place, one in enumerate(parts) if one.text is not None or firsts[one.picture] == place]


def _part(utf8: bytes, node: Mapping[str, Any]) -> Part:
    if node["kind"] == "text":
        return Part(utf8[node["start"] : node["end"]].decode())
    return Part(None, node["item"], node["url"], node["alt"])
