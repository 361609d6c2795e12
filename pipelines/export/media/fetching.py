"""Reads the media that an export writes, and changes pictures as its options say.

A sample whose media cannot be had as asked is left out and counted with a reason; it never fails an export. A medium
that is larger than a block, keeps its bytes and lies plain in its file stays a reference: the task that writes its
shard copies it from there.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, field
from typing import Any, Final

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from winnow.filters.image.changes.change import Decoder, UnchangeableError, change
from winnow.filters.image.changes.options import PictureChanges
from winnow.filters.image.changes.pixels import Box
from winnow.filters.image.decode.stills import DecodeLimits, Still, UndecodableError
from winnow.pipelines.export.places.manifest import FACES_UNMEASURED, MEDIA_GONE, MEDIA_UNCHANGEABLE
from winnow.pipelines.media.isolation import CRASHED, decode_isolated
from winnow.pipelines.media.pictures import PictureSource
from winnow.pipelines.media.references import MediaFinder, Unavailable, lies_plain
from winnow.pipelines.running.ledger.crashes import CrashedPictures
from winnow.schemas.identity import canonical_json
from winnow.schemas.rows.draws import MIXED

__all__ = [
    "LARGE_BYTES",
    "Asked",
    "Fetched",
    "Lacking",
    "fetch_media",
    "lacking_of",
    "marked",
    "mixed_medium",
    "sums_of_items",
    "sums_of_lists",
]

_MARK: Final = "left out"
"""The modality of a row on its way that is to be left out; its metadata say why."""

LARGE_BYTES: Final = 8 << 20


@dataclass(frozen=True, slots=True)
class Lacking:
    """Why a sample is left out."""

    reason: str  # as in the ledger
    file: str
    detail: str


@dataclass(frozen=True, slots=True)
class Fetched:
    """The media of consecutive rows, and for each row why it lacks one."""

    rows: slice
    media: pa.Array
    lacking: tuple[Lacking | None, ...]


@dataclass(frozen=True)
class Asked:
    """The media that are wanted: those of some rows of one source, each perhaps changed.

    Attributes:
        source: The rows' source.
        references: The items of each row (`winnow.schemas.rows.samples.MEDIA`).
        changes: What is done to pictures.
        faces: The boxes that `image.faces` found in each item of each row, where faces are to be blurred; null where it
            has no value.
        crashed: The pictures that are not to be decoded again, and where more of them are noted.
    """

    source: str
    references: pa.Array
    changes: PictureChanges = field(default_factory=PictureChanges)
    faces: pa.Array | None = None
    crashed: CrashedPictures | None = None

    def boxes(self, row: int, item: int) -> list[Box] | None:
        """The faces of an item; None where they were not measured."""
        of_row = None if self.faces is None else self.faces[row].as_py()
        of_item = None if of_row is None or item >= len(of_row) else of_row[item]
        return None if of_item is None else [Box(*box) for box in of_item]


def fetch_media(sources: PictureSource, asked: Asked, which: NDArray[np.int64], max_bytes: int) -> Iterator[Fetched]:
    """Reads the media of these rows in order; a part ends with the row that reaches the byte limit.

    Consecutive repeats of a row are read once.
    """
    found: list[list[dict[str, Any]]] = []
    lacking: list[Lacking | None] = []
    held, first = 0, 0

    def fetched(end: int) -> Fetched:
        return Fetched(slice(first, end), pa.array(found, MIXED.field("media").type), tuple(lacking))

    with closing(MediaFinder(sources.media, asked.source)) as finder:
        before = -1
        of_row: list[dict[str, Any]] = []
        why: Lacking | None = None
        for at, row in enumerate(which.tolist()):  # each reads a file
            if row != before:
                of_row, why = _media_of(finder, sources, asked, row)
                before = row
            found.append(of_row)
            lacking.append(why)
            held += sum(len(one["bytes"] or b"") for one in of_row)
            if held > max_bytes:
                yield fetched(at + 1)
                found, lacking, held, first = [], [], 0, at + 1
    if found:
        yield fetched(len(which))


def _media_of(
    finder: MediaFinder, sources: PictureSource, asked: Asked, row: int
) -> tuple[list[dict[str, Any]], Lacking | None]:
    """All media of a row, or none of them and the reason."""
    found: list[dict[str, Any]] = []
    for item, one in enumerate(asked.references[row].as_py()):
        held = _medium(finder, sources, asked, row, item, one)
        if isinstance(held, Lacking):
            return [], held
        found.append(held)
    return found, None


def _medium(
    finder: MediaFinder, sources: PictureSource, asked: Asked, row: int, item: int, one: Mapping[str, Any]
) -> dict[str, Any] | Lacking:
    path = one["ref"]["path"]
    is_picture = one["mime"].startswith("image/") and asked.changes.changes_bytes
    if not is_picture and one["ref"]["length"] > LARGE_BYTES and lies_plain(one["ref"]):
        return mixed_medium(one) | {"sha256": one["sha256"], "ref": canonical_json(one["ref"])}
    read = finder.find(one)
    if isinstance(read, Unavailable):
        return Lacking(MEDIA_GONE, read.file, read.reason)
    known = mixed_medium(one) | read
    if not is_picture:
        return known
    faces = asked.boxes(row, item) if asked.changes.blur_faces is not None else []
    if faces is None:  # null is never safe
        return Lacking(FACES_UNMEASURED, path, "image.faces has no value for it")
    decoder = _remembering(asked.crashed, read["sha256"])
    try:
        changed = change(read["bytes"], one["mime"], asked.changes, sources.limits, decoder, faces)
    except UnchangeableError as error:
        return Lacking(MEDIA_UNCHANGEABLE, path, error.reason)
    return known | {
        "mime": changed.mime,
        "sha256": changed.sha256,
        "bytes": changed.content,
        "width": changed.width or None,
        "height": changed.height or None,
    }


def _remembering(crashed: CrashedPictures | None, sha256: str) -> Decoder:
    """Decodes one picture, whose death costs no worker, and no second try."""

    def decoded(content: bytes, mime: str, limits: DecodeLimits, side: int | None) -> Still:
        if crashed is not None and sha256 in crashed:
            raise UndecodableError(CRASHED, "it has killed processes before")
        try:
            return decode_isolated(content, mime, limits, side)
        except UndecodableError as error:
            if error.reason == CRASHED and crashed is not None:
                crashed.add(sha256, error.detail)
            raise

    return decoded


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


def marked(lacking: Sequence[Lacking | None], modality: pa.Array, metadata: pa.Array) -> dict[str, pa.Array]:
    """The columns that say which rows are to be left out, and why."""
    if not any(lacking):
        return {}
    out = pa.array([one is not None for one in lacking])
    said = pa.array([canonical_json(asdict(one)) if one is not None else None for one in lacking], pa.string())
    return {"modality": pc.if_else(out, _MARK, modality), "metadata": pc.if_else(out, said, metadata)}


def lacking_of(modality: pa.Array, metadata: pa.Array) -> dict[int, Lacking]:
    """The marked rows, by number."""
    rows = np.flatnonzero(np.asarray(pc.equal(modality, _MARK)))
    return {int(row): Lacking(**orjson.loads(metadata[row].as_py())) for row in rows.tolist()}


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
