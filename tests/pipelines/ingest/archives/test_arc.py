"""Reading ARC, the format before WARC."""

from datetime import UTC, datetime

import pytest

from tests.pipelines.ingest.archive_reading import assert_tiles, audit, outline, read
from tests.pipelines.ingest.made_archives import Capture, Kind, arc_description, arc_record, gzip_member, pieces
from winnow.pipelines.ingest.archives.arc import ArcGrammar, ArcHead
from winnow.pipelines.ingest.records import Record, Span

PAGES = [Capture(f"http://example.org/{name}", f"<p>{name}</p>".encode() * 20) for name in "abc"]
KINDS: tuple[Kind, ...] = ("arc", "arc.gz")


def test_a_record_has_what_its_line_and_its_http_header_say() -> None:
    raw = arc_description() + arc_record(PAGES[0])
    start = len(arc_description())
    assert read(raw, arc=True)[1] == Record(
        span=Span(start, len(raw) - start),
        key=None,
        container="arc",
        url="http://example.org/a",
        fetched_at=datetime(2024, 5, 1, 12, tzinfo=UTC),
        declared_mime="text/html",
        declared_charset="utf-8",
        body=PAGES[0].body,
        body_bytes=len(PAGES[0].body),
        metadata={"http_status": 200, "opt_out": {"headers": {}}},
    )


@pytest.mark.parametrize("kind", KINDS)
def test_the_file_tiles_and_its_description_is_dropped(kind: Kind) -> None:
    raw = b"".join(pieces(PAGES, kind))
    events = read(raw, arc=True)
    assert outline(events) == ["not_content", "a", "b", "c"]
    assert_tiles(raw, events)
    assert audit(raw, events) == []


@pytest.mark.parametrize("kind", KINDS)
def test_parts_give_the_events_of_the_whole(kind: Kind) -> None:
    raw = b"".join(pieces(PAGES, kind))
    whole = read(raw, arc=True)
    for cut in range(1, len(raw) + 1):
        assert read(raw, 0, cut, arc=True) + read(raw, cut, arc=True) == whole


@pytest.mark.parametrize("kind", KINDS)
def test_damage_costs_its_own_record(kind: Kind) -> None:
    members = pieces(PAGES, kind)
    members[2] = members[2][:20] + b"\xff" + members[2][21:]
    raw = b"".join(members)
    events = read(raw, arc=True)
    assert [word for word in outline(events) if word in "abc"] == ["a", "c"]
    assert_tiles(raw, events)


@pytest.mark.parametrize("kind", KINDS)
def test_a_file_cut_anywhere_keeps_what_came_before(kind: Kind) -> None:
    members = pieces(PAGES, kind)
    raw = b"".join(members)
    for cut in range(len(raw)):
        events = read(raw[:cut], arc=True)
        assert_tiles(raw[:cut], events)
        complete = sum(len(b"".join(members[: i + 1])) <= cut for i in range(1, 4))
        assert outline(events)[1 : complete + 1] == ["a", "b", "c"][:complete]


@pytest.mark.parametrize(
    ("line", "url", "length"),
    [
        (b"http://e.org/ 1.2.3.4 20240501120000 text/html 12\n", b"http://e.org/", 12),
        (b"http://e.org/a b c 1.2.3.4 20240501120000 text/html 12\n", b"http://e.org/a b c", 12),
        (b"http://e.org/ 1.2.3.4 20240501120000  12\n", b"http://e.org/", 12),
        (b"http://e.org/ 1.2.3.4 20240501120000 text/html 200 - - 77 a.arc 12\n", b"http://e.org/", 12),
        (b"http://e.org/a b 1.2.3.4 20240501120000 text/html 200 - - 77 a.arc 12\n", b"http://e.org/a b", 12),
        (b"http://e.org/a b 1.2.3.4 20240501120000 text/html; charset=a 12\n", b"http://e.org/a b", 12),
        (b"http://e.org/1.2.3.4 20240501 a/b 1 1.2.3.4 20240501 a/b 12\n", b"http://e.org/1.2.3.4 20240501 a/b 1", 12),
        (b"http://e.org/ 1.2.3.4 20240501120000 text/html -12\n", None, 0),
        (b"http://e.org/ 1.2.3.4 text/html 12\n", None, 0),
        (b"no url 1.2.3.4 20240501120000 text/html 12\n", None, 0),
    ],
)
def test_lines_of_both_versions(line: bytes, url: bytes | None, length: int) -> None:
    head = ArcGrammar().parse(line)
    assert (head.url, head.length) == (url, length) if isinstance(head, ArcHead) else url is None


@pytest.mark.parametrize("kind", KINDS)
def test_records_with_spaces_in_their_urls_are_read_and_audited(kind: Kind) -> None:
    pages = [Capture(f"http://e.org/{name} 1.2.3.4 {name}", PAGES[0].body) for name in "ab"]
    raw = b"".join(pieces(pages, kind))
    events = read(raw, arc=True)
    urls = [event.url for event in events if isinstance(event, Record)]
    assert urls == ["http://e.org/a%201.2.3.4%20a", "http://e.org/b%201.2.3.4%20b"]
    assert audit(raw, events) == []
    for cut in range(1, len(raw) + 1):
        assert read(raw, 0, cut, arc=True) + read(raw, cut, arc=True) == events


def test_a_page_without_http_header_has_the_status_of_its_line_or_is_quarantined() -> None:
    page = b"<p>a</p>"
    first = b"http://e.org/a 1.2.3.4 20240501120000 text/html 8\n" + page + b"\n"
    second = b"http://e.org/b 1.2.3.4 20240501120000 text/html 404 - - 77 a.arc 8\n" + page + b"\n"
    lost, found = read(first + second, arc=True)
    assert outline([lost, found]) == ["bad_header", "b"]
    assert isinstance(found, Record)
    assert (found.body, found.metadata) == (page, {"http_status": 404})


@pytest.mark.parametrize("line", ["ICY 200 OK", "HTTP 200 OK", "http/1.1 200 OK", "HTTP/1.1 OK"])
def test_a_status_line_that_nobody_can_read_is_no_page_even_if_the_record_has_a_status(line: str) -> None:
    block = f"{line}\r\nContent-Type: text/html\r\n\r\n<p>a</p>".encode()
    head = f"http://e.org/a 1.2.3.4 20240501120000 text/html 200 - - 77 a.arc {len(block)}\n".encode()
    assert outline(read(head + block + b"\n", arc=True)) == ["bad_header"]


def test_lookups_are_dropped_and_other_schemes_are_their_block() -> None:
    raw = arc_record(Capture("dns:e.org", b"e.org. 1.2.3.4")) + arc_record(
        Capture("ftp://e.org/f", b"file", "image/gif")
    )
    lookup, file = read(raw, arc=True)
    assert outline([lookup]) == ["not_content"]
    assert isinstance(file, Record)
    assert (file.body, file.declared_mime) == (b"file", "image/gif")


def test_the_line_end_behind_the_last_record_may_be_missing() -> None:
    raw = arc_record(PAGES[0]) + arc_record(PAGES[1])[:-1]
    assert outline(read(raw, arc=True)) == ["a", "b"]
    members = gzip_member(arc_record(PAGES[0])[:-1]) + gzip_member(b"\n" + arc_record(PAGES[1])[:-1])
    events = read(members, arc=True)
    assert outline(events) == ["a", "padding", "b"]
    assert audit(members, events) == []


@pytest.mark.parametrize("kind", KINDS)
def test_a_record_is_found_again_by_its_offset(kind: Kind) -> None:
    raw = b"".join(pieces(PAGES, kind))
    for event in read(raw, arc=True):
        assert read(raw, event.span.offset, event.span.offset + 1, arc=True) == [event]
