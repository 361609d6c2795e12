"""CSV and TSV tables: rows as Python's `csv` reads them, damage that stays in place, claims that the audit proves."""

import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.messages import assert_refused, assert_told, assert_told_each
from tests.pipelines.ingest.parts import assert_tiles, read, reasons
from winnow.pipelines.ingest.records import Dropped, Event, ReadLimits, Record, Span, Unreadable
from winnow.pipelines.ingest.tables.columns import ColumnMapping
from winnow.pipelines.ingest.tables.csv_rows import CsvReader
from winnow.pipelines.ingest.tiling.claims import Claim
from winnow.pipelines.ingest.tiling.csv_rows import check_csv, count_rows
from winnow.schemas.errors import SourceError

CAPTIONS = CsvReader(ColumnMapping(media="file_name", captions="text"))


def rows(raw: bytes, path: str = "captions.csv", limits: ReadLimits | None = None) -> list[Event]:
    return read(CAPTIONS, raw, limits=limits or ReadLimits(), path=path)


def said(events: list[Event]) -> list[tuple[str | None, str]]:
    """The first medium and caption of each row that has both."""
    found = [one for one in events if isinstance(one, Record) and one.items and one.captions]
    return [(one.items[0].names, one.captions[0].text) for one in found]


def claims(events: list[Event]) -> list[Claim]:
    return [Claim(event.span, not isinstance(event, Unreadable)) for event in events]


def proved(raw: bytes, events: list[Event], path: str = "captions.csv") -> None:
    assert_tiles(events, "bytes", len(raw))
    assert check_csv(io.BytesIO(raw), path, claims(events), len(raw)) == []


def test_rows_name_pictures_and_their_captions() -> None:
    raw = b'\xef\xbb\xbffile_name,text,label\r\na.jpg,"A ""red"" cat,\nasleep",3\r\n\r\nb/c.png,Ein Kater,\n'
    events = rows(raw)
    assert said(events) == [("a.jpg", 'A "red" cat,\nasleep'), ("b/c.png", "Ein Kater")]
    first = events[1]
    assert isinstance(first, Record)
    assert (first.span, first.container, first.metadata) == (Span(25, 33), "csv", {"label": "3"})
    assert [one.reason for one in events if isinstance(one, Dropped)] == ["not_content", "empty"]
    proved(raw, events)


@pytest.mark.parametrize(
    ("path", "raw"),
    [("a.tsv", b"file_name\ttext\na.jpg\tone, two; three\n"), ("a.csv", b"file_name;text\na.jpg;one, two\\; three\n")],
)
def test_fields_may_be_separated_by_tabs_or_semicolons(path: str, raw: bytes) -> None:
    raw = raw.replace(b"\\;", b"")
    assert said(rows(raw, path))[0][0] == "a.jpg"
    proved(raw, rows(raw, path), path)


def test_damage_costs_its_line() -> None:
    lines = [
        b"file_name,text",
        b"a.jpg,one",
        b'b.jpg,"never closed',
        b"c.jpg,three",
        b"d.jpg,\xff",
        b"e.jpg,five,six",
        b"f.jpg,six,",
        b"../g.jpg,seven",
        b",eight",
        b"h.jpg",
    ]
    raw = b"\n".join(lines)
    events = rows(raw)
    assert said(events) == [("a.jpg", "one"), ("c.jpg", "three"), ("f.jpg", "six")]
    picture = events[-1]
    assert isinstance(picture, Record)
    assert (picture.items[0].names, picture.captions) == ("h.jpg", ())
    assert reasons(events) == ["bad_csv", "bad_utf8", "bad_csv", "missing_media", "missing_media"]
    proved(raw, events)


def test_fields_larger_than_the_limit_cost_their_row() -> None:
    raw = b"file_name,text\na.jpg," + b"x" * 5000 + b'\nb.jpg,"' + b"y\n" * 3000 + b'"\nc.jpg,three\n'
    events = rows(raw, limits=ReadLimits(max_body_bytes=4000))
    assert ("c.jpg", "three") in said(events)
    assert "too_large" in reasons(events)
    proved(raw, events)


def test_a_huge_field_below_the_limit_is_read() -> None:
    raw = b'file_name,text\na.jpg,"' + b"x" * 500_000 + b'"\n'
    assert said(rows(raw)) == [("a.jpg", "x" * 500_000)]


def test_other_encodings_and_compressed_files_say_so() -> None:
    (event,) = rows("file_name,text\na.jpg,one\n".encode("utf-16"))
    assert isinstance(event, Unreadable)
    assert_told(event.detail, "UTF-16", "UTF-8", whole=True)
    with assert_refused(SourceError, "expected plain", "CSV"):
        rows(b"\x1f\x8b\x08\0\0\0\0\0")
    raw = b"\x1f\x8b\x08\0\0\0\0\0"
    (event,) = read(CsvReader(checked=False), raw, path="a.csv")
    assert isinstance(event, Unreadable)
    assert (event.span, event.reason) == (Span(0, len(raw)), "bad_csv")
    assert_told(event.detail, "compressed", "CSV", whole=True)


def test_a_header_that_names_a_column_twice_is_refused() -> None:
    (event,) = rows(b"file_name,text,text\na.jpg,one,two\n")
    assert isinstance(event, Unreadable)
    assert event.reason == "bad_csv"
    assert_told(event.detail, "two columns", "'text'", whole=True)
    assert said(rows(b"file_name,text,,\na.jpg,one,,\n")) == [("a.jpg", "one")]


FIELD = st.text(st.sampled_from('ab",\n\r é;\t'), max_size=8)


@given(st.lists(st.lists(FIELD, min_size=2, max_size=2), max_size=8))
def test_what_csv_wrote_is_read_and_proved(table: list[list[str]]) -> None:
    sink = io.StringIO()
    writer = csv.writer(sink)
    writer.writerow(["key", "text"])
    writer.writerows(table)
    raw = sink.getvalue().encode()
    events = read(CsvReader(ColumnMapping()), raw, path="a.csv")
    assert [one.text for one in events if isinstance(one, Record)] == [text for _, text in table if text]
    assert reasons(events) == []
    proved(raw, events, "a.csv")


@given(st.text(st.sampled_from('ab",\n\r é'), max_size=40), st.integers(20, 60))
def test_any_bytes_are_answered_for_and_counted_alike(text: str, limit: int) -> None:
    raw = b"key,text\n" + text.encode()
    proved(raw, read(CsvReader(ColumnMapping()), raw, limits=ReadLimits(max_body_bytes=limit), path="a.csv"), "a.csv")


def test_a_reader_that_joins_rows_is_caught() -> None:
    raw = b"key,text\na,one\nb,two\n"
    joined = [Claim(Span(0, 9), True), Claim(Span(9, 12), True)]
    assert_told_each(check_csv(io.BytesIO(raw), "a.csv", joined, len(raw)), ("bytes 9", "21", "hold 2"))
    assert [count_rows(one, b",") for one in (b'"a\nb",c\n', b'a"\nb\n', b'"a', b"a")] == [1, 2, 0, 1]
