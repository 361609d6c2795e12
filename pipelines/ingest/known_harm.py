"""Compares the media of a new row with lists of known harm, by the bytes that were read for it."""

from collections.abc import Mapping, Sequence
from contextlib import closing
from typing import Any

from winnow.filters.known_harm.matching import HarmMatch
from winnow.pipelines.ingest.files import read_range
from winnow.pipelines.ingest.records import Record
from winnow.pipelines.ingest.rows import Row
from winnow.pipelines.media.known_harm import KnownHarm
from winnow.pipelines.store.facade import ObjectStore

__all__ = ["known_harm_of"]


def known_harm_of(harm: KnownHarm, row: Row, record: Record, objects: ObjectStore) -> HarmMatch | None:
    """The first medium of a row that a list names. One too large to hold is compared by its SHA-256 alone.

    Args:
        harm: The lists.
        row: The row.
        record: What it was made from.
        objects: The source, for media that are files of their own.
    """
    media: Sequence[Mapping[str, Any]] = row.media
    for item, medium in zip(record.items or (record,), media, strict=False):  # a text has no medium

        def content(item: Record = item, medium: Mapping[str, Any] = medium) -> bytes | None:
            if item.names is None:
                return item.body
            size = medium["bytes"] or 0
            if size > harm.limits.max_bytes:
                return None
            with closing(objects.open(medium["ref"]["path"])) as stream:
                return read_range(stream, 0, size)

        found = harm.match(medium["mime"], medium["sha256"], content)
        if found is not None:
            return found
    return None
