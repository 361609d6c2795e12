"""What ingest keeps of what a response and its page say about their use."""

import gzip

import orjson
import pytest

from tests.pipelines.ingest.archive_reading import read
from tests.pipelines.ingest.made_archives import Capture, arc_description, arc_record, warc_record
from winnow.pipelines.ingest.archives.opt_out import of_headers
from winnow.pipelines.ingest.records import Record, Unreadable
from winnow.pipelines.ingest.rows import Row, SourceRows, row_of
from winnow.schemas.identity import Json

SOURCE = SourceRows("crawl", "web", "unknown", (200,))
PAGE = b"<!doctype html><head>%s</head><body><p>text"


def said(raw: bytes, *, arc: bool = False) -> Json:
    """`opt_out` of the only sample of an archive."""
    [record] = [event for event in read(raw, arc=arc) if isinstance(event, Record)]
    row = row_of(record, "file", "etag", SOURCE)
    assert isinstance(row, Row)
    found: Json = orjson.loads(row.metadata).get("opt_out")
    return found


def page(*metas: str, headers: dict[str, str] | None = None) -> Capture:
    return Capture("https://example.org/", PAGE % "".join(metas).encode(), headers=headers or {})


def test_headers_and_elements_are_kept_as_they_stand() -> None:
    capture = page(
        '<META NAME="Robots" CONTENT="NoAI , follow">',
        '<meta name="robots" content="noarchive">',
        headers={
            "X-Robots-Tag": "googlebot: noindex",
            "x-robots-tag": "noai",
            "TDM-Reservation": "1",
            "TDM-Policy": "/policy.json",
            "Content-Usage": "train-ai=n",
            "Content-Signal": "ai-train=no",
            "X-Other": "noai",
        },
    )
    expected = {
        "headers": {
            "x-robots-tag": ["googlebot: noindex", "noai"],
            "tdm-reservation": ["1"],
            "tdm-policy": ["/policy.json"],
            "content-usage": ["train-ai=n"],
            "content-signal": ["ai-train=no"],
        },
        "meta": {"robots": ["NoAI , follow", "noarchive"]},
    }
    assert said(warc_record(capture)) == expected
    assert said(arc_description() + arc_record(capture), arc=True) == expected


def test_a_response_that_says_nothing_says_so() -> None:
    assert said(warc_record(page())) == {"headers": {}}
    assert said(warc_record(Capture("https://example.org/a.png", b"\x89PNG\r\n\x1a\n" + bytes(99)))) == {"headers": {}}


def test_of_a_record_without_a_header_only_the_page_is_heard() -> None:
    noai = PAGE % b'<meta name="robots" content="noai">'
    assert said(warc_record(Capture("https://e.org/", noai, "text/html", kind="resource"))) == {
        "meta": {"robots": ["noai"]}
    }
    assert said(warc_record(Capture("https://e.org/", PAGE % b"", "text/html", kind="resource"))) is None
    assert said(warc_record(Capture("https://e.org/", b"text", "text/plain", kind="conversion"))) is None


def test_elements_are_read_after_every_coding_is_undone() -> None:
    body = (PAGE.decode() % '<meta name="robots" content="noai, größe">').encode("utf-16")
    capture = Capture("https://e.org/", gzip.compress(body), "text/html", headers={"Content-Encoding": "gzip"})
    assert said(warc_record(capture)) == {"headers": {}, "meta": {"robots": ["noai, größe"]}}


def test_values_in_any_bytes_are_kept() -> None:
    raw = warc_record(page(headers={"X-Robots-Tag": "noai"})).replace(b": noai", b": \x00\xffai")
    assert said(raw) == {"headers": {"x-robots-tag": ["\x00ÿai"]}}


def test_equal_statements_are_kept_once_and_of_many_different_ones_the_first() -> None:
    equal = {b"x-robots-tag": [b"noai"] * 10_000}
    assert of_headers(equal) == {"headers": {"x-robots-tag": ["noai"]}}
    different = {b"x-robots-tag": [b"bot%d: noai" % number for number in range(10_000)], b"tdm-policy": [b"p"]}
    assert of_headers(different) == {
        "headers": {"x-robots-tag": [f"bot{number}: noai" for number in range(32)]},
        "cut": True,
    }
    metas = "".join(f'<meta name="robots" content="bot{number}: noai">' for number in range(10_000))
    found = said(warc_record(page(metas)))
    assert isinstance(found, dict)
    assert (len(found["meta"]["robots"]), found["cut"]) == (32, True)


@pytest.mark.parametrize("size", [1024, 1025, 4096, 1_000_000])
def test_a_long_value_is_cut_and_says_so(size: int) -> None:
    found = said(warc_record(page(headers={"X-Robots-Tag": "n" * size})))
    expected = {"headers": {"x-robots-tag": ["n" * 1024]}}
    assert found == (expected if size == 1024 else {**expected, "cut": True})


def test_a_header_beyond_the_limit_is_quarantined_as_ever() -> None:
    [event] = read(warc_record(page(headers={"X-Robots-Tag": "n" * (1 << 20)})))
    assert isinstance(event, Unreadable)
