"""Reads IPTC's older form of metadata (IIM), which lie in Photoshop's image resources.

Datasets of the record for applications: creator, credit, copyright notice. Texts are UTF-8 where the file says so or
where they can be read as such, Latin 1 otherwise.
"""

import struct
from collections.abc import Iterator
from typing import Final

from winnow.filters.image.metadata.statements import Facts, shortened

_RESOURCE: Final = 0x0404
_APPLICATION: Final = 2
_CREATOR, _CREDIT, _COPYRIGHT = 80, 110, 116
_MOST_PARTS: Final = 4096


def iptc_of_resources(resources: bytes) -> bytes | None:
    """The IPTC data in a block of Photoshop's image resources."""
    at = 0
    for _ in range(_MOST_PARTS):
        if resources[at : at + 4] != b"8BIM" or at + 7 > len(resources):
            return None
        (kind,) = struct.unpack(">H", resources[at + 4 : at + 6])
        at += 6 + (resources[at + 6] + 2 & ~1)  # a name with its length, padded
        if at + 4 > len(resources):
            return None
        (size,) = struct.unpack(">I", resources[at : at + 4])
        if kind == _RESOURCE:
            return resources[at + 4 : at + 4 + size]
        at += 4 + (size + 1 & ~1)
    return None


def iptc_facts(data: bytes) -> Facts:
    """What IPTC data say."""
    facts = Facts()
    creators: list[str] = []
    for record, dataset, value in _datasets(data):
        if record != _APPLICATION:
            continue
        text = shortened(_text(value))
        if dataset == _CREATOR and text:
            creators.append(text)
        elif dataset == _CREDIT:
            facts.credit = facts.credit or text
        elif dataset == _COPYRIGHT:
            facts.copyright = facts.copyright or text
    facts.creator = shortened("; ".join(creators))
    return facts


def _datasets(data: bytes) -> Iterator[tuple[int, int, bytes]]:
    at = 0
    for _ in range(_MOST_PARTS):
        if at + 5 > len(data) or data[at] != 0x1C:
            return
        record, dataset, size = struct.unpack(">BBH", data[at + 1 : at + 5])
        if size & 0x8000:  # longer than any text that is looked for
            return
        yield record, dataset, data[at + 5 : at + 5 + size]
        at += 5 + size


def _text(value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError:
        return value.decode("latin-1")
