"""What all metadata of a file say together. Where several say the same thing, XMP goes before IPTC and EXIF."""

from winnow.filters.image.metadata.blocks import BlockLimits, blocks_of
from winnow.filters.image.metadata.c2pa import c2pa_facts
from winnow.filters.image.metadata.exif import exif_facts
from winnow.filters.image.metadata.iptc import iptc_facts
from winnow.filters.image.metadata.statements import Facts
from winnow.filters.image.metadata.xmp import xmp_facts

__all__ = ["facts_of"]


def facts_of(content: bytes, mime: str, limits: BlockLimits) -> Facts:
    """What a file of one of the types in `winnow.filters.image.metadata.blocks.READ` says."""
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
