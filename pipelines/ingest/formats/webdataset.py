"""Reads WebDataset tars: adjacent members whose names are equal up to the first dot of the last part are one sample.

`a/7.jpg`, `a/7.txt` and `a/7.meta.json` are the sample `a/7` with a picture, a caption and metadata. Media are referred
to by the range of their bytes. A part of a file has the samples that begin after the first member that begins in it, so
a file gives the same samples however it is cut, unless it holds another tar: the driver sees that parts do not fit.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import groupby
from typing import BinaryIO, Final

from winnow.filters.web.sniff import sniff
from winnow.pipelines.ingest.archives.flows import FileFlow
from winnow.pipelines.ingest.archives.tar import TAR, Unit, next_header, unit_at, units
from winnow.pipelines.ingest.files import HEAD_BYTES, refuse_changed
from winnow.pipelines.ingest.formats.source_format import SourceFormat
from winnow.pipelines.ingest.media_names import is_named_as_medium
from winnow.pipelines.ingest.records import Caption, Dropped, Event, ReadLimits, Record, Span, Unreadable
from winnow.pipelines.ingest.sidecars import SIDECAR_BYTES, TEXTS, distinct, take_sidecar
from winnow.pipelines.ingest.tables.columns import ColumnMapping, find
from winnow.pipelines.ingest.tiling.tars import check_tar
from winnow.pipelines.ingest.unusable_media import with_unread, without_media
from winnow.schemas.problems import one_line
from winnow.schemas.recipe import SourceConfig
from winnow.schemas.records import FilePart

MOST_MEMBERS: Final = 1024  # of a sample

_NO_RANGES: Final = "a compressed tar: decompress it, since its members have no ranges in it"
_COMPRESSED: Final = (b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"BZh", b"\xfd7zXZ\0")


@dataclass(slots=True)
class _Member:
    unit: Unit
    suffix: str
    body: bytes | None  # None where a sample's members are too large to hold together
    head: bytes


@dataclass(frozen=True, slots=True)
class TarReader:
    """Yields one event per sample, and per directory, run of zero blocks and damaged stretch between them."""

    mapping: ColumnMapping = field(default_factory=ColumnMapping)

    def __call__(self, stream: BinaryIO, part: FilePart, limits: ReadLimits) -> Iterator[Event]:
        """Events in file order whose ranges tile what begins in the part."""
        refuse_changed(stream, part)
        if part.end <= part.start:
            return
        flow = FileFlow(stream, part.size)
        if flow.peek(0, 8).startswith(_COMPRESSED):
            if part.start == 0:
                yield Unreadable(Span(0, part.size), "bad_header", _NO_RANGES)
            return
        start, skipped = 0, False
        if part.start > 0:
            mark = next_header(flow, part.start)
            if mark < 0:
                return
            unit = unit_at(flow, mark, limits.max_header_bytes)
            if unit.last_header >= part.end:
                return
            start, skipped = unit.end, True
        stop = -1  # where the first member of the next part ends: what begins until there belongs to this part
        groups = groupby(units(flow, start, limits.max_header_bytes), _sample_of)
        for _, group in groups:
            sample: list[_Member] = []
            held, first = 0, None
            for unit in group:
                if first is None:
                    first = unit
                    if 0 <= stop < unit.start:
                        return
                if stop < 0 and unit.last_header >= part.end:
                    stop = unit.end
                last = unit
                if unit.kind == "file" and len(sample) <= MOST_MEMBERS and not skipped:
                    sample.append(_member(flow, unit, limits.max_body_bytes - held))
                    held += len(sample[-1].body or b"")
            assert first is not None
            span = Span(first.start, last.end - first.start)
            if skipped:  # it may have begun before: it belongs to the part before this one
                skipped = False
            elif first.kind == "file":
                yield self._sample(sample, span)
            elif first.kind == "damage":
                yield Unreadable(span, first.reason, first.flaw)
            else:
                yield Dropped(span, first.kind)

    def _sample(self, members: list[_Member], span: Span) -> Event:
        key = key_of(members[0].unit.name)[0]
        flawed = next((member.unit for member in members if member.unit.flaw), None)
        if flawed is not None:
            return Unreadable(span, flawed.reason, flawed.flaw[:200], key or None)
        if not key:
            return Dropped(span, "not_content")
        if len(members) > MOST_MEMBERS:
            return Unreadable(span, "too_large", f"a sample of more than {MOST_MEMBERS} members", key)
        again, count = Counter(member.suffix.lower() for member in members).most_common(1)[0]
        if count > 1:
            return Unreadable(
                span, "bad_member", f"{count} members of the sample are named .{one_line(again, 100)}", key
            )
        record = Record(span, key, TAR)
        captions: list[Caption] = []
        unread: dict[str, str] = {}
        items: list[Record] = []
        for member in members:
            flaw = _flaw_of(member)
            why = flaw or self._take(member, record, captions)
            if why:
                unread[member.suffix] = why
            if flaw or why is None:
                unit = member.unit
                item = Record(Span(unit.offset, unit.size), unit.name, TAR)
                item.body, item.body_bytes, item.head = member.body, unit.size, member.head
                if flaw:
                    item.flaw = Unreadable(span, "missing_media", f"{member.suffix}: {flaw}"[:200])
                items.append(item)
        record.items, record.captions = tuple(items), distinct(captions)
        if not items:
            record.text = self._text(record)
            if record.text is None and record.captions:
                record.text, record.captions = record.captions[0].text, record.captions[1:]
        with_unread(record.metadata, unread)
        if record.items or record.text is not None:
            return without_media(record, [item.flaw for item in items]) or record
        return Unreadable(span, "missing_media", "the sample has neither a medium nor a text", key)

    def _text(self, record: Record) -> str | None:
        """The first text in the JSON of a sample that has nothing else."""
        found = (find(content, self.mapping.text) for content in record.metadata.values() if isinstance(content, dict))
        return next((text for text in found if isinstance(text, str) and text), None)

    def _take(self, member: _Member, record: Record, captions: list[Caption]) -> str | None:
        """Adds a sidecar's content to the record; None if the member is a medium, else why it has no content."""
        kind = member.suffix.lower().rpartition(".")[2]
        if member.unit.size == 0:
            return "empty"
        if kind not in TEXTS and sniff(member.head, None, None).modality != "text":
            return None
        if member.unit.size > SIDECAR_BYTES or member.body is None:
            return None
        return take_sidecar(self.mapping, member.suffix, member.body, record, captions)


def _flaw_of(member: _Member) -> str:
    """Why a member is not the medium that its name says; empty if it is one, or has another kind of name."""
    if not is_named_as_medium(member.suffix):
        return ""
    if member.unit.size == 0:
        return "empty"
    found = sniff(member.head, None, None)
    return found.mime if found.modality == "text" else ""


def _sample_of(unit: Unit) -> str | int:
    """What is equal for adjacent units of one sample; all others stand alone."""
    key = key_of(unit.name)[0] if unit.kind == "file" else ""
    return key or unit.start


def key_of(name: str) -> tuple[str, str]:
    """The key of the sample that a member of this name belongs to, and its name in it; no key if it belongs to none.

    Hidden files belong to none, nor do names such as `__header__`, which describe an archive.
    """
    folder, slash, base = name.rpartition("/")
    stem, _, suffix = base.partition(".")
    if not stem or (stem.startswith("__") and stem.endswith("__") and not suffix):
        return "", ""
    return folder + slash + stem, suffix


def _member(flow: FileFlow, unit: Unit, room: int) -> _Member:
    held = unit.size <= room and not unit.flaw
    raw = flow.peek(unit.offset, unit.size if held else min(unit.size, HEAD_BYTES))
    return _Member(unit, key_of(unit.name)[1], raw if held else None, raw[:HEAD_BYTES])


def _refuses(source: SourceConfig) -> str:
    if source.columns.media is not None:
        return "'columns.media' is not for webdataset: all members that are not text are media"
    return ""


FORMAT = SourceFormat(
    name="webdataset",
    container=TAR,
    called="a tar",
    content="tar",
    endings=r"\.(tar(\.(gz|zst|bz2|xz))?|tgz)",
    marks=((257, b"ustar"),),
    unread=(r"\.tgz|\.tar\.\w+", _NO_RANGES),
    is_auto=True,
    reader=lambda how: TarReader(how.columns),
    tile=lambda file, claims: check_tar(file.stream, claims, file.size),
    has_table_beside=True,
    media="plain",
    shows="any",
    own_keys="the files' names are the keys",
    on_repeated_key="; in a tar a key ends at the first dot of a name: write dots within keys as _ or -",
    refuses=_refuses,
)
