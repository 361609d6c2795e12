"""What requests and crawlers' notes beside a capture say of where its address was found."""

import io
import json
from collections.abc import Sequence
from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from warcio.statusandheaders import StatusAndHeaders
from warcio.warcwriter import WARCWriter

from tests.pipelines.ingest.made_archives import KINDS, Capture, Kind, gzip_member, pieces, warc_record
from winnow.pipelines.ingest.archives.referrers import MOST_RECORDS, ReferrerReader, referrers_of_request
from winnow.pipelines.ingest.archives.warc import read_warc
from winnow.pipelines.ingest.formats import container_reader
from winnow.pipelines.ingest.records import Dropped, Event, ReadLimits, Record
from winnow.pipelines.ingest.rows import Row, SourceRows, row_of
from winnow.pipelines.ingest.tables.columns import ColumnMapping
from winnow.schemas.records import FilePart
from winnow.schemas.rows.referrers import MOST_LOADED, MOST_REFERRERS

CAT = "https://cdn.org/cat.png"
PNG = b"\x89PNG\r\n\x1a\n" + bytes(40)
PAGE = "https://e.org/cats?page=2"
SOURCE = SourceRows("crawl", "web", "unknown", (200,))


def tied(raw: bytes, cuts: Sequence[int] = ()) -> list[Event]:
    """The events of a file that is cut into parts at these places."""
    bounds = [0, *sorted(min(cut, len(raw)) for cut in cuts), len(raw)]
    reader = container_reader("warc", "a.warc", ColumnMapping(), with_referrers=True)
    parts = (FilePart("a.warc", len(raw), start, end) for start, end in pairwise(bounds))
    return [
        event for part in parts for event in reader(io.BytesIO(raw), part, ReadLimits()) if isinstance(event, Event)
    ]


def said(raw: bytes) -> list[tuple[tuple[str, ...], str | None]]:
    return [(event.referrers, event.hops) for event in tied(raw) if isinstance(event, Record)]


def picture(key: str = "urn:cat", url: str = CAT, body: bytes = PNG, **fields: str) -> bytes:
    return warc_record(
        Capture(url, body, mime="image/png", key=key, fields={n.replace("_", "-"): v for n, v in fields.items()})
    )


def request(key: str, referer: str, url: str = CAT, **fields: str) -> bytes:
    block = f"GET /cat.png HTTP/1.1\r\nHost: cdn.org\r\n{referer}Accept: */*\r\n\r\n".encode("utf-8", "surrogateescape")
    named = {name.replace("_", "-"): value for name, value in fields.items()}
    return warc_record(Capture(url, block, "application/http; msgtype=request", kind="request", key=key, fields=named))


def note(key: str, text: str, url: str = CAT, mime: str = "application/warc-fields", **fields: str) -> bytes:
    named = {name.replace("_", "-"): value for name, value in fields.items()}
    return warc_record(Capture(url, text.encode(), mime, kind="metadata", key=key, fields=named))


def with_warcio() -> bytes:
    """A page's picture as Heritrix writes it: the response, its request, and a note; by warcio."""
    out = io.BytesIO()
    writer = WARCWriter(out, gzip=True)
    http = StatusAndHeaders("200 OK", [("Content-Type", "image/png")], protocol="HTTP/1.1")
    response = writer.create_warc_record(CAT, "response", payload=io.BytesIO(PNG), http_headers=http)
    asked = StatusAndHeaders("GET /cat.png HTTP/1.0", [("Referer", PAGE)], is_http_request=True)
    link = {"WARC-Concurrent-To": response.rec_headers.get_header("WARC-Record-ID")}
    writer.write_record(response)
    writer.write_record(writer.create_warc_record(CAT, "request", http_headers=asked, warc_headers_dict=dict(link)))
    text = io.BytesIO(b"via: https://e.org/\r\nhopsFromSeed: LE\r\nfetchTimeMs: 565\r\n")
    fields = {"warc_content_type": "application/warc-fields", "warc_headers_dict": dict(link)}
    writer.write_record(writer.create_warc_record(CAT, "metadata", payload=text, **fields))
    return out.getvalue()


def test_a_picture_has_the_referrer_of_its_request_and_what_the_crawler_noted() -> None:
    (capture, *others) = tied(with_warcio())
    assert isinstance(capture, Record)
    assert others == [Dropped(event.span, "not_content") for event in others]
    assert len(others) == 2
    row = row_of(capture, "a.warc.gz", "e", SOURCE)
    assert isinstance(row, Row)
    metadata = json.loads(row.metadata)
    assert (metadata["warc_referrers"], metadata["warc_hops"]) == ([PAGE, "https://e.org/"], "LE")


def test_pages_keep_none_since_only_pictures_ask_for_them() -> None:
    page = warc_record(Capture(PAGE, b"<html><p>Cats", key="urn:page"))
    capture = tied(page + request("urn:r", "Referer: https://e.org/\r\n", PAGE, WARC_Concurrent_To="<urn:page>"))[0]
    assert isinstance(capture, Record)
    assert capture.referrers == ("https://e.org/",)
    row = row_of(capture, "a.warc", "e", SOURCE)
    assert isinstance(row, Row)
    assert "warc_referrers" not in row.metadata


def test_records_belong_together_by_their_ids_in_any_order_or_else_by_their_addresses() -> None:
    link = {"WARC_Concurrent_To": "<urn:cat>"}
    asked = request("urn:r", f"referer:  {PAGE} \r\n", **link)
    assert said(picture() + asked) == said(asked + picture()) == [((PAGE,), None)]
    by_response = request("urn:r", f"Referer: {PAGE}\r\n") + picture(WARC_Concurrent_To="<urn:r>")
    assert said(by_response) == [((PAGE,), None)]
    refers = note("urn:m", f"via: {PAGE}\r\nhopsFromSeed: 53+LE\r\n", WARC_Refers_To="<urn:cat>")
    assert said(picture() + refers) == [((PAGE,), "53+LE")]
    assert said(request("urn:r", f"Referer: {PAGE}\r\n") + picture()) == [((PAGE,), None)]  # neither names the other
    other = request("urn:r", f"Referer: {PAGE}\r\n", "https://cdn.org/dog.png")
    assert said(other + picture() + other) == [((), None)]
    assert said(picture() + request("urn:r", f"Referer: {PAGE}\r\n", WARC_Concurrent_To="<urn:dog>")) == [((), None)]


def test_requests_before_their_responses_go_to_the_right_ones() -> None:
    raw = b"".join(
        request(f"urn:r{number}", f"Referer: https://e.org/{number}\r\n", f"https://e.org/{number}.png")
        + picture(f"urn:p{number}", f"https://e.org/{number}.png", WARC_Concurrent_To=f"<urn:r{number}>")
        for number in range(5)
    )
    assert said(raw) == [((f"https://e.org/{number}",), None) for number in range(5)]


@pytest.mark.parametrize(
    ("referer", "found"),
    [
        ("Referer: about:client\r\n", ()),
        ("Referer: file:///etc/passwd\r\n", ()),
        ("Referer: \r\n", ()),
        ("Referer:\r\n", ()),
        (f"Referer: https://e.org/{'x' * 5000}\r\n", ()),
        ("X-Referer: https://e.org/a\r\n", ()),
        ("Referer: https://e.org/\r\n", ()),  # all that a browser tells another site
        ("Referer: https://e.org\r\n", ()),
        ("Referer: https://cdn.org/\r\n", ("https://cdn.org/",)),
        ("REFERER: https://e.org/a b\udcff\x7f\r\n", ("https://e.org/a%20b%FF%7F",)),
        ("".join(f"Referer: https://e.org/{n}\r\n" for n in range(50)), tuple(f"https://e.org/{n}" for n in range(8))),
    ],
)
def test_only_addresses_of_pages_are_kept_and_not_many(referer: str, found: tuple[str, ...]) -> None:
    assert len(found) <= MOST_REFERRERS
    assert said(picture() + request("urn:r", referer, WARC_Concurrent_To="<urn:cat>")) == [(found, None)]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "\x00" * 300,
        "via\r\nvia:\r\nvia: :",
        "hopsFromSeed: <script>\r\n",
        "hopsFromSeed: " + "L" * 9999,
        "a: b\r\n" * 99_999,
    ],
)
def test_notes_that_say_nothing_usable_are_left(text: str) -> None:
    assert said(picture() + note("urn:m", text, WARC_Concurrent_To="<urn:cat>")) == [((), None)]
    assert said(picture() + note("urn:m", "via: https://e.org/a", mime="text/plain", WARC_Refers_To="<urn:cat>")) == [
        ((), None)
    ]


def test_what_stands_too_far_away_does_not_count() -> None:
    link = {"WARC_Concurrent_To": "<urn:cat>"}
    between = b"".join(request(f"urn:{number}", "") for number in range(MOST_RECORDS - 1))
    asked = request("urn:r", f"Referer: {PAGE}\r\n", **link)
    assert said(picture() + between + asked) == [((PAGE,), None)]
    assert said(picture() + between + request("urn:more", "") + asked) == [((), None)]
    long = request("urn:long", f"X: {'x' * 70_000}\r\n")
    assert said(picture() + long + asked) == said(asked + long + picture()) == [((), None)]


_RECORDS = st.lists(
    st.sampled_from(
        [
            picture("urn:cat"),
            picture("urn:owl", "https://cdn.org/owl.png", WARC_Concurrent_To="<urn:r1>"),
            request("urn:r1", f"Referer: {PAGE}\r\n", "https://cdn.org/owl.png"),
            request("urn:r2", "Referer: https://e.org/2\r\n", WARC_Concurrent_To="<urn:cat>"),
            note("urn:m", "via: https://e.org/3\r\nhopsFromSeed: E", WARC_Refers_To="<urn:cat>"),
            warc_record(Capture("urn:info", b"software: x", "application/warc-fields", kind="warcinfo", key="urn:i")),
            b"damage" * 7,
        ]
    ),
    max_size=12,
)


@example([b"damage" * 7], [0], False)
@example([b"damage" * 7, picture("urn:cat")], [0], False)
@given(_RECORDS, st.lists(st.integers(0, 12_000), max_size=4), st.booleans())
def test_a_file_gives_the_same_however_it_is_cut(records: list[bytes], cuts: list[int], packed: bool) -> None:
    raw = b"".join(gzip_member(one) if packed and not one.startswith(b"damage") else one for one in records)
    whole = tied(raw)
    assert tied(raw, cuts) == whole
    plain = list(read_warc(io.BytesIO(raw), FilePart("a", len(raw), 0, len(raw)), ReadLimits()))
    assert [event.span for event in whole] == [event.span for event in plain]


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind.startswith("warc")])
def test_every_packing_gives_the_same_referrers(kind: Kind) -> None:
    asked = f"GET / HTTP/1.1\r\nReferer: {PAGE}\r\n\r\n".encode()
    captures = [
        Capture(CAT, PNG, "image/png", key="urn:cat"),
        Capture(CAT, asked, kind="request", key="urn:r", fields={"WARC-Concurrent-To": "<urn:cat>"}),
    ]
    assert said(b"".join(pieces(captures, kind))) == [((PAGE,), None)]


def loaded(body: object, url: str = "urn:pageinfo:https://e.org/p") -> object:
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    (event,) = tied(warc_record(Capture(url, raw, "application/json", kind="resource", key="urn:i")))
    assert isinstance(event, Record)
    return event.metadata.get("warc_page")


def test_a_page_info_record_lists_the_pictures_that_a_page_loaded() -> None:
    urls = {
        "https://e.org/p": {"status": 200, "mime": "text/html", "type": "document"},
        CAT: {"status": 200, "mime": "image/png", "type": "image"},
        "https://e.org/b.svg": {"status": 200, "mime": "image/svg+xml", "type": "other"},
        "https://e.org/a.css": {"status": 200, "mime": "text/css", "type": "stylesheet"},
        "data:image/png;base64,AAAA": {"status": 200, "mime": "image/png", "type": "image"},
    }
    info = {
        "pageid": "8",
        "url": "https://e.org/p",
        "urls": urls,
        "counts": {"jsErrors": 0},
        "ts": "2024-05-01T12:00:00Z",
    }
    assert loaded(info) == {"url": "https://e.org/p", "images": [CAT, "https://e.org/b.svg"]}
    del info["url"]
    assert loaded(info) == {"url": "https://e.org/p", "images": [CAT, "https://e.org/b.svg"]}
    assert loaded(info, "urn:text:https://e.org/p") is None
    many = {f"https://e.org/{number}.png": {"type": "image"} for number in range(MOST_LOADED + 9)}
    found = loaded({"urls": many})
    assert isinstance(found, dict)
    assert len(found["images"]) == MOST_LOADED


@pytest.mark.parametrize(
    "body",
    [b"{", b"[]", b"null", b"\xff", {"urls": []}, {"urls": {CAT: 200}}, {"urls": {CAT: {"mime": 3}}}, b"[" * 100_000],
)
def test_a_page_info_record_that_is_none_is_a_record_all_the_same(body: object) -> None:
    assert loaded(body) is None


def test_the_reader_is_one_that_wraps_another() -> None:
    reader = ReferrerReader(read_warc)
    assert list(reader(io.BytesIO(b""), FilePart("empty", 0, 0, 0), ReadLimits())) == []


def test_a_request_names_no_page_behind_an_empty_header() -> None:
    line = b"\nReferer: https://e.org/cats?page=2\r\n\r\n"
    assert referrers_of_request(b"GET /\r" + line, 0, 6 + len(line), CAT) == (PAGE,)
    assert referrers_of_request(b"\r\n\r\n" + line, 0, 4 + len(line), CAT) == ()
