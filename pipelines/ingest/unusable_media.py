"""What happens to items that are not media, in every source: the row stays for its other content, and says why.

An entry that is empty, is a text, cannot be found or leads outside stays an item of its row, in its place, with a type
that operators ignore; `metadata.unread` says what is wrong. A row without usable media and without its own text is
quarantined for its first error: captions alone describe nothing.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from winnow.pipelines.ingest.records import Record, Unreadable
from winnow.schemas.identity import Json

UNREAD: Final = "unread"  # metadata: what a row has besides and says nothing usable, and why


def without_media(record: Record, flaws: Sequence[Unreadable | None]) -> Unreadable | None:
    """Why a row is quarantined, given its items' errors: no usable medium and no text. None if it stays."""
    first = next((flaw for flaw in flaws if flaw is not None), None)
    stays = first is None or not all(flaws) or record.text is not None
    return None if stays or first is None else replace(first, key=record.key)


def with_unread(metadata: dict[str, Json], named: Mapping[str, str]) -> None:
    """Adds to a row's metadata why these named parts are unusable."""
    if named:
        before = metadata.get(UNREAD)
        metadata[UNREAD] = {**(before if isinstance(before, dict) else {}), **named}


def unread_of(metadata: Json, items: int) -> list[tuple[str, str]]:
    """The unusable parts of a row and why; nothing if it has no `items`: then the key is a column of the source's
    own."""
    named = metadata.get(UNREAD) if items and isinstance(metadata, dict) else None
    return [(name, why) for name, why in named.items() if isinstance(why, str)] if isinstance(named, dict) else []
