"""What becomes of media that are none, in every source: the row stays for what else it has, and says why.

An entry that is empty, is a text, cannot be found or leads outside stays an item of its row, in its place, with a type
that operators look at no further; `metadata.unread` says what is wrong with it. A row without any usable medium and
without a text of its own is quarantined for the first of its flaws: captions alone are captions of nothing.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from winnow.pipelines.ingest.records import Record, Unreadable
from winnow.schemas.identity import Json

UNREAD: Final = "unread"  # metadata: what a row has besides and says nothing usable, and why


def without_media(record: Record, flaws: Sequence[Unreadable | None]) -> Unreadable | None:
    """Why a row is quarantined: none of its media is usable, and it has no text. None if it stays.

    Args:
        record: The row.
        flaws: What is wrong with each of its items.
    """
    first = next((flaw for flaw in flaws if flaw is not None), None)
    stays = first is None or not all(flaws) or record.text is not None
    return None if stays or first is None else replace(first, key=record.key)


def with_unread(metadata: dict[str, Json], named: Mapping[str, str]) -> None:
    """Adds to a row's metadata why what has these names says nothing usable."""
    if named:
        before = metadata.get(UNREAD)
        metadata[UNREAD] = {**(before if isinstance(before, dict) else {}), **named}


def unread_of(metadata: Json, items: int) -> list[tuple[str, str]]:
    """What a row has besides that says nothing usable, and why.

    Args:
        metadata: The row's.
        items: How many media it has: without any, the key is a column of the source's own.
    """
    named = metadata.get(UNREAD) if items and isinstance(metadata, dict) else None
    return [(name, why) for name, why in named.items() if isinstance(why, str)] if isinstance(named, dict) else []
