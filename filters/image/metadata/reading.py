"""The facts of all metadata blocks of a file. Where several state the same fact, XMP outranks IPTC and EXIF."""

from typing import Final

from winnow.filters.image.decode.containers import InMemoryBytes, UnreadableError, Walk, tiff_entries, tiff_start
from winnow.filters.image.metadata.blocks import BlockLimits, blocks_of
from winnow.filters.image.metadata.c2pa import c2pa_facts
from winnow.filters.image.metadata.iptc import iptc_facts
from winnow.filters.image.metadata.statements import Facts, shortened
from winnow.filters.image.metadata.xmp import xmp_facts

_ARTIST: Final = 315
_COPYRIGHT: Final = 33432
_LOCATION: Final = 34853
_MOST_TEXT: Final = 1 << 14


def facts_of(content: bytes, mime: str, limits: BlockLimits) -> Facts:
    """The facts of a file of one of the types in `winnow.filters.image.metadata.blocks.READ`."""
    blocks = blocks_of(content, mime, limits)
    facts = Facts(complete=blocks.complete)
    for packet in blocks.xmp:
        facts.take(xmp_facts(packet))
    if blocks.iptc is not None:
        facts.take(iptc_facts(blocks.iptc))
    if blocks.exif is not None:
        facts.take(exif_facts(blocks.exif))
    if blocks.c2pa is not None:
        facts.take(c2pa_facts(blocks.c2pa, content, limits.max_manifest_bytes))
    return facts


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
