"""The parts of an image file: segments of JPEG, chunks of PNG and RIFF, directories of TIFF, boxes of ISO base media.

One walk for each container, for whoever looks for a size, an orientation, frames or metadata. A file is a claim:
nothing is allocated by what it says, and a walk ends with `UnreadableError` where the file does, where it makes no
sense, and after a number of looks that the caller sets, so a file of any size and content costs about the same.
"""

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple, Protocol

__all__ = [
    "FRAME_MARKERS",
    "MOST_LOOKS",
    "TIFF_TEXT",
    "Bytes",
    "CutError",
    "HeldBytes",
    "Part",
    "Segments",
    "UnreadableError",
    "Walk",
    "boxes",
    "boxes_at",
    "gif_blocks",
    "jpeg_segments",
    "png_chunks",
    "riff_chunks",
    "tiff_entries",
    "tiff_following",
    "tiff_numbers",
    "tiff_order",
    "tiff_start",
    "tiff_values",
    "with_segments",
]

MOST_LOOKS: Final = 4096  # segments, chunks, boxes or entries; a photograph has some dozens

FRAME_MARKERS: Final = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}  # tables and an extension lie between them
_BARE: Final = frozenset((0x01, *range(0xD0, 0xD9)))  # markers without a segment
_FILL, _END, _SCAN = 0xFF, 0xD9, 0xDA
_TIFF_SIZES: Final = {3: 2, 4: 4, 5: 8, 8: 2, 9: 4, 10: 8, 11: 4, 12: 8, 13: 4, 16: 8, 17: 8, 18: 8}  # of values
_TIFF_NUMBERS: Final = {1: "B", 3: "H", 4: "I", 16: "Q"}
_MOST_TIFF_LIST: Final = 1 << 20  # bytes
TIFF_TEXT: Final = b"s"
_TIFF_KINDS: Final = {2: TIFF_TEXT, **{kind: layout.encode() for kind, layout in _TIFF_NUMBERS.items()}}


class Bytes(Protocol):
    """Random access to a file's bytes."""

    @property
    def size(self) -> int:
        """How many there are."""
        ...

    def at(self, offset: int, count: int) -> bytes:
        """Some of them; fewer only at the end."""
        ...


@dataclass(frozen=True, slots=True)
class HeldBytes:
    """Bytes in memory; of JPEG perhaps with its segments, which are then walked through once for all who ask."""

    content: bytes
    segments: "Segments | None" = None

    @property
    def size(self) -> int:
        """How many there are."""
        return len(self.content)

    def at(self, offset: int, count: int) -> bytes:
        """Some of them."""
        return self.content[offset : offset + count]


class UnreadableError(Exception):
    """The file ends early, is not what its format demands, or takes too many looks."""


class CutError(UnreadableError):
    """The file ends before what was looked for."""


class Part(NamedTuple):
    """A part of a file: its kind, and the range of its content."""

    kind: bytes
    start: int
    size: int


class Walk:
    """Looks at a file's bytes, a bounded number of times.

    Args:
        image: The file.
        most_looks: How often it is looked at.
    """

    def __init__(self, image: Bytes, most_looks: int = MOST_LOOKS) -> None:
        self._image = image
        self.left = most_looks
        self.size = image.size
        self.segments = image.segments if isinstance(image, HeldBytes) else None

    def at(self, offset: int, count: int) -> bytes:
        """A few bytes: all of them, or the walk ends."""
        self.left -= 1
        if self.left < 0:
            raise UnreadableError
        found = self._image.at(offset, count)
        if len(found) < count:
            raise CutError
        return found

    def count(self, looks: int) -> None:
        """Count looks, or end the walk."""
        self.left -= looks
        if self.left < 0:
            raise UnreadableError

    def unpack(self, layout: str, offset: int) -> tuple[int, ...]:
        """Numbers at a place."""
        return struct.unpack(layout, self.at(offset, struct.calcsize(layout)))

    def within(self, part: Part) -> "Walk":
        """A walk through the content of a part; its looks are its own."""
        return Walk(_Range(self._image, part.start, max(min(part.size, self.size - part.start), 0)), self.left)


@dataclass(frozen=True, slots=True)
class _Range:
    """A range of a file's bytes."""

    whole: Bytes
    start: int
    size: int

    def at(self, offset: int, count: int) -> bytes:
        """Some of them."""
        return self.whole.at(self.start + offset, max(min(count, self.size - offset), 0))


@dataclass(frozen=True, slots=True)
class Segments:
    """The segments of a JPEG file before its first scan, and how many looks a walk has left at each, and at its end."""

    parts: tuple[Part, ...]
    looks: tuple[int, ...]
    left: int
    error: UnreadableError | None  # how the walk ended


def with_segments(content: bytes) -> HeldBytes:
    """The bytes of a JPEG file with its segments."""
    walk, error = Walk(HeldBytes(content)), None
    parts, looks = list[Part](), list[int]()
    try:
        for part in _walked_segments(walk):
            parts.append(part)
            looks.append(walk.left)
    except UnreadableError as ended:
        error = ended
    return HeldBytes(content, Segments(tuple(parts), tuple(looks), walk.left, error))


def jpeg_segments(walk: Walk) -> Iterator[Part]:
    """The segments before the first scan, each with its marker as kind."""
    known = walk.segments
    if known is None:
        return _walked_segments(walk)
    if known.error is None and known.left > MOST_LOOKS // 2 and walk.left >= MOST_LOOKS:
        walk.count(MOST_LOOKS - known.left)  # at once: as many again, to look at each, would not end the walk
        return iter(known.parts)
    return _known_segments(walk, known)


def _known_segments(walk: Walk, known: Segments) -> Iterator[Part]:
    left = MOST_LOOKS
    for part, then in zip(known.parts, known.looks, strict=True):
        walk.count(left - then)
        left = then
        yield part
    if known.error is not None:
        raise known.error
    walk.count(left - known.left)


def _walked_segments(walk: Walk) -> Iterator[Part]:
    at = 2
    while True:
        head = walk.at(at, 4 if at + 4 <= walk.size else 2)  # a marker and, of most, a length
        marker = head[1]
        if head[0] != _FILL or marker in (_END, _SCAN):
            return
        if marker == _FILL:  # padding
            at += 1
        elif marker in _BARE:
            at += 2
        else:
            walk.count(1)
            if len(head) < 4:
                raise CutError
            length = int.from_bytes(head[2:])
            if length < 2:
                return
            yield Part(head[1:2], at + 4, length - 2)
            at += 2 + length


def png_chunks(walk: Walk) -> Iterator[Part]:
    """The chunks of a PNG file, to its end or a cut."""
    at = 8
    while at + 8 <= walk.size:
        length, kind = struct.unpack(">I4s", walk.at(at, 8))
        yield Part(kind, at + 8, length)
        at += 12 + length


def riff_chunks(walk: Walk) -> Iterator[Part]:
    """The chunks of a WebP file that its own length announces; the walk ends in one that the file cuts."""
    (length,) = walk.unpack("<I", 4)
    at = 12
    while at + 8 <= min(walk.size, 8 + length):
        kind, size = struct.unpack("<4sI", walk.at(at, 8))
        yield Part(kind, at + 8, size)
        at += 8 + size + (size & 1)
    if at > walk.size:
        raise UnreadableError


def gif_blocks(walk: Walk) -> Iterator[Part]:
    """The blocks of a GIF file: frames, of kind `,`, and extensions, of kind `!` with their label."""
    at = _after_colours(walk, 10, 13)
    while at < walk.size:  # a file may lack its end
        kind = walk.at(at, 1)
        if kind == b"!":
            end = _after_chain(walk, at + 2)
            yield Part(walk.at(at, 2), at + 2, end - at - 2)
        elif kind == b",":
            end = _after_chain(walk, _after_colours(walk, at + 9, at + 10) + 1)
            yield Part(kind, at + 1, end - at - 1)
        elif kind == b";":
            return
        else:
            raise UnreadableError
        at = end


def _after_colours(walk: Walk, flags_at: int, at: int) -> int:
    """The place after a table of colours, if the flags announce one."""
    (flags,) = walk.at(flags_at, 1)
    return at + (3 << (flags & 7) + 1 if flags & 0x80 else 0)


def _after_chain(walk: Walk, at: int) -> int:
    """The place after a chain of blocks, each with its length before it."""
    while True:
        (length,) = walk.at(at, 1)
        at += 1 + length
        if not length:
            return at


def tiff_start(walk: Walk) -> int:
    """Where the first directory of a classic or big TIFF file, or of EXIF data, is."""
    order, big = _tiff_kind(walk)
    (at,) = walk.unpack(f"{order}Q", 8) if big else walk.unpack(f"{order}I", 4)
    return at


def tiff_numbers(walk: Walk, at: int, tags: tuple[int, ...]) -> dict[int, int]:
    """What the directory at a place says of some tags: the first value of each that is a whole number."""
    order, start, count, step = _directory(walk, at)
    found: dict[int, int] = {}
    for index in range(count):
        tag, kind = walk.unpack(f"{order}HH", start + index * step)
        if tag in tags and kind in _TIFF_NUMBERS and tag not in found:
            (found[tag],) = walk.unpack(order + _TIFF_NUMBERS[kind], start + index * step + (12 if step == 20 else 8))
            if len(found) == len(tags):
                break
    return found


def tiff_following(walk: Walk, at: int) -> int:
    """Where the directory is that follows the one at a place; 0 after the last."""
    order, start, count, step = _directory(walk, at)
    (following,) = walk.unpack(order + ("Q" if step == 20 else "I"), start + count * step)
    return following


def _directory(walk: Walk, at: int) -> tuple[str, int, int, int]:
    """The order of bytes, and the entries of a directory: the place of the first, how many, and the bytes of each."""
    order, big = _tiff_kind(walk)
    (count,) = walk.unpack(order + ("Q" if big else "H"), at)
    return order, at + (8 if big else 2), count, 20 if big else 12


def tiff_entries(walk: Walk, at: int) -> Iterator[tuple[int, Part]]:
    """The tags of the directory of a TIFF file or EXIF data at a place, each with where its values are.

    The kind of a part is the layout of its whole numbers or characters for `struct`, or empty.
    """
    order, start, count, step = _directory(walk, at)
    pointer = "Q" if step == 20 else "I"
    held = struct.calcsize(pointer)
    for entry in range(start, start + count * step, step):
        tag, kind = walk.unpack(f"{order}HH", entry)
        (values,) = walk.unpack(order + pointer, entry + 4)
        size = values * _TIFF_SIZES.get(kind, 1)
        place = entry + 4 + held
        if size > held:
            (place,) = walk.unpack(order + pointer, place)
        yield tag, Part(_TIFF_KINDS.get(kind, b""), place, size)


def tiff_values(walk: Walk, part: Part) -> tuple[int, ...]:
    """All whole numbers of a tag, such as the places of strips; none of a list that is too long to be read."""
    layout = part.kind.decode()
    if part.kind in (b"", TIFF_TEXT) or part.size > _MOST_TIFF_LIST:
        return ()
    return walk.unpack(f"{tiff_order(walk)}{part.size // struct.calcsize(layout)}{layout}", part.start)


def tiff_order(walk: Walk) -> str:
    """The order of bytes of a TIFF file, for `struct`."""
    return _tiff_kind(walk)[0]


def _tiff_kind(walk: Walk) -> tuple[str, bool]:
    """The order of its bytes, for `struct`, and whether its offsets have 64 bits."""
    order = {b"II": "<", b"MM": ">"}.get(walk.at(0, 2))
    if order is None:
        raise UnreadableError
    (version,) = walk.unpack(f"{order}H", 2)
    return order, version == 43


def boxes(walk: Walk, start: int = 0, size: int | None = None) -> Iterator[Part]:
    """The boxes in a range of a file of ISO base media; a box that does not fit is the end."""
    at, end = start, walk.size if size is None else start + size
    while at + 8 <= end:
        length, kind = struct.unpack(">I4s", walk.at(at, 8))
        content = at + 8
        if length == 1:
            (length,) = walk.unpack(">Q", content)
            content += 8
        stop = end if length == 0 else at + length
        if stop < content or stop > end:
            return
        yield Part(kind, content, stop - content)
        at = stop


def boxes_at(walk: Walk, *path: bytes) -> Iterator[Part]:
    """All boxes under a path of kinds. Four bytes of version and flags begin the content of `meta`."""
    ranges: Iterator[Part] = iter((Part(b"", 0, walk.size),))
    for kind in path:
        ranges = _boxes_within(walk, ranges, kind)
    return ranges


def _boxes_within(walk: Walk, ranges: Iterator[Part], kind: bytes) -> Iterator[Part]:
    for whole in ranges:
        skipped = 4 if whole.kind == b"meta" else 0
        yield from (box for box in boxes(walk, whole.start + skipped, whole.size - skipped) if box.kind == kind)
