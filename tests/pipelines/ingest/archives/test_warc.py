"""Reading WARC and WET: what each record becomes, in every packing."""

import gzip
import io
from datetime import UTC, datetime
from pathlib import Path

import pytest
import zstandard
from fastwarc.warc import ArchiveIterator
from warcio.statusandheaders import StatusAndHeaders
from warcio.warcwriter import WARCWriter

from tests.messages import assert_told
from tests.pipelines.ingest.archive_reading import assert_tiles, audit, outline, read
from tests.pipelines.ingest.made_archives import Capture, Kind, gzip_member, pieces, warc_record, write_warc, zstd_frame
from winnow.pipelines.ingest.archives.http import safe_text
from winnow.pipelines.ingest.archives.warc import parse_date, read_warc
from winnow.pipelines.ingest.records import Dropped, ReadLimits, Record, Span, Unreadable
from winnow.schemas.records import FilePart

PAGES = [Capture(f"https://example.org/{name}", f"<p>{name}</p>".encode() * 20) for name in "abc"]
WARC_KINDS: tuple[Kind, ...] = ("warc", "warc.gz", "warc.zst", "warc.gz-one", "warc.zst-one")


def test_a_response_becomes_a_record_with_what_its_headers_say() -> None:
    page = Capture(
        "<https://example.org/a>",
        b"<p>a</p>",
        headers={
            "Content-Language": "de",
            "X-Robots-Tag": "noai",
            "x-robots-tag": "noindex",
            "TDM-Reservation": "1",
            "tdm-policy": "https://example.org/tdm",
        },
        status=203,
        key="urn:uuid:1",
        fields={"WARC-Identified-Payload-Type": "text/html", "WARC-Truncated": "length"},
    )
    raw = gzip_member(warc_record(page))
    assert read(raw) == [
        Record(
            span=Span(0, len(raw)),
            key="urn:uuid:1",
            container="warc.gz",
            url="https://example.org/a",
            fetched_at=datetime(2024, 5, 1, 12, tzinfo=UTC),
            declared_mime="text/html",
            declared_charset="utf-8",
            body=b"<p>a</p>",
            body_bytes=8,
            metadata={
                "warc_type": "response",
                "warc_truncated": "length",
                "warc_identified_payload_type": "text/html",
                "http_status": 203,
                "content_language": "de",
                "opt_out": {
                    "headers": {
                        "x-robots-tag": ["noai", "noindex"],
                        "tdm-reservation": ["1"],
                        "tdm-policy": ["https://example.org/tdm"],
                    }
                },
            },
        )
    ]


@pytest.mark.parametrize("kind", WARC_KINDS)
def test_every_packing_gives_the_same_records(tmp_path: Path, kind: Kind) -> None:
    raw = write_warc(tmp_path / "a", PAGES, kind).read_bytes()
    events = read(raw)
    assert_tiles(raw, events)
    assert audit(raw, events) == []
    assert [(event.url, event.body, event.container) for event in events if isinstance(event, Record)] == [
        (page.url, page.body, kind.removesuffix("-one")) for page in PAGES
    ]
    assert [event.span.member for event in events] == ([0, 1, 2] if kind.endswith("-one") else [0, 0, 0])


def test_members_may_hold_one_record_or_several() -> None:
    one, two, three = (warc_record(page, i) for i, page in enumerate(PAGES))
    raw = gzip_member(one) + gzip_member(two + three)
    events = read(raw)
    assert outline(events) == ["a", "b", "c"]
    assert [event.span.member for event in events] == [0, 0, 1]
    assert_tiles(raw, events)
    assert audit(raw, events) == []


@pytest.mark.parametrize("kind", ["warcinfo", "request", "metadata", "continuation", "somethingelse"])
def test_what_holds_no_content_is_dropped(kind: str) -> None:
    assert outline(read(gzip_member(warc_record(Capture("https://e.org/", b"x", kind=kind))))) == ["not_content"]


def test_a_revisit_is_dropped_as_such() -> None:
    assert outline(read(warc_record(Capture("https://e.org/", b"", kind="revisit")))) == ["revisit"]


@pytest.mark.parametrize("kind", ["response", "resource", "conversion"])
def test_a_capture_without_payload_is_empty(kind: str) -> None:
    assert outline(read(warc_record(Capture("https://e.org/", b"", kind=kind)))) == ["empty"]


def test_a_resource_is_its_block() -> None:
    [record] = read(warc_record(Capture("https://e.org/i", b"\x89PNG", "image/png", kind="resource")))
    assert isinstance(record, Record)
    assert (record.body, record.declared_mime, record.text) == (b"\x89PNG", "image/png", None)


def test_wet_gives_text() -> None:
    text = "Grüße, 世界\n"
    wet = Capture("https://e.org/t", text.encode(), "text/plain", kind="conversion")
    [record] = read(gzip_member(warc_record(wet)))
    assert isinstance(record, Record)
    assert (record.text, record.body, record.body_bytes) == (text, None, len(text.encode()))


def test_wet_that_is_not_utf8_is_quarantined() -> None:
    [event] = read(warc_record(Capture("https://e.org/t", b"a\xff", "text/plain", kind="conversion", key="k")))
    assert isinstance(event, Unreadable)
    assert (event.reason, event.key) == ("bad_utf8", "k")
    assert_told(event.detail, "byte 1", "UTF-8", whole=True)


@pytest.mark.parametrize("name", ["MANIFEST.txt", "wget_arguments.txt", "wget.log"])
def test_what_wget_notes_of_itself_is_not_content(name: str) -> None:
    address = f"metadata://gnu.org/software/wget/warc/{name}"
    noted = warc_record(Capture(address, b"'-r' 'https://e.org'", "text/plain", kind="resource", key="k"))
    page = warc_record(Capture("https://e.org/t", b"A text", "text/plain", kind="resource", key="p"))
    left, kept = read(gzip_member(noted) + gzip_member(page))
    assert left == Dropped(left.span, "not_content")
    assert isinstance(kept, Record)


def test_a_lookup_stored_as_response_is_not_content() -> None:
    dns = Capture(
        "dns:e.org", b"e.org. 1.2.3.4", kind="response", fields={"Content-Type": "text/dns", "Content-Length": "14"}
    )
    raw = warc_record(dns).partition(b"HTTP/")[0] + b"e.org. 1.2.3.4\r\n\r\n"
    assert outline(read(raw)) == ["not_content"]


def test_a_response_that_is_no_http_is_quarantined_with_its_key() -> None:
    raw = warc_record(Capture("https://e.org/", key="k")).replace(b"HTTP/1.1", b"JUNK/1.1")
    [event] = read(raw)
    assert isinstance(event, Unreadable)
    assert (event.reason, event.key) == ("bad_header", "k")


@pytest.mark.parametrize("line", [b"HTTP/1.1 OK", b"HTTP/1.1 2000", b"HTTP/x.1 200", b"HTTP/1.1"])
def test_a_response_whose_status_cannot_be_read_is_quarantined(line: bytes) -> None:
    [event] = read(_response(line + b"\r\nContent-Type: text/html\r\n\r\n<p>a</p>"))
    assert isinstance(event, Unreadable)
    assert event.reason == "bad_header"
    assert_told(event.detail, "status", repr(line.decode()), whole=True)


@pytest.mark.parametrize("fields", [{}, {"Content-Type": "text/html"}, {"Content-Type": ""}])
def test_no_response_of_the_web_becomes_a_record_without_a_status(fields: dict[str, str]) -> None:
    [event] = read(_response(b"<p>a page alone</p>", **fields))
    assert isinstance(event, Unreadable)
    assert event.reason == "bad_header"
    assert_told(event.detail, "HTTP", whole=True)


def test_a_response_of_another_scheme_has_no_status() -> None:
    [event] = read(_response(b"a file", url="ftp://e.org/f", **{"Content-Type": "text/plain"}))
    assert isinstance(event, Record)
    assert (event.body, event.metadata) == (b"a file", {"warc_type": "response"})


def _response(block: bytes, url: str = "https://e.org/", **fields: str) -> bytes:
    """A record whose block is not made from a page."""
    made = warc_record(Capture(url, b"", fields={**fields, "Content-Length": str(len(block))}))
    return made.partition(b"\r\n\r\n")[0] + b"\r\n\r\n" + block + b"\r\n\r\n"


@pytest.mark.parametrize("kind", WARC_KINDS)
@pytest.mark.parametrize("kept", range(4))
def test_a_whole_record_that_lacks_line_ends_after_it_is_a_record(kind: Kind, kept: int) -> None:
    """Some of its four bytes, or all; at the end of the file or member, or before a record that begins at once."""
    records = [warc_record(page, i)[: kept - 4] for i, page in enumerate(PAGES)]
    whole = [b"".join(records)] if kind.endswith("-one") else records
    pack = gzip_member if ".gz" in kind else zstd_frame if ".zst" in kind else bytes
    raw = b"".join(map(pack, whole))
    events = read(raw)
    assert outline(events) == ["a", "b", "c"]
    assert [event.body for event in events if isinstance(event, Record)] == [page.body for page in PAGES]
    assert_tiles(raw, events)
    assert audit(raw, events) == []
    for cut in range(1, len(raw) + 1):
        assert read(raw, 0, cut) + read(raw, cut) == events


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("whole", [False, True])
def test_line_ends_of_lf_alone_are_named(packed: bool, whole: bool) -> None:
    """A transfer as text converts all line ends, a faulty writer only those of its header."""
    head, _, block = warc_record(PAGES[1]).partition(b"\r\n\r\n")
    bare = (head + b"\r\n\r\n" + (b"" if whole else block)).replace(b"\r\n", b"\n")
    bare += block.replace(b"\r\n", b"\n") if whole else b""
    records = [warc_record(PAGES[0]), bare, warc_record(PAGES[2], 2)]
    raw = b"".join(map(gzip_member, records) if packed else records)
    events = read(raw)
    assert outline(events) == ["a", "bad_header", "c"]
    assert isinstance(events[1], Unreadable)
    assert "end with LF alone" in events[1].detail
    assert_tiles(raw, events)


def test_iipc_dictionary_raw_or_compressed() -> None:
    records = [warc_record(page, i) for i, page in enumerate(PAGES)]
    dictionary = zstandard.train_dictionary(2048, [warc_record(PAGES[i % 3], i) for i in range(64)])
    frames = b"".join(zstd_frame(record, dictionary) for record in records)
    for stored in (dictionary.as_bytes(), zstd_frame(dictionary.as_bytes())):
        raw = b"\x5d\x2a\x4d\x18" + len(stored).to_bytes(4, "little") + stored + frames
        events = read(raw)
        assert outline(events) == ["padding", "a", "b", "c"]
        assert_tiles(raw, events)
        assert audit(raw, events) == []
        assert outline(read(raw, 100)) == ["a", "b", "c"]  # a part that begins later finds the dictionary too


def test_a_damaged_dictionary_costs_the_frames_that_need_it_and_no_more() -> None:
    dictionary = zstandard.train_dictionary(2048, [warc_record(PAGES[i % 3], i) for i in range(64)])
    stored = b"\x37\xa4\x30\xec" + b"\xff" * 500
    frames = zstd_frame(warc_record(PAGES[0]), dictionary) + zstd_frame(warc_record(PAGES[1]))
    raw = b"\x5d\x2a\x4d\x18" + len(stored).to_bytes(4, "little") + stored + frames
    assert outline(read(raw)) == ["padding", "corrupt_member", "b"]


def test_an_archive_inside_a_record_is_payload() -> None:
    inner = b"".join(pieces(PAGES, "warc.gz"))
    outer = Capture("https://e.org/inner.warc.gz", inner, "application/warc")
    for raw in (gzip.compress(warc_record(outer), 0), warc_record(outer)):
        [record] = read(raw)
        assert isinstance(record, Record)
        assert record.body == inner
        assert audit(raw, [record]) == []


def test_a_part_fooled_by_an_inner_archive_does_not_tile() -> None:
    """A stored member shows the inner members to a part that begins inside it: its ranges then overlap."""
    inner = b"".join(pieces(PAGES, "warc.gz"))
    raw = gzip.compress(warc_record(Capture("https://e.org/w", inner)), 0) + gzip_member(warc_record(PAGES[0]))
    events = read(raw, 0, 100) + read(raw, 100)
    assert any("overlaps" in finding for finding in audit(raw, events))


def test_writers_in_the_field_are_understood() -> None:
    """Warcio wrote it, FastWARC reads it: the same URLs, types and payloads."""
    out = io.BytesIO()
    writer = WARCWriter(out, gzip=True)
    writer.write_record(writer.create_warcinfo_record("a.warc.gz", {"software": "test"}))
    for i in range(20):
        http = StatusAndHeaders("200 OK", [("Content-Type", "text/html")], protocol="HTTP/1.0")
        body = b"x" * i * 7
        writer.write_record(
            writer.create_warc_record(f"http://e.org/{i}", "response", io.BytesIO(body), http_headers=http)
        )
    raw = out.getvalue()
    theirs = [
        (theirs.headers.get("WARC-Target-URI"), theirs.record_id, theirs.reader.read())
        for theirs in ArchiveIterator(io.BytesIO(raw), parse_http=True)
        if theirs.is_http
    ]
    events = read(raw)
    ours = [(event.url, f"<{event.key}>", event.body) for event in events if isinstance(event, Record)]
    assert ours == [row for row in theirs if row[2]]
    assert outline(events)[:2] == ["not_content", "empty"]
    assert audit(raw, events) == []


def test_a_body_beyond_the_limit_is_not_held() -> None:
    limits = ReadLimits(max_body_bytes=10_000, max_header_bytes=2_000)
    for kind in WARC_KINDS:
        raw = b"".join(pieces([PAGES[0], Capture("https://e.org/big", b"0123456789" * 5_000), PAGES[1]], kind))
        events = read(raw, limits=limits)
        assert outline(events) == ["a", "big", "b"]
        assert_tiles(raw, events)
        big = events[1]
        assert isinstance(big, Record)
        assert (big.body, big.body_bytes, big.head) == (None, 50_000, (b"0123456789" * 410)[:4096])
        assert big.declared_mime == "text/html"


def test_a_member_that_inflates_without_end_is_a_bomb() -> None:
    limits = ReadLimits(max_body_bytes=10_000, max_header_bytes=2_000, max_member_bytes=1 << 20)
    bomb = warc_record(Capture("https://e.org/bomb", bytes(4 << 20)))
    for pack in (gzip_member, zstd_frame):
        raw = pack(warc_record(PAGES[0])) + pack(bomb) + pack(warc_record(PAGES[1]))
        events = read(raw, limits=limits)
        assert outline(events) == ["a", "bomb", "b"]
        assert_tiles(raw, events)


@pytest.mark.parametrize(
    ("raw", "moment"),
    [
        (b"2024-05-01T12:00:00Z", datetime(2024, 5, 1, 12, tzinfo=UTC)),
        (b"2024-05-01T12:00:00.123456789Z", datetime(2024, 5, 1, 12, 0, 0, 123456, tzinfo=UTC)),
        (b"2024-05-01T14:00:00+02:00", datetime(2024, 5, 1, 12, tzinfo=UTC)),
        (b"2024-05-01 12:00:00", datetime(2024, 5, 1, 12, tzinfo=UTC)),
        (b"2024-05", datetime(2024, 5, 1, tzinfo=UTC)),
        (b"2024", datetime(2024, 1, 1, tzinfo=UTC)),
        (b"0001-01-01T00:00:00+23:59", None),
        (b"2024-13-01T00:00:00Z", None),
        (b"yesterday", None),
        ("２０２４".encode(), None),
        (b"", None),
        (None, None),
    ],
)
def test_dates_are_read_leniently(raw: bytes | None, moment: datetime | None) -> None:
    assert parse_date(raw) == moment


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        (b"https://e.org/a", "https://e.org/a"),
        ("https://e.org/ä".encode(), "https://e.org/ä"),
        (b"https://e.org/\xe4", "https://e.org/%E4"),
        (b"https://e.org/a b\x00\x1b", "https://e.org/a%20b%00%1B"),
        ("https://e.org/\u2028".encode(), "https://e.org/%E2%80%A8"),
        (b"https://e.org/\xed\xa0\x80", "https://e.org/%ED%A0%80"),
    ],
)
def test_urls_are_made_safe_without_losing_a_byte(raw: bytes, text: str) -> None:
    assert safe_text(raw) == text


def test_a_repeated_field_counts_once_and_a_missing_key_is_none() -> None:
    raw = warc_record(PAGES[0]).replace(b"WARC-Date", b"WARC-Type: request\r\nWARC-Date")
    raw = b"\r\n".join(line for line in raw.split(b"\r\n") if not line.startswith(b"WARC-Record-ID"))
    [record] = read(raw)
    assert isinstance(record, Record)
    assert record.key is None


def test_a_part_in_which_nothing_begins_is_empty() -> None:
    raw = b"".join(pieces(PAGES, "warc.gz"))
    assert read(raw, 5, 20) == []
    assert list(read_warc(io.BytesIO(b""), FilePart("empty", 0, 0, 0), ReadLimits())) == []


@pytest.mark.parametrize("kind", WARC_KINDS)
def test_a_record_is_found_again_by_its_offset(kind: Kind) -> None:
    raw = b"".join(pieces(PAGES, kind))
    for event in read(raw):
        again = read(raw, event.span.offset, event.span.offset + 1)
        assert event in again


def test_a_conversion_with_another_type_stays_bytes() -> None:
    [record] = read(warc_record(Capture("https://e.org/h", b"<p>", "text/html", kind="conversion")))
    assert isinstance(record, Record)
    assert (record.body, record.text) == (b"<p>", None)


def test_what_is_no_archive_is_one_quarantined_range() -> None:
    assert read(b"hello") == [Unreadable(Span(0, 5), "bad_header", "no record begins here")]
    assert read(bytes(100)) == [Dropped(Span(0, 100), "padding")]


def test_a_page_that_quotes_a_header_misleads_no_part() -> None:
    quoted = Capture("https://e.org/q", b"<pre>\r\n\r\n" + warc_record(PAGES[0])[:-90] + b" \xe2\x80\xa6</pre>")
    raw = warc_record(PAGES[0]) + warc_record(quoted) + warc_record(PAGES[1])
    whole = read(raw)
    assert outline(whole) == ["a", "q", "b"]
    assert all(read(raw, 0, cut) + read(raw, cut) == whole for cut in range(1, len(raw)))
