"""Changes pictures for an export, some at a time: they are decoded together in the process that decodes for others.

Each is encoded as soon as it is decoded, so the pixels of one picture are held beside those of the room they share.
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
    """A picture that is to be changed: its whole file, and what is known of it."""

    content: bytes
    sha256: str
    mime: str
    faces: Sequence[Box] = ()  # of any score


def change_pictures(
    pictures: Sequence[ToChange], changes: PictureChanges, limits: DecodeLimits, crashed: CrashedPictures | None = None
) -> Iterator[Changed | UnchangeableError]:
    """Yields each picture changed, or why it cannot be, in order.

    Args:
        pictures: As many as may be held at once.
        changes: What is done to each.
        limits: What decoding one may cost.
        crashed: The pictures that are not to be decoded again, and where more of them are noted.
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
