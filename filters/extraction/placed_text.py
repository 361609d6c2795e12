"""An extracted text, its parts, and the text around a position."""

from dataclasses import dataclass, field

from winnow.schemas.rows.extraction import PartKind

CONTEXT_CHARACTERS = 200


@dataclass(slots=True)
class Parts:
    """The parts of a text in reading order, as columns: UTF-8 byte ranges, which are empty for images."""

    kinds: list[str] = field(default_factory=list)
    starts: list[int] = field(default_factory=list)
    ends: list[int] = field(default_factory=list)
    images: list[int | None] = field(default_factory=list)

    def add(self, kind: PartKind, start: int, end: int, image: int | None = None) -> None:
        """Append a part."""
        self.kinds.append(kind)
        self.starts.append(start)
        self.ends.append(end)
        self.images.append(image)


@dataclass(frozen=True, slots=True)
class PlacedText:
    """A text in UTF-8, and its parts."""

    text: bytes
    parts: Parts


def context(text: bytes, at: int) -> tuple[str | None, str | None]:
    """The text just before and just after a position."""
    room = 4 * CONTEXT_CHARACTERS + 8  # for characters of four bytes, and blank lines
    before = text[max(0, at - room) : at].decode("utf-8", "ignore").rstrip()[-CONTEXT_CHARACTERS:].lstrip()
    after = text[at : at + room].decode("utf-8", "ignore").lstrip()[:CONTEXT_CHARACTERS].rstrip()
    return before or None, after or None
