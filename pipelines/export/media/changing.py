"""Changes pictures for an export: several are decoded together, in the shared decoding process.

Each is encoded as soon as it is decoded, so only one picture's pixels are held beside the shared room.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from winnow.filters.image.changes.change import Changed, UnchangeableError, change, decoded_side
from winnow.filters.image.changes.options import PictureChanges
from winnow.filters.image.changes.pixels import Box
from winnow.filters.image.decode.stills import DecodeLimits, Still, UndecodableError
from winnow.pipelines.decoding.isolation import CRASHED, Room
from winnow.pipelines.running.ledger.crashes import CrashedPictures

__all__ = ["ToChange", "change_pictures"]


@dataclass(frozen=True, slots=True)
class ToChange:
    """A picture to change: its whole file, and facts about it."""

    content: bytes
    sha256: str
    mime: str
    faces: Sequence[Box] = ()  # of any score


def change_pictures(
    pictures: Sequence[ToChange], changes: PictureChanges, limits: DecodeLimits, crashed: CrashedPictures | None = None
) -> Iterator[Changed | UnchangeableError]:
    """Yields each picture changed, or why it cannot be, in order.

    `pictures` may be held at once; `limits` apply to each. `crashed` holds pictures not to decode again, and collects
    new ones.
    """
    known = set() if crashed is None else {one.sha256 for one in pictures if one.sha256 in crashed}
    decoded = [one for one in pictures if changes.encodes and one.sha256 not in known]
    sides = [decoded_side(one.content, one.mime, changes) for one in decoded]
    decoding = Room(limits).decode_all([(one.content, one.mime) for one in decoded], sides) if decoded else iter(())
    for one in pictures:
        found: Still | UndecodableError | None = None
        if one.sha256 in known:
            found = UndecodableError(CRASHED, "it has killed processes before")
        elif changes.encodes:
            found = next(decoding)
            if isinstance(found, UndecodableError) and found.reason == CRASHED and crashed is not None:
                crashed.add(one.sha256, found.detail)
        try:
            yield change(one.content, one.mime, changes, limits, found, one.faces)
        except UnchangeableError as error:
            yield error
