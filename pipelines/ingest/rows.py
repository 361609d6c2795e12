"""Converts records into rows of `samples`, with the decoded page beside each row for extractors.

A record's bytes decide what it becomes: text and HTML are sniffed and decoded, everything else becomes a
reference to its bytes. The declared type and charset are hints, kept as metadata.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Final

import pyarrow as pa

from winnow.filters.extraction.charset import decode_page
from winnow.filters.extraction.visible_text import visible_bytes
from winnow.filters.extraction.xhtml import as_html
from winnow.filters.web.sniff import DetectedType, is_page, sniff
from winnow.filters.web.urls import registered_domain
from winnow.pipelines.decoding.probe import Probe
from winnow.pipelines.ingest.archives.opt_out import with_metas
from winnow.pipelines.ingest.archives.tar import TAR
from winnow.pipelines.ingest.files import FILE
from winnow.pipelines.ingest.formats import media_place
from winnow.pipelines.ingest.records import Caption, Dropped, Record, Span, Unreadable
from winnow.pipelines.ingest.tables.named_media import NamedFile
from winnow.pipelines.ingest.unusable_media import unread_of, with_unread, without_media
from winnow.schemas.identity import Json, canonical_json, sample_id
from winnow.schemas.rows.extraction import PAGES
from winnow.schemas.rows.opt_out import KEY
from winnow.schemas.rows.referrers import REFERRERS
from winnow.schemas.rows.samples import EMPTY_MEDIUM, MISSING_MEDIUM, SAMPLES, SOURCE, Modality

SNIFFED_BYTES = 2048
VISIBLE_OR_AUDIBLE = frozenset({"image", "video", "audio"})


@dataclass(frozen=True, slots=True)
class SourceRows:
    """What all rows of a source have in common."""

    name: str
    source_class: str
    licence: str
    accept_status: tuple[int, ...]


@dataclass(slots=True)
class Row:
    """One sample before it is packed into columns."""

    id: bytes
    path: str
    key: str
    keyed: bool  # the source provided the key, so it may repeat
    span: Span
    fetched_at: datetime | None
    fetched_with: str | None
    url: str | None
    domain: str | None
    modality: Modality
    mime: str | None
    text: str | bytes | None  # bytes once it is only written
    media: list[dict[str, object]]
    metadata: str
    html: str | bytes | None
    captions: tuple[Caption, ...] = ()  # of its media
    unread: bool = False  # something besides its media, or one of them, could not be used
    forgotten: bool = False  # a tombstone covers it: it is written as the empty row that a purge leaves

    @property
    def held(self) -> int:
        """The characters that it holds in memory, by which rows are written in batches."""
        return len(self.text or "") + len(self.html or "") + sum(len(caption.text) for caption in self.captions)

    def encode(self) -> None:
        """Keeps the text as bytes, if it is only written: a string takes up to four bytes per byte, and Arrow a
        copy."""
        self.text = self.text.encode() if isinstance(self.text, str) else self.text
        self.html = self.html.encode() if isinstance(self.html, str) else self.html


def text_bytes(rows: Sequence[Row]) -> list[int]:
    """The bytes of text that each row adds to its shard: its own text, and of a page what a reader sees of it.

    Independent of the extractors that run, so adding one moves no row to another shard.
    """
    pages = visible_bytes(_strings([row.html for row in rows]))
    texts = (row.text.encode() if isinstance(row.text, str) else row.text or b"" for row in rows)
    captions = [sum(len(caption.text.encode()) for caption in row.captions) for row in rows]
    return [sum(sizes) for sizes in zip(pages.tolist(), map(len, texts), captions, strict=True)]


def _unmeasured(_record: Record, _path: str, _mime: str) -> Probe:
    return Probe()


def row_of(
    record: Record,
    path: str,
    etag: str,
    source: SourceRows,
    named: Mapping[str, NamedFile | str] | None = None,
    measure: Callable[[Record, str, str], Probe] = _unmeasured,
) -> Row | Dropped | Unreadable:
    """Converts a record to a row, or returns why it cannot be one.

    `path` and `etag` are those of its file, `source` what all rows of the source share. `named`: the files that the
    record's items name, or why one is missing. `measure` measures a medium of the record.
    """
    status = record.metadata.get("http_status")
    if isinstance(status, int) and source.accept_status and status not in source.accept_status:
        return Dropped(record.span, "http_status")
    keyed = record.key is not None
    key = record.key if record.key is not None else _position(record.span)
    metadata = dict(record.metadata)
    text, html, mime, media = record.text, None, record.declared_mime, list[dict[str, object]]()
    modality: Modality = "text"
    if record.items:
        found = [_item(one, path, etag, (named or {}).get(one.names or ""), measure) for one in record.items]
        media = [one.medium for one in found]
        bad = without_media(record, [one.flaw for one in found])
        if bad is not None:
            return bad
        flaws = {one.key or "": item.flaw.detail for one, item in zip(record.items, found, strict=True) if item.flaw}
        with_unread(metadata, flaws if record.container != TAR else {})  # of a tar, the reader has said so
        kinds = [one.kind for one in found if one.flaw is None] or [DetectedType("text/plain", "text")]
        main = next((kind for kind in kinds if kind.modality in VISIBLE_OR_AUDIBLE), kinds[0])
        mime, modality = main.mime, main.modality
    elif record.clip is not None:
        mime, modality = record.declared_mime, "video"
        media.append(dict(record.clip))
    elif text is not None:
        mime = mime or "text/plain"
    else:
        head = record.head if record.body is None else record.body
        if not head:
            if record.body is None and record.body_bytes:
                detail = f"{record.body_bytes} bytes, whose beginning cannot be read"
                return Unreadable(record.span, "too_large", detail, record.key)
            return Dropped(record.span, "empty")
        sniffed = sniff(head, record.declared_mime, record.url)
        mime, modality = sniffed.mime, sniffed.modality
        if record.declared_mime and record.declared_mime != mime:
            metadata["declared_mime"] = record.declared_mime
        if modality != "text":
            _note_referrers(record, metadata)
            media.append(_reference(record, path, etag, mime, measure(record, path, mime)))
        elif record.body is None:
            return Unreadable(record.span, "too_large", f"{mime} of {record.body_bytes} bytes", record.key)
        else:
            decoded = decode_page(record.body, record.declared_charset)
            metadata["charset"] = decoded.charset
            metadata["charset_from"] = decoded.how
            if decoded.replaced:
                metadata["replaced_characters"] = decoded.replaced
            if is_page(mime):
                html = as_html(decoded.text, record.declared_mime)
                statements = with_metas(metadata.get(KEY), html)
                if statements is not None:
                    metadata[KEY] = statements
            else:
                # as HTML parsers do: else a carriage return alone would count as a repeated line
                text = decoded.text.replace("\r\n", "\n").replace("\r", "\n")
    return Row(
        id=sample_id(source.name, path, key),
        path=path,
        key=key,
        keyed=keyed,
        span=record.span,
        fetched_at=record.fetched_at,
        fetched_with=record.fetched_with,
        url=record.url,
        domain=registered_domain(record.url) if record.url else None,
        modality=modality,
        mime=mime,
        text=text,
        media=media,
        metadata=canonical_json(metadata) if metadata else "{}",
        html=html,
        captions=record.captions,
        unread=bool(unread_of(metadata, len(media))),
    )


@dataclass(frozen=True, slots=True)
class _Item:
    """An item of a row's media."""

    medium: dict[str, object]
    kind: DetectedType
    flaw: Unreadable | None  # why it is no medium


def _item(
    record: Record, path: str, etag: str, file: NamedFile | str | None, measure: Callable[[Record, str, str], Probe]
) -> _Item:
    """The item of a record: a file of its own, or what the record holds. Without a medium it has no hash."""
    span, flaw = record.span, record.flaw
    if isinstance(file, NamedFile):
        if file.flaw:
            flaw = Unreadable(span, "missing_media", f"{record.names}{file.flaw}"[:200])
        return _Item(_named(file), file.kind, flaw)
    if isinstance(file, str):
        flaw = Unreadable(span, "missing_media", f"{record.names}{file}"[:200])
    if flaw is not None and not record.body_bytes:
        kind = DetectedType(MISSING_MEDIUM if record.body is None else EMPTY_MEDIUM, "other")
        return _Item(_reference(record, path, etag, kind.mime, Probe(0)), kind, flaw)
    kind = sniff((record.body or record.head)[:SNIFFED_BYTES], None, None)
    if kind.modality == "text" and media_place(record.container) == "cells":
        flaw = Unreadable(span, "missing_media", f"{record.key} is {kind.mime}"[:200])
    return _Item(_reference(record, path, etag, kind.mime, measure(record, path, kind.mime)), kind, flaw)


def sample_batch(rows: list[Row], source: SourceRows) -> pa.RecordBatch:
    """The rows as one batch of `samples`."""
    count = len(rows)
    origin = pa.StructArray.from_arrays(
        [
            pa.repeat(pa.scalar(source.name, pa.string()), count),
            pa.array([row.path for row in rows], pa.string()),
            pa.array([row.key for row in rows], pa.string()),
            pa.array([row.span.offset for row in rows], pa.int64()),
            pa.array([row.span.length for row in rows], pa.int64()),
            pa.array([row.span.unit for row in rows], pa.string()),
            pa.array([row.span.member for row in rows], pa.int32()),
            pa.array([row.fetched_at for row in rows], SOURCE.field("fetched_at").type),
            pa.array([row.fetched_with for row in rows], pa.string()),
        ],
        fields=list(SOURCE),
    )
    columns = [
        pa.array([row.id for row in rows], pa.binary(16)),
        origin,
        pa.repeat(pa.scalar(source.source_class, pa.string()), count),
        pa.repeat(pa.scalar(source.licence, pa.string()), count),
        pa.array([row.url for row in rows], pa.string()),
        pa.array([row.domain for row in rows], pa.string()),
        pa.array([row.modality for row in rows], pa.string()),
        pa.array([row.mime for row in rows], pa.string()),
        _strings([row.text for row in rows]),
        pa.array([row.media for row in rows], SAMPLES.field("media").type),
        pa.array([_captions(row) for row in rows], SAMPLES.field("captions").type),
        pa.array([row.metadata for row in rows], pa.string()),
    ]
    return pa.RecordBatch.from_arrays(columns, schema=SAMPLES)


def page_batch(pages: Sequence[str | bytes | None], urls: list[str | None]) -> pa.RecordBatch:
    """Decoded pages in the form that extractors take; null where a sample is not an HTML page."""
    return pa.RecordBatch.from_arrays([_strings(pages), pa.array(urls, pa.string())], schema=PAGES)


def _strings(texts: Sequence[str | bytes | None]) -> pa.LargeStringArray:
    """Texts, some of them as UTF-8: as strings, Arrow would decode those for nothing."""
    return pa.array(texts, pa.large_binary()).view(pa.large_string())


def _note_referrers(record: Record, metadata: dict[str, Json]) -> None:
    if record.referrers:
        metadata[REFERRERS] = list(record.referrers)
    if record.hops:
        metadata["warc_hops"] = record.hops


def _position(span: Span) -> str:
    """The key of a record without one: its position, which does not depend on how the file is split."""
    return f"{span.offset}" if span.member == 0 else f"{span.offset}.{span.member}"


def _captions(row: Row) -> list[dict[str, object]]:
    return [{"text": caption.text, "origin": caption.origin, "language": caption.language} for caption in row.captions]


def _reference(record: Record, path: str, etag: str, mime: str, probe: Probe) -> dict[str, object]:
    span, container = record.span, record.container
    in_archive = media_place(container) == "records" or container == FILE
    member = (str(span.member) if span.member else None) if in_archive else record.key
    return _medium(mime, probe, (path, span.offset, span.length, container, member, etag))


def _named(named: NamedFile) -> dict[str, object]:
    return _medium(named.kind.mime, named.probe, (named.path, 0, named.size, FILE, None, named.etag))


_REFERENCE: Final = ("path", "offset", "length", "container", "member", "etag")


def _medium(mime: str, probe: Probe, reference: tuple[object, ...]) -> dict[str, object]:
    return {"mime": mime, "ref": dict(zip(_REFERENCE, reference, strict=True)), **asdict(probe)}
