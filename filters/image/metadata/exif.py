"""Reads what EXIF data say about rights, and whether they say where a picture was taken."""

from typing import Final

from winnow.filters.image.decode.containers import HeldBytes, UnreadableError, Walk, tiff_entries, tiff_start
from winnow.filters.image.metadata.statements import Facts, shortened

__all__ = ["exif_facts"]

_ARTIST: Final = 315
_COPYRIGHT: Final = 33432
_LOCATION: Final = 34853
_MOST_TEXT: Final = 1 << 14


def exif_facts(data: bytes) -> Facts:
    """What EXIF data say, which are laid out as a TIFF file; what was read before they end or make no sense."""
    facts = Facts()
    walk = Walk(HeldBytes(data))
    try:
        for tag, part in tiff_entries(walk, tiff_start(walk)):
            if tag == _LOCATION:
                facts.location = True
            elif tag in (_ARTIST, _COPYRIGHT) and part.size <= _MOST_TEXT:
                text = _text(walk.at(part.start, part.size))
                facts.creator = facts.creator or (text if tag == _ARTIST else None)
                facts.copyright = facts.copyright or (text if tag == _COPYRIGHT else None)
    except UnreadableError:
        return facts
    return facts


def _text(held: bytes) -> str | None:
    """A text that should be ASCII; a photographer's and an editor's notice are ended by a zero each."""
    joined = b"; ".join(part.strip() for part in held.split(b"\0") if part.strip())
    try:
        return shortened(joined.decode())
    except UnicodeDecodeError:
        return shortened(joined.decode("latin-1"))
