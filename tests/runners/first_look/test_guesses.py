"""Which columns are taken for what, on tables as people have them."""

import gzip
from pathlib import Path

import orjson
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from winnow.pipelines.ingest.tables.columns import ColumnMapping
from winnow.pipelines.store.location import open_location
from winnow.runners.first_look.guesses import TableGuess, guess_columns
from winnow.schemas.identity import Json

LONG = "A sentence of some length, as texts have them."


def guess(folder: Path, name: str) -> TableGuess:
    objects = open_location(str(folder))
    (info,) = objects.list(name)
    return guess_columns(objects, info)


def lines(folder: Path, rows: list[dict[str, Json]]) -> TableGuess:
    (folder / "rows.jsonl").write_bytes(b"".join(orjson.dumps(row) + b"\n" for row in rows))
    return guess(folder, "rows.jsonl")


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([{"text": LONG}, {"text": LONG}], ColumnMapping(url=None)),
        (
            [
                {"id": 1, "content": LONG, "link": "https://a.example/1"},
                {"id": 2, "content": LONG, "link": "http://b.example"},
            ],
            ColumnMapping(text="content", key="id", url="link"),
        ),
        ([{"id": 1, "body": LONG}, {"id": 1, "body": LONG}], ColumnMapping(text="body", url=None)),
        (
            [{"meta": {"url": "https://a.example"}, "doc": {"text": LONG}}],
            ColumnMapping(text="doc.text", url="meta.url"),
        ),
        ([{"title": "short", "aufsatz": LONG}], ColumnMapping(text="aufsatz", url=None)),
        ([{"text": LONG, "url": "no address"}], ColumnMapping(url=None)),
        ([{"text": LONG, "date": "2024-05-01"}], ColumnMapping(url=None, fetched_at="date")),
        ([{"text": LONG}, {"text": None}, {"text": LONG}], ColumnMapping(url=None)),
        ([{"a": "x", "b": 1.5}], None),
    ],
)
def test_columns_by_name_and_by_values(
    tmp_path: Path, rows: list[dict[str, Json]], expected: ColumnMapping | None
) -> None:
    assert lines(tmp_path, rows).columns == expected


def test_a_column_of_file_names_is_media_only_where_files_are(tmp_path: Path) -> None:
    rows: list[dict[str, Json]] = [{"file_name": "a.jpg", "caption": "A cat.", "lang": "en"}]
    found = lines(tmp_path, rows)
    assert found.columns is None or found.columns.media is None
    (tmp_path / "a.jpg").write_bytes(b"\xff\xd8\xff")
    assert lines(tmp_path, rows).columns == ColumnMapping(
        url=None, media="file_name", captions="caption", language="lang"
    )


def test_names_that_lead_outside_are_not_looked_for(tmp_path: Path) -> None:
    rows: list[dict[str, Json]] = [{"image": "../../etc/a.jpg"}, {"image": "/etc/b.jpg"}, {"image": "c\0.jpg"}]
    assert lines(tmp_path, rows).columns is None or lines(tmp_path, rows).columns.media is None  # type: ignore[union-attr]


def test_pictures_as_hugging_face_stores_them(tmp_path: Path) -> None:
    image = pa.array([{"bytes": b"\xff\xd8\xff", "path": "a.jpg"}] * 2)
    pq.write_table(pa.table({"image": image, "caption": ["one cat", "two cats"]}), tmp_path / "rows.parquet")
    assert guess(tmp_path, "rows.parquet").columns == ColumnMapping(url=None, media="image", captions="caption")


def test_nested_columns_of_a_table(tmp_path: Path) -> None:
    table = pa.table({"doc_id": ["a", "b"], "payload": [{"text": LONG, "n": 1}, {"text": LONG, "n": 2}]})
    pq.write_table(table, tmp_path / "rows.parquet")
    assert guess(tmp_path, "rows.parquet").columns == ColumnMapping(text="payload.text", key="doc_id", url=None)


@pytest.mark.parametrize(
    ("name", "content", "why"),
    [
        ("a.json", b'[{"text": "one"},\n {"text": "two"}]', "one JSON array, not a JSON object a line"),
        (
            "a.jsonl",
            b"one\n" * 9,
            "no rows can be read: expected a JSON object a line; `jq -c .` shows where it is none",
        ),
        ("a.jsonl", b"\x00\xff\n" * 9, "it is not UTF-8"),
        ("a.jsonl", '{"text": "Größe"}\n'.encode("latin-1"), "`iconv -f LATIN1 -t UTF-8`"),
        ("a.csv", "text\nGröße\n".encode("latin-1"), "`iconv -f LATIN1 -t UTF-8`"),
        ("a.csv", "id,text\n1,Größe\n".encode("utf-16"), "`iconv -f UTF-16 -t UTF-8`"),
        ("a.jsonl", b"PK\x03\x04" + bytes(40), "expected JSON lines"),
        ("a.jsonl.gz", gzip.compress(b'{"text": "one"}\n', mtime=0)[:20], "the compressed data are damaged or cut"),
        ("a.jsonl.zst", b"\x28\xb5\x2f\xfd\xff\xff\xff", "the compressed data are damaged or cut"),
        ("a.jsonl.gz", gzip.compress(b"one\n" * 9, mtime=0), "no rows can be read: expected a JSON object a line"),
        ("a.parquet", b"no table" * 9, "no Parquet footer"),
        ("a.arrow", b"no table" * 9, ""),
        ("a.csv", b"text\n", "no rows can be read: expected a line of column names, then a row a line"),
    ],
)
def test_what_cannot_be_read_says_why(tmp_path: Path, name: str, content: bytes, why: str) -> None:
    (tmp_path / name).write_bytes(content)
    found = guess(tmp_path, name)
    assert found.columns is None
    assert why in found.problem
    assert found.problem
