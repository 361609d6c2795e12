"""Compares the media of a new row with lists of known harm, by the bytes that were read for it."""

from collections.abc import Mapping, Sequence
from contextlib import ExitStack, closing
from typing import Any

from winnow.filters.image.decode.containers import Bytes, HeldBytes
from winnow.filters.known_harm.matching import HarmMatch
from winnow.pipelines.decoding.file_bytes import FileBytes
from winnow.pipelines.decoding.known_harm import KnownHarm
from winnow.pipelines.ingest.archives.large_bodies import open_body
from winnow.pipelines.ingest.formats import media_place
from winnow.pipelines.ingest.records import ReadLimits, Record
from winnow.pipelines.ingest.rows import Row
from winnow.pipelines.store.facade import ObjectStore

__all__ = ["known_harm_of"]


def known_harm_of(
    harm: KnownHarm, row: Row, record: Record, objects: ObjectStore, limits: ReadLimits
) -> HarmMatch | None:
    """The first medium of a row that a list names; one that is too large to hold is read again, in pieces.

    `record`: what the row was made from; `objects`: the source, for media that are files of their own, and large ones;
    `limits`: those the record was read under.
    """
    media: Sequence[Mapping[str, Any]] = row.media
    for item, medium in zip(record.items or (record,), media, strict=False):  # a text has no medium
        with ExitStack() as opened:

            def content(
                item: Record = item, reference: Mapping[str, Any] = medium["ref"], opened: ExitStack = opened
            ) -> Bytes | None:
                if item.body is not None:
                    return HeldBytes(item.body)
                plain = media_place(reference["container"]) == "plain"
                if not plain and item.large is None:
                    return None
                stream = opened.enter_context(closing(objects.open(reference["path"])))
                if plain:
                    return FileBytes(stream, reference["length"], reference["offset"])
                body = open_body(stream, stream.seek(0, 2), item, limits)
                return None if body is None else opened.enter_context(closing(body)).content

            found = harm.match(medium["mime"], medium["sha256"], content)
            if found is not None:
                return found
    return None
