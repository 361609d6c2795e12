from dataclasses import replace
from datetime import UTC, datetime

import pytest

from winnow.pipelines.ingest.records import Caption, Dropped, ReadLimits, Record, Span, Unreadable
from winnow.pipelines.ingest.tables.columns import ColumnMapping, columns_of_rows, find, moment, row_event
from winnow.pipelines.ingest.tables.media_values import EXPECTED_MEDIA
from winnow.schemas.identity import Json

SPAN = Span(0, 1, "rows")


def event(
    row: dict[str, Json], mapping: ColumnMapping | None = None, limit: int = 1000
) -> Record | Dropped | Unreadable:
    return row_event(row, SPAN, "jsonl", mapping or ColumnMapping(), ReadLimits(max_body_bytes=limit))


def test_dotted_names_reach_inside_and_take_out_only_what_they_name() -> None:
    mapping = ColumnMapping(text="doc.body", url="doc.meta.url", key="doc.id")
    record = event({"doc": {"body": "t", "id": 1, "meta": {"url": "u"}}, "other": {"url": "kept"}}, mapping)
    assert isinstance(record, Record)
    assert (record.text, record.url, record.key) == ("t", "u", "1")
    assert record.metadata == {"other": {"url": "kept"}}


def test_a_column_with_the_whole_name_comes_before_a_path() -> None:
    assert find({"a.b": 1, "a": {"b": 2}}, "a.b") == 1
    assert find({"a": {"b": 2}}, "a.b") == 2


def test_one_column_may_have_two_roles() -> None:
    record = event({"text": "t", "url": "u"}, ColumnMapping(key="url"))
    assert isinstance(record, Record)
    assert (record.key, record.url, record.metadata) == ("u", "u", {})


def test_what_cannot_be_used_stays_in_the_metadata() -> None:
    record = event({"text": "t", "url": 5, "at": "yesterday"}, ColumnMapping(fetched_at="at"))
    assert isinstance(record, Record)
    assert (record.url, record.fetched_at) == (None, None)
    assert record.metadata == {"url": 5, "at": "yesterday"}


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("2020-02-29T12:00:00+02:00", datetime(2020, 2, 29, 10, tzinfo=UTC)),
        ("2020-02-29 12:00:00", datetime(2020, 2, 29, 12, tzinfo=UTC)),
        ("2020-02-29", datetime(2020, 2, 29, tzinfo=UTC)),
        (1582934400, datetime(2020, 2, 29, tzinfo=UTC)),
        (1582934400000, datetime(2020, 2, 29, tzinfo=UTC)),
        ("0001-01-01T00:00:00+05:00", None),
        (1e300, None),
        (True, None),
        (None, None),
        ("", None),
    ],
)
def test_moments(value: Json, expected: datetime | None) -> None:
    assert moment(value) == expected


def test_the_limit_counts_bytes_of_the_text() -> None:
    assert isinstance(event({"text": "é" * 50}, limit=100), Record)
    assert isinstance(event({"text": "é" * 51}, limit=100), Unreadable)


@pytest.mark.parametrize(
    ("rows", "mapping", "misfit"),
    [
        ([{"text": "a"}, {"x": 1}], ColumnMapping(), ""),
        ([{"text": None}], ColumnMapping(), ""),
        ([{"text": 1}, {"text": None}], ColumnMapping(), "column 'text' holds a number, expected a string"),
        (
            [{"id": 1, "text": "a"}],
            ColumnMapping("txt"),
            "no column 'txt' (did you mean 'text'?); the columns are: id, text",
        ),
        (
            [{"text": "a", "id": 1.5}],
            ColumnMapping(key="id"),
            "column 'id' holds a number, expected a string or an integer",
        ),
        ([{"text": "a"}], ColumnMapping(key="id"), "no column 'id'; the columns are: text"),
        ([{"text": "a", "url": 1}], ColumnMapping(fetched_at="t"), ""),
        ([{"text": "a"}], ColumnMapping(media="image"), ""),
        ([{"image": "a.png"}], ColumnMapping(media="image"), ""),
        ([{"label": "a"}], ColumnMapping(media="image"), "no column 'image'; the columns are: label"),
        ([{"image": "a", "says": 5}], ColumnMapping(media="image", captions="says"), "column 'says' holds a number"),
    ],
)
def test_rows_fit_unless_all_of_them_would_be_quarantined(
    rows: list[dict[str, Json]], mapping: ColumnMapping, misfit: str
) -> None:
    columns = columns_of_rows(rows, mapping)
    assert columns is not None
    assert columns.misfit(mapping).startswith(misfit)
    assert bool(columns.misfit(mapping)) == bool(misfit)


def named(record: Record) -> list[str | None]:
    return [item.names for item in record.items]


STRINGS = "expected a string or a list of strings"
PICTURES = ColumnMapping(key="id", media="image", captions="says")


def test_a_row_that_names_a_file_is_that_file_with_its_captions() -> None:
    row: dict[str, Json] = {"id": 1, "image": "a/b.png", "says": ["A cat", "", "on a mat"], "url": "u", "label": 3}
    found = row_event(dict(row), SPAN, "jsonl", PICTURES, ReadLimits(), "sets/one.jsonl")
    assert isinstance(found, Record)
    assert (found.key, named(found), found.text, found.url) == ("1", ["sets/a/b.png"], None, "u")
    assert found.captions == (Caption("A cat"), Caption("on a mat"))
    assert found.metadata == {"label": 3}


def test_a_row_that_names_a_file_may_have_a_text_beside_its_caption() -> None:
    found = event({"id": 1, "image": "b.png", "says": "A cat", "text": "A page on cats"}, PICTURES)
    assert isinstance(found, Record)
    assert (named(found), found.text, found.metadata) == (["b.png"], "A page on cats", {})
    assert found.captions == (Caption("A cat"),)
    both = event({"id": 1, "image": "b.png", "text": "A cat"}, replace(PICTURES, captions="text"))
    assert isinstance(both, Record)
    assert (both.text, both.captions) == (None, (Caption("A cat"),))


def test_a_row_that_names_none_is_a_text() -> None:
    found = event({"id": 1, "image": None, "text": "t", "says": "kept"}, PICTURES)
    assert isinstance(found, Record)
    assert (named(found), found.text, found.captions, found.metadata) == ([], "t", (), {"image": None, "says": "kept"})
    missing = event({"id": 1, "says": "A cat"}, PICTURES)
    assert isinstance(missing, Unreadable)
    assert missing.reason == "missing_media"


def test_what_is_said_of_no_medium_is_no_text() -> None:
    columns = ColumnMapping(text="says", media="image", captions="says")
    found = event({"image": None, "says": "A cat"}, columns)
    assert isinstance(found, Unreadable)
    assert (found.reason, found.detail) == ("missing_media", "column 'image': no medium")


@pytest.mark.parametrize(
    ("row", "reason", "detail"),
    [
        ({"image": 3}, "wrong_type", f"column 'image' holds a number, expected {EXPECTED_MEDIA}"),
        ({"image": "../b.png"}, "missing_media", "column 'image': '../b.png': expected a path below the source's root"),
        ({"image": "s3://b/c"}, "missing_media", "column 'image': 's3://b/c': expected a path below the source's root"),
        ({"image": ""}, "missing_media", "image: empty"),
        (
            {"image": "a", "says": 3},
            "wrong_type",
            f"column 'says' holds a number, {STRINGS}",
        ),
        (
            {"image": "a", "says": [3]},
            "wrong_type",
            f"column 'says' holds a list, {STRINGS}",
        ),
        ({"image": "a", "says": "x" * 1001}, "too_large", "a text and captions of 1001 bytes, the limit is 1000 bytes"),
    ],
)
def test_a_row_that_names_no_file_says_why(row: dict[str, Json], reason: str, detail: str) -> None:
    found = event({"id": 1, **row}, PICTURES)
    assert isinstance(found, Unreadable)
    assert (found.reason, found.detail, found.key) == (reason, detail, "1")
