"""Reads what an XMP packet says about rights, origin and use.

Properties are found wherever RDF may put them: as attributes or elements of a description, in sequences, in
alternatives of languages, in structures. A packet is parsed without entities and without a document type. One that
cannot be parsed but names a reservation counts as one.
"""

import re
from collections.abc import Iterator
from typing import Final

from lxml import etree

from winnow.filters.image.metadata.statements import (
    ALLOWED,
    CONSTRAINED,
    MALFORMED,
    NOT_ALLOWED,
    Facts,
    Purpose,
    Statement,
    Use,
    shortened,
)

_RDF: Final = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
_DC: Final = "http://purl.org/dc/elements/1.1/"
_TERMS: Final = "http://purl.org/dc/terms/"
_RIGHTS: Final = "http://ns.adobe.com/xap/1.0/rights/"
_PHOTOSHOP: Final = "http://ns.adobe.com/photoshop/1.0/"
_PLUS: Final = "http://ns.useplus.org/ldf/xmp/1.0/"
_IPTC: Final = "http://iptc.org/std/Iptc4xmpExt/2008-02-29/"
_EXIF: Final = "http://ns.adobe.com/exif/1.0/"
_CC: Final = ("http://creativecommons.org/ns#", "http://web.resource.org/cc/")
_TDM: Final = "http://www.w3.org/ns/tdmrep/"

_CREATOR: Final = (f"{{{_DC}}}creator",)
_COPYRIGHT: Final = (f"{{{_DC}}}rights",)
_CREDIT: Final = (f"{{{_PHOTOSHOP}}}Credit",)
_TERMS_OF_USE: Final = (f"{{{_RIGHTS}}}UsageTerms",)
_MARKED: Final = (f"{{{_RIGHTS}}}Marked",)
_SOURCE_TYPE: Final = (f"{{{_IPTC}}}DigitalSourceType",)
_LOCATION: Final = (f"{{{_EXIF}}}GPSLatitude",)
_LICENCE: Final = (  # the first that is there
    f"{{{_CC[0]}}}license",
    f"{{{_CC[1]}}}license",
    f"{{{_TERMS}}}license",
    f"{{{_RIGHTS}}}WebStatement",
    f"{{{_PLUS}}}LicensorURL",
)
_MINING: Final = f"{{{_PLUS}}}DataMining"
_RESERVATION: Final = (f"{{{_TDM}}}reservation", f"{{{_TDM}}}tdm-reservation")

_EVERYTHING: Final[tuple[Purpose, ...]] = ("data_mining", "ai_training", "ai_generative_training")
_DATA_MINING: Final[dict[str, tuple[tuple[Purpose, ...], Use] | None]] = {  # PLUS's vocabulary; None says nothing
    "DMI-UNSPECIFIED": None,
    "DMI-ALLOWED": (_EVERYTHING, ALLOWED),
    "DMI-PROHIBITED-AIMLTRAINING": (("ai_training", "ai_generative_training"), NOT_ALLOWED),
    "DMI-PROHIBITED-GENAIMLTRAINING": (("ai_generative_training",), NOT_ALLOWED),
    "DMI-PROHIBITED-EXCEPTSEARCHENGINEINDEXING": (_EVERYTHING, NOT_ALLOWED),
    "DMI-PROHIBITED": (_EVERYTHING, NOT_ALLOWED),
    "DMI-PROHIBITED-SEECONSTRAINT": (_EVERYTHING, CONSTRAINED),
    "DMI-PROHIBITED-SEEEMBEDDEDRIGHTSEXPR": (_EVERYTHING, CONSTRAINED),
}
_NAMES_RESERVATION: Final = re.compile(rb"DataMining|DMI-PROHIBITED|tdmrep/")
_PACKET: Final = re.compile(rb"<\?xpacket[^>]*\?>")
_MOST_ELEMENTS: Final = 20_000
_MOST_STATEMENTS: Final = 64


def xmp_facts(packet: bytes) -> Facts:
    """What a packet says."""
    facts = Facts()
    root = _parsed(packet)
    if root is None:
        if _NAMES_RESERVATION.search(packet):
            facts.statements.append(Statement("xmp", "packet", "", _EVERYTHING, MALFORMED))
        return facts
    found: dict[str, list[str]] = {}
    for count, (name, values) in enumerate(_properties(root)):
        if count >= _MOST_ELEMENTS:
            break
        found.setdefault(name, []).extend(values)

    def first(names: tuple[str, ...]) -> str | None:
        return next((value for name in names for value in found.get(name, ()) if value), None)

    facts.creator = shortened("; ".join(dict.fromkeys(found.get(_CREATOR[0], ()))))
    facts.copyright, facts.credit, facts.usage_terms = first(_COPYRIGHT), first(_CREDIT), first(_TERMS_OF_USE)
    facts.licence = first(_LICENCE)
    facts.marked = {"true": True, "false": False}.get((first(_MARKED) or "").lower())
    source_type = first(_SOURCE_TYPE)
    facts.source_type = None if source_type is None else source_type.rstrip("/").rsplit("/", 1)[-1]
    facts.location = first(_LOCATION) is not None
    facts.statements += [_mining(value) for value in found.get(_MINING, ())[:_MOST_STATEMENTS] if _says(value)]
    for name in _RESERVATION:
        facts.statements += [_reservation(value) for value in found.get(name, ())[:_MOST_STATEMENTS]]
    return facts


def _parsed(packet: bytes) -> etree._Element | None:
    """The packet's tree, unless it is not well formed or brings a document type."""
    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False)
    try:
        root = etree.fromstring(_PACKET.sub(b"", packet).strip(b"\0 \t\r\n"), parser)
    except (etree.XMLSyntaxError, ValueError):
        return None
    return None if root.getroottree().docinfo.doctype else root


def _properties(root: etree._Element) -> Iterator[tuple[str, list[str]]]:
    """Names and values of attributes and elements. An element's value is its text, a resource, or its items'."""
    for element in root.iter(etree.Element):
        yield str(element.tag), _values(element)
        for name, value in element.attrib.items():
            text = shortened(str(value))
            if text and not str(name).startswith(f"{{{_RDF}}}"):
                yield str(name), [text]


def _values(element: etree._Element) -> list[str]:
    resource = element.get(f"{{{_RDF}}}resource")
    if resource is not None:
        return [text for text in [shortened(str(resource))] if text]
    items = [item for kind in ("Seq", "Bag", "Alt") for item in element.findall(f"{{{_RDF}}}{kind}/{{{_RDF}}}li")]
    default = [item for item in items if item.get("{http://www.w3.org/XML/1998/namespace}lang") == "x-default"]
    held = (default or items)[:_MOST_STATEMENTS] if items else [element]
    texts = (one.get(f"{{{_RDF}}}resource") or one.text or "" for one in held)
    return [text for text in map(shortened, map(str, texts)) if text]


def _term(value: str) -> str:
    return value.rstrip("/").rsplit("/", 1)[-1].strip().upper()


def _says(value: str) -> bool:
    return _DATA_MINING.get(_term(value), ()) is not None


def _mining(value: str) -> Statement:
    purposes, use = _DATA_MINING.get(_term(value)) or (_EVERYTHING, MALFORMED)
    return Statement("xmp", "plus:DataMining", value, purposes, use)


def _reservation(value: str) -> Statement:
    use: Use = ALLOWED if value == "0" else NOT_ALLOWED if value == "1" else MALFORMED
    return Statement("xmp", "tdm:reservation", value, _EVERYTHING, use)
