"""One page through an extractor, as plain values."""

import hashlib
from dataclasses import dataclass

import pyarrow as pa

from winnow.schemas.rows.extraction import EXTRACTION, PAGES


@dataclass(frozen=True)
class Read:
    """One row of EXTRACTION; parts as (kind, their text or their image's src)."""

    status: str
    text: str | None
    title: str | None
    canonical_url: str | None
    language: str | None
    links: list[tuple[str, str | None]]
    images: list[dict[str, str | int | None]]
    parts: list[tuple[str, str]]


def pages_of(pages: list[str | None], urls: list[str | None]) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([pa.array(pages, pa.large_string()), pa.array(urls, pa.string())], schema=PAGES)


def digest(read: Read) -> str:
    """A short name for everything that was read."""
    return hashlib.blake2b(repr(read).encode(), digest_size=8).hexdigest()


def read_row(batch: pa.RecordBatch, row: int = 0) -> Read:
    batch.validate(full=True)
    assert batch.schema.equals(EXTRACTION)
    values = batch.slice(row, 1).to_pylist()[0]
    raw = (values["text"] or "").encode()
    images = values["images"] or []
    parts = [
        (
            part["kind"],
            images[part["image"]]["src"] if part["kind"] == "image" else raw[part["start"] : part["end"]].decode(),
        )
        for part in values["parts"] or []
    ]
    return Read(
        values["status"],
        values["text"],
        values["title"],
        values["canonical_url"],
        values["language"],
        [(link["url"], link["rel"]) for link in values["links"] or []],
        images,
        parts,
    )
