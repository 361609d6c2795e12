"""What formats of documents share: their options, and each document as texts and pictures in reading order."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import pyarrow as pa

from winnow.pipelines.export.formats.wanted_media import MediaKind, MediaOptions, WantedMedia


@dataclass(frozen=True)
class DocumentOptions(MediaOptions):
    """Options that formats of documents share."""

    media: MediaKind = "images"  # none: only where pictures are, by their addresses

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.media not in ("images", "none"):
            raise ValueError(f"a document has images or none, not media: {self.media}")
        if self.caption is not None or self.caption_languages or self.caption_origins:
            raise ValueError("a document has its own texts and takes no captions; remove 'caption' and its like")

    @property
    def documents(self) -> bool:
        """Whether samples are documents."""
        return True

    @property
    def caption_rule(self) -> Literal["none"]:
        """No caption stands for a missing text."""
        return "none"

    def wanted(self, *, same_number: bool = False) -> WantedMedia | None:  # noqa: ARG002
        """No requirement: a document may be all text."""
        return None


class Part(NamedTuple):
    """A text, or a picture by its number among the sample's media."""

    text: str | None
    picture: int = -1
    url: str | None = None
    alt: str | None = None


def documents_in(block: pa.RecordBatch) -> Iterator[Sequence[Part]]:
    """The parts of each row's document, in reading order. Row by row, as JSON is written: pictures outweigh this."""
    for text, nodes in zip(block.column("text").to_pylist(), block.column("nodes").to_pylist(), strict=True):
        utf8 = (text or "").encode()
        yield [_part(utf8, node) for node in nodes]


def _part(utf8: bytes, node: Mapping[str, Any]) -> Part:
    if node["kind"] == "text":
        return Part(utf8[node["start"] : node["end"]].decode())
    return Part(None, node["item"], node["url"], node["alt"])
