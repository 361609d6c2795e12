"""Reads the media that an export writes, and changes pictures as its options say.

A sample whose media are not available as requested is left out and counted with a reason; it never fails an export. A
medium stays a reference if it is larger than a block, keeps its bytes, and is no table cell: the task that writes its
shard copies it. Clips stay references too, and that task cuts them.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import asdict, dataclass, field
from typing import Any, Final, TypeAlias

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from winnow.filters.image.changes.change import ChangedPicture, UnchangeableError, change, decoded_side
from winnow.filters.image.changes.options import PictureChanges
from winnow.filters.image.changes.pixels import Box
from winnow.filters.image.decode.stills import DecodeLimits, Still, UndecodableError
from winnow.filters.video.clips.options import ClipFile
from winnow.pipelines.decoding.decoding_process import BATCH_FILES
from winnow.pipelines.decoding.isolation import CRASHED, PixelBuffer
from winnow.pipelines.export.places.manifest import (
    DOCUMENT_TOO_LARGE,
    FACES_UNMEASURED,
    MEDIA_GONE,
    MEDIA_UNCHANGEABLE,
)
from winnow.pipelines.media.pictures import PictureSource
from winnow.pipelines.media.references import MediaFinder, MediaSources, Unavailable
from winnow.pipelines.running.ledger.crashes import CrashedPictures
from winnow.schemas.identity import canonical_json
from winnow.schemas.rows.draws import MIXED

__all__ = [
    "LARGE_BYTES",
    "MOST_DOCUMENT_BYTES",
    "Fetched",
    "MissingMedia",
    "WantedItems",
    "fetch_media",
    "lacking_of",
    "marked",
    "mixed_medium",
    "sums_of_items",
    "sums_of_lists",
]

_MARK: Final = "left out"
"""The modality of a row on its way that is to be left out; its metadata say why."""

SOURCE: Final = "source"
"""The key of a reference on its way that is of another source than its row."""

LARGE_BYTES: Final = 8 << 20
MOST_DOCUMENT_BYTES: Final = 256 << 20
"""Bytes of the pictures of one document, which are in memory together, some six times (490 MiB took 2.9 GB). A page of
some kilobytes may show a thousand."""

_WAITING_BYTES: Final = 8 << 20  # of files that wait to be changed together, but for a larger one


@dataclass(frozen=True, slots=True)
class MissingMedia:
    """Why a sample is left out."""

    reason: str  # as in the ledger
    file: str
    detail: str


@dataclass(frozen=True, slots=True)
class Fetched:
    """The media of consecutive rows, and for each row why it lacks one."""

    rows: slice
    media: pa.Array
    lacking: tuple[MissingMedia | None, ...]


@dataclass(frozen=True)
class WantedItems:
    """The media wanted from some rows of one source, or that these rows show.

    Attributes:
        references: The items of each row (`winnow.schemas.rows.samples.MEDIA`).
        changes: What is done to pictures.
        faces: The boxes of `image.faces` in each item, where faces are blurred; null if not measured.
        crashed: The pictures not to decode again; new ones are added.
        clips: How parts of videos are written.
        sources: The source of each item, where some are of other rows.
    """

    source: str
    references: pa.Array
    changes: PictureChanges = field(default_factory=PictureChanges)
    faces: pa.Array | None = None
    crashed: CrashedPictures | None = None
    clips: ClipFile = field(default_factory=ClipFile)
    sources: pa.Array | None = None  # of each item, if they are not all of one source; null for `source`

    def sources_of(self, row: int, count: int) -> Sequence[str]:
        """The source of each item of a row."""
        found = None if self.sources is None else self.sources[row].as_py()
        return [self.source] * count if found is None else [one or self.source for one in found]

    def boxes(self, row: int, item: int) -> list[Box] | None:
        """The faces of an item; None where they were not measured."""
        of_row = None if self.faces is None else self.faces[row].as_py()
        of_item = None if of_row is None or item >= len(of_row) else of_row[item]
        return None if of_item is None else [Box(*box) for box in of_item]


def fetch_media(
    sources: PictureSource, asked: WantedItems, which: NDArray[np.int64], max_bytes: int
) -> Iterator[Fetched]:
    """Reads the media of these rows in order; a part ends with the row that reaches the byte limit.

    Consecutive repeats of a row are read once.
    """
    found: list[list[dict[str, Any]]] = []
    lacking: list[MissingMedia | None] = []
    held, first = 0, 0

    def fetched(end: int) -> Fetched:
        return Fetched(slice(first, end), pa.array(found, MIXED.field("media").type), tuple(lacking))

    with ExitStack() as stack:
        finders = Finders(stack, sources.media)
        runs = np.flatnonzero(np.diff(which, prepend=-1))
        rows = which[runs].tolist()
        items = _changed(_items(finders, asked, rows), sources, asked)
        before = -1
        of_row: list[dict[str, Any]] = []
        why: MissingMedia | None = None
        for at, row in enumerate(which.tolist()):
            if row != before:
                of_row, why = _of_row([next(items) for _ in range(len(asked.references[row]))])
                before = row
            found.append(of_row)
            lacking.append(why)
            held += sum(len(one["bytes"] or b"") for one in of_row)
            if held > max_bytes:
                yield fetched(at + 1)
                found, lacking, held, first = [], [], 0, at + 1
    if found:
        yield fetched(len(which))


@dataclass(frozen=True, slots=True)
class ToChange:
    """A picture to change: its whole file, and facts about it."""

    content: bytes
    sha256: str
    mime: str
    faces: Sequence[Box] = ()  # of any score


@dataclass(frozen=True, slots=True)
class _Changing:
    """An item that was read, and is to be changed."""

    known: dict[str, Any]
    path: str
    picture: ToChange


_Item: TypeAlias = dict[str, Any] | MissingMedia


def _of_row(items: Sequence[_Item]) -> tuple[list[dict[str, Any]], MissingMedia | None]:
    """All media of a row, or none of them and the reason."""
    for item in items:
        if isinstance(item, MissingMedia):
            return [], item
    return [item for item in items if not isinstance(item, MissingMedia)], None


class Finders:
    """A finder for each source that is asked for, which keeps its last file open until the stack ends."""

    def __init__(self, stack: ExitStack, sources: MediaSources) -> None:
        self._stack = stack
        self._sources = sources
        self._of: dict[str, MediaFinder] = {}

    def of(self, source: str) -> MediaFinder:
        """The finder of a source."""
        if source not in self._of:
            self._of[source] = self._stack.enter_context(closing(MediaFinder(self._sources, source)))
        return self._of[source]


def _items(finders: Finders, asked: WantedItems, rows: Sequence[int]) -> Iterator[_Item | _Changing]:
    """The media of these rows, read one after the other."""
    for row in rows:
        items = asked.references[row].as_py()
        if (beyond := _beyond(asked, items)) is not None:
            yield from [beyond] * len(items)
            continue
        for item, (one, source) in enumerate(zip(items, asked.sources_of(row, len(items)), strict=True)):
            yield _medium(finders.of(source), asked, row, item, one, {} if source == asked.source else {SOURCE: source})


def _beyond(asked: WantedItems, items: Sequence[Mapping[str, Any]]) -> MissingMedia | None:
    """Why the pictures of a document cannot be held together; None if they can, or become small ones."""
    if asked.sources is None or asked.changes.encodes:
        return None
    total = sum(one["bytes"] or one["ref"]["length"] for one in items)
    if total <= MOST_DOCUMENT_BYTES:
        return None
    return MissingMedia(DOCUMENT_TOO_LARGE, items[0]["ref"]["path"], f"{total:,} bytes of pictures")


def _changed(items: Iterator[_Item | _Changing], sources: PictureSource, asked: WantedItems) -> Iterator[_Item]:
    """The items in order, with pictures changed: as many at a time as are decoded together."""
    waiting: list[_Item | _Changing] = []
    count = held = 0
    for item in items:
        if not waiting and not isinstance(item, _Changing):
            yield item
            continue
        waiting.append(item)
        if isinstance(item, _Changing):
            count, held = count + 1, held + len(item.picture.content)
        elif isinstance(item, dict):
            held += len(item["bytes"] or b"")
        if count == BATCH_FILES or held > _WAITING_BYTES:
            yield from _change_waiting(waiting, sources, asked)
            waiting, count, held = [], 0, 0
    yield from _change_waiting(waiting, sources, asked)


def _change_waiting(
    waiting: Sequence[_Item | _Changing], sources: PictureSource, asked: WantedItems
) -> Iterator[_Item]:
    pictures = [one.picture for one in waiting if isinstance(one, _Changing)]
    changing = change_pictures(pictures, asked.changes, sources.limits, asked.crashed)
    for one in waiting:
        if not isinstance(one, _Changing):
            yield one
            continue
        changed = next(changing)
        if isinstance(changed, UnchangeableError):
            yield MissingMedia(MEDIA_UNCHANGEABLE, one.path, changed.reason)
            continue
        yield one.known | {
            "mime": changed.mime,
            "sha256": changed.sha256,
            "bytes": changed.content,
            "width": changed.width or None,
            "height": changed.height or None,
        }


def _medium(
    finder: MediaFinder, asked: WantedItems, row: int, item: int, one: Mapping[str, Any], other: Mapping[str, str]
) -> _Item | _Changing:
    """A medium; `other` is its source, if that is not its row's."""
    path = one["ref"]["path"]
    if one.get("clip") is not None:  # cut by the task that writes its shard
        part = {"start": one["clip"]["start"], "end": one["clip"]["end"], "file": asked.clips.described()}
        return mixed_medium(one) | {"sha256": one["sha256"], "ref": canonical_json({**one["ref"], "clip": part})}
    is_picture = one["mime"].startswith("image/") and asked.changes.changes_bytes
    if not is_picture and finder.should_copy(one, LARGE_BYTES):
        return mixed_medium(one) | {"sha256": one["sha256"], "ref": canonical_json({**one["ref"], **other})}
    read = finder.find(one)
    if isinstance(read, Unavailable):
        return MissingMedia(MEDIA_GONE, read.file, read.reason)
    known = mixed_medium(one) | read
    if not is_picture:
        return known
    faces = asked.boxes(row, item) if asked.changes.blur_faces is not None else []
    if faces is None:  # null is never safe
        return MissingMedia(FACES_UNMEASURED, path, "image.faces has no value for it")
    return _Changing(known, path, ToChange(read["bytes"], read["sha256"], one["mime"], faces))


def mixed_medium(one: Mapping[str, Any]) -> dict[str, Any]:
    """What a store knows of an item, as a `winnow.schemas.rows.draws.MEDIUM` without its content."""
    sides = {name: one.get(name) for name in ("width", "height")}
    return {
        "mime": one["mime"],
        "sha256": None,
        "bytes": None,
        **sides,
        **{f"original_{name}": side for name, side in sides.items()},
        "ref": None,
        "file": None,
    }


def marked(lacking: Sequence[MissingMedia | None], modality: pa.Array, metadata: pa.Array) -> dict[str, pa.Array]:
    """The columns that say which rows are to be left out, and why."""
    if not any(lacking):
        return {}
    out = pa.array([one is not None for one in lacking])
    reasons = pa.array([canonical_json(asdict(one)) if one is not None else None for one in lacking], pa.string())
    return {"modality": pc.if_else(out, _MARK, modality), "metadata": pc.if_else(out, reasons, metadata)}


def lacking_of(modality: pa.Array, metadata: pa.Array) -> dict[int, MissingMedia]:
    """The marked rows."""
    rows = np.flatnonzero(np.asarray(pc.equal(modality, _MARK)))
    return {int(row): MissingMedia(**orjson.loads(metadata[row].as_py())) for row in rows.tolist()}


def sums_of_lists(media: pa.ListArray, field: Sequence[str]) -> NDArray[np.int64]:
    """For each row, the sum of a field of its media: numbers, or lengths of bytes; null counts as 0."""
    values = pc.struct_field(media.flatten(), list(field))
    return sums_of_items(media, pc.binary_length(values) if pa.types.is_large_binary(values.type) else values)


def sums_of_items(media: pa.ListArray, values: pa.Array) -> NDArray[np.int64]:
    """For each row, the sum of the values of its items; null counts as 0."""
    each = pc.fill_null(values, 0).to_numpy(zero_copy_only=False)
    before = np.concatenate([np.zeros(1, np.int64), np.cumsum(each, dtype=np.int64)])
    counts = pc.list_value_length(media).to_numpy(zero_copy_only=False)
    ends = np.cumsum(counts, dtype=np.int64)
    sums: NDArray[np.int64] = before[ends] - before[ends - counts]
    return sums


def change_pictures(
    pictures: Sequence[ToChange], changes: PictureChanges, limits: DecodeLimits, crashed: CrashedPictures | None = None
) -> Iterator[ChangedPicture | UnchangeableError]:
    """Yields each picture changed, or why it cannot be, in order.

    `pictures` may be held at once; `limits` apply to each. `crashed` holds pictures not to decode again, and collects
    new ones.
    """
    known = set() if crashed is None else {picture.sha256 for picture in pictures if picture.sha256 in crashed}
    decoded = [picture for picture in pictures if changes.encodes and picture.sha256 not in known]
    sides = [decoded_side(one.content, one.mime, changes) for one in decoded]
    decoding = (
        PixelBuffer(limits).decode_all([(one.content, one.mime) for one in decoded], sides) if decoded else iter(())
    )
    for picture in pictures:
        found: Still | UndecodableError | None = None
        if picture.sha256 in known:
            found = UndecodableError(CRASHED, "it has killed processes before")
        elif changes.encodes:
            found = next(decoding)
            if isinstance(found, UndecodableError) and found.reason == CRASHED and crashed is not None:
                crashed.add(picture.sha256, found.detail)
        try:
            yield change(picture.content, picture.mime, changes, limits, found, picture.faces)
        except UnchangeableError as error:
            yield error
