"""Keeps the media of one shard on disk while its rows are sorted, so that memory does not grow with the shard.

Small media are in one file, and read back with their batch. A large one that stayed a reference is copied to its own
file, and checked against its hash, without holding it in memory. Clips are cut from their videos here.
"""

import hashlib
import itertools
import os
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Final

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from winnow.filters.image.decode.containers import Bytes
from winnow.filters.video.clips.cutting import CutClip
from winnow.filters.video.clips.options import ClipFile
from winnow.filters.video.decode.opening import UnwatchableError, VideoLimits
from winnow.filters.video.decode.signal_requests import Clip
from winnow.pipelines.decoding.isolation import CRASHED
from winnow.pipelines.decoding.videos.isolation import cut_isolated
from winnow.pipelines.export.formats.tar import buffer_of, sizes_of
from winnow.pipelines.export.media.fetching import SOURCE, MissingMedia
from winnow.pipelines.export.places.manifest import MEDIA_GONE, MEDIA_UNCHANGEABLE
from winnow.pipelines.media.references import UNREADABLE, MediaFinder, MediaSources, Unavailable
from winnow.pipelines.running.ledger.crashes import CrashedVideos
from winnow.schemas.rows.draws import MEDIUM, MIXED

_PLACE: Final = (pa.field("at", pa.int64(), nullable=False), pa.field("size", pa.int64(), nullable=False))
_KEPT: Final = tuple(field for field in MEDIUM if field.name != "bytes")
HELD: Final = pa.list_(pa.field("item", pa.struct([*_KEPT, *_PLACE]), nullable=False))
"""The media of a row, with the place of their bytes in the spool's file."""


class MediaSpool:
    """The media of a shard, in an empty folder of this machine that the caller removes."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._file: int | None = None
        self._end = 0

    def close(self) -> None:
        """Closes the file."""
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def hold(self, media: pa.ListArray) -> pa.ListArray:
        """Writes the bytes of some rows' media, and returns the rest, which is small."""
        items = media.flatten()
        contents = pc.fill_null(pc.struct_field(items, "bytes"), b"")
        sizes = sizes_of(contents)
        raw = memoryview(buffer_of(contents))
        if raw.nbytes:
            if self._file is None:
                self._file = os.open(self._folder / "media", os.O_RDWR | os.O_CREAT | os.O_EXCL)
            written = 0
            while written < raw.nbytes:  # a call writes at most 2 GiB
                written += os.pwrite(self._file, raw[written:], self._end + written)
        places = self._end + np.cumsum(sizes) - sizes
        self._end += raw.nbytes
        columns = [pc.struct_field(items, field.name) for field in _KEPT]
        held = pa.StructArray.from_arrays(
            [*columns, pa.array(places, pa.int64()), pa.array(sizes, pa.int64())], fields=[*_KEPT, *_PLACE]
        )
        return _listed(media, held, HELD)

    def copy_large(
        self, sources: MediaSources, held: pa.ListArray, of_rows: pa.Array, limits: VideoLimits, crashed: CrashedVideos
    ) -> tuple[pa.ListArray, dict[int, MissingMedia]]:
        """Copies the media that stayed references to files, and cuts clips; returns the media with their files, and the
        rows that lack one with the reason.

        `held` are the media of every row, `of_rows` the rows' sources. `limits` apply to reading a video. `crashed`
        holds videos not to read again, and collects new ones.
        """
        items = held.flatten()
        references = pc.struct_field(items, "ref")
        large = np.flatnonzero(np.asarray(references.is_valid())).tolist()
        if not large:
            return held, {}
        rows = np.repeat(np.arange(len(held)), pc.list_value_length(held).to_numpy(zero_copy_only=False))
        found = []
        for item in large:
            row, medium = int(rows[item]), {name: items[item][name].as_py() for name in ("sha256", "mime")}
            medium["ref"] = orjson.loads(references[item].as_py())
            source = medium["ref"].pop(SOURCE, None) or of_rows[row].as_py()
            found.append(_Large(source, medium, row, item))
        files: list[str | None] = [None] * len(items)
        lacking: dict[int, MissingMedia] = {}
        copied: dict[tuple[object, ...], str] = {}
        cut: dict[str, dict[str, Any]] = {}  # facts about clips, by file
        for source, some in itertools.groupby(sorted(found, key=_Large.place), lambda one: one.source):
            with closing(MediaFinder(sources, source)) as finder:
                for one in some:
                    if one.place() not in copied:  # else another copy of the sample has it
                        target = self._folder / f"large-{len(copied)}"
                        written: CutClip | MissingMedia | None
                        with target.open("w+b") as file:
                            if "clip" in one.medium["ref"]:
                                written = write_clip(finder, one.medium, limits, crashed, file)
                            else:
                                gone = finder.copy_to(one.medium, file)
                                written = None if gone is None else MissingMedia(MEDIA_GONE, gone.file, gone.reason)
                        if isinstance(written, MissingMedia):
                            lacking[one.row] = written
                            target.unlink()
                            continue
                        if written is not None:
                            cut[str(target)] = _known(written, target)
                        copied[one.place()] = str(target)
                    files[one.item] = copied[one.place()]
        columns = [pc.struct_field(items, field.name) for field in held.type.value_type]
        columns[held.type.value_type.get_field_index("file")] = pa.array(files, pa.string())
        for name in ("mime", "sha256", "width", "height") if cut else ():
            place = held.type.value_type.get_field_index(name)
            own_values = columns[place].to_pylist()
            known = [cut[file][name] if file in cut else own for file, own in zip(files, own_values, strict=True)]
            columns[place] = pa.array(known, columns[place].type)
        made = pa.StructArray.from_arrays(columns, fields=list(held.type.value_type))
        return _listed(held, made, HELD), lacking

    def give(self, held: pa.ListArray) -> pa.ListArray:
        """The media of some rows as `winnow.schemas.rows.draws.MIXED` has them, small ones with their bytes."""
        items = held.flatten()
        at, sizes = (pc.struct_field(items, name).to_numpy(zero_copy_only=False) for name in ("at", "size"))
        columns = {field.name: pc.struct_field(items, field.name) for field in _KEPT}
        small = np.asarray(columns["file"].is_null())
        columns["ref"] = pa.nulls(len(items), MEDIUM.field("ref").type)
        columns["bytes"] = self._bytes(at, sizes, small)
        made = pa.StructArray.from_arrays([columns[field.name] for field in MEDIUM], fields=list(MEDIUM))
        return _listed(held, made, MIXED.field("media").type)

    def _bytes(self, at: NDArray[np.int64], sizes: NDArray[np.int64], there: NDArray[np.bool_]) -> pa.LargeBinaryArray:
        """Ranges of the file; null where the bytes are elsewhere."""
        offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)])
        room = bytearray(int(offsets[-1]))
        view = memoryview(room)
        for place, start, end in zip(at.tolist(), offsets[:-1].tolist(), offsets[1:].tolist(), strict=True):
            read = 0
            while read < end - start:  # one call for most
                assert self._file is not None
                read += os.preadv(self._file, [view[start + read : end]], place + read)
        bits = pa.array(there).buffers()[1] if not there.all() else None
        return pa.LargeBinaryArray.from_buffers(
            pa.large_binary(), len(at), [bits, pa.py_buffer(offsets), pa.py_buffer(room)]
        )


@dataclass(frozen=True, slots=True)
class _Large:
    """A medium that is to be copied."""

    source: str
    medium: dict[str, Any]
    row: int
    item: int

    def place(self) -> tuple[str, str, int, int, str, int, int]:
        """Its place: equal for copies of a sample."""
        reference = self.medium["ref"]
        path, offset, length = (reference[name] for name in ("path", "offset", "length"))
        part = reference.get("clip", {"start": 0, "end": 0})
        return self.source, path, offset, length, reference["member"] or "", part["start"], part["end"]


class _UnreadableError(Exception):
    """The video cannot be read; an OSError may also be of the file that is written."""


@dataclass(frozen=True)
class _Reading:
    """A video's bytes."""

    content: Bytes

    @property
    def size(self) -> int:
        return self.content.size

    def at(self, offset: int, count: int) -> bytes:
        try:
            return self.content.at(offset, count)
        except OSError as error:
            raise _UnreadableError from error


def write_clip(
    finder: MediaFinder, medium: Mapping[str, Any], limits: VideoLimits, crashed: CrashedVideos, out: BinaryIO
) -> CutClip | MissingMedia:
    """Writes a clip to `out`, an empty file, which is worthless if this fails.

    `medium` has `sha256`, `mime` and `ref`, which also says which part is written, and how (`fetching.py`). `crashed`
    holds videos not to watch again, and collects new ones.
    """
    reference = medium["ref"]
    content = finder.open(medium)
    if isinstance(content, Unavailable):
        return MissingMedia(MEDIA_GONE, content.file, content.reason)
    part = reference["clip"]
    clip, options = Clip(part["start"], part["end"]), ClipFile(**part["file"])
    if crashed.has(medium["sha256"], clip):
        return MissingMedia(MEDIA_UNCHANGEABLE, reference["path"], CRASHED)
    try:
        return cut_isolated(_Reading(content), medium["mime"], clip, options, limits, out)
    except UnwatchableError as error:
        if error.reason == CRASHED and medium["sha256"] is not None:
            crashed.add_part(medium["sha256"], clip, error.detail)
        return MissingMedia(MEDIA_UNCHANGEABLE, reference["path"], error.reason)
    except _UnreadableError:
        return MissingMedia(MEDIA_GONE, reference["path"], UNREADABLE)


def _known(clip: CutClip, file: Path) -> dict[str, Any]:
    """The facts about a clip's file, as its medium has them."""
    with file.open("rb") as stream:
        digest = hashlib.file_digest(stream, "sha256").hexdigest()
    return {"mime": clip.mime, "sha256": digest, "width": clip.width, "height": clip.height}


def _listed(like: pa.ListArray, items: pa.StructArray, kind: pa.DataType) -> pa.ListArray:
    """These items, in lists of the same lengths as `like`."""
    counts = pc.list_value_length(like).to_numpy(zero_copy_only=False)
    offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)
    return pa.ListArray.from_arrays(pa.array(offsets), items, type=kind)
