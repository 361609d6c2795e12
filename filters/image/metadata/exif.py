"""Reads the rights facts of EXIF data, and whether they say where a picture was taken."""

from typing import Final

from winnow.filters.image.decode.containers import InMemoryBytes, UnreadableError, Walk, tiff_entries, tiff_start
from winnow.filters.image.metadata.statements import Facts, shortened

_ARTIST: Final = 315
_COPYRIGHT: Final = 33432
_LOCATION: Final = 34853
_MOST_TEXT: Final = 1 << 14


def exif_facts(data: bytes) -> Facts:
    """The facts of EXIF data, which have the layout of a TIFF file; of damaged data, those before the damage."""
    facts = Facts()
    walk = Walk(InMemoryBytes(data))
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
    """A text that should be ASCII; the photographer's and the editor's notices each end with a zero byte."""
    joined = b"; ".join(part.strip() for part in held.split(b"\0") if part.strip())
    try:
        return shortened(joined.decode())
    except UnicodeDecodeError:
        return shortened(joined.decode("latin-1"))
