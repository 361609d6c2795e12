from datetime import UTC, datetime

import pytest

from winnow.pipelines.ingest.columns import ColumnMapping, find, moment, no_such_column, row_event
from winnow.pipelines.ingest.records import Dropped, ReadLimits, Record, Span, Unreadable
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


def test_the_error_for_a_missing_column_names_the_nearest() -> None:
    assert str(no_such_column("a.parquet", "txt", ["id", "text"])) == (
        "a.parquet: no column 'txt' (did you mean 'text'?); the columns are: id, text"
    )
