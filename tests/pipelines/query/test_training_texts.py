"""Texts to train on: out of files of each kind, with what could not be read counted."""

import gzip
import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard

from tests.messages import assert_refused
from winnow.pipelines.query.training_texts import Losses, Text, names_files, texts_of_files
from winnow.schemas.errors import SourceError


def texts(pattern: Path, column: str = "text") -> tuple[list[Text], dict[str, int]]:
    losses = Losses()
    return list(texts_of_files(str(pattern), column, losses)), dict(losses.reasons)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("books/*.jsonl", True),
        ("books/**/*.JSONL.zst", True),
        ("a.txt.gz", True),
        ("a.parquet", True),
        ("samples.source.name = 'books'", False),
        ("text.gopher.words > 100", False),
        ("crawl.warc.gz", False),
        ("", False),
    ],
)
def test_a_value_that_ends_like_a_file_of_texts_names_files(value: str, expected: bool) -> None:
    assert names_files(value) is expected


def test_json_lines_give_their_text_and_language(tmp_path: Path) -> None:
    rows = [{"text": "one", "language": "eng"}, {"text": "two"}, {"text": None}, {"text": "three", "language": 3}]
    raw = "\n".join([*map(json.dumps, rows), "{broken", ""]).encode()
    (tmp_path / "b.jsonl").write_bytes(raw)
    (tmp_path / "a.jsonl.zst").write_bytes(zstandard.compress(b'{"text": "zero"}\n'))
    (tmp_path / "c.jsonl.gz").write_bytes(gzip.compress(b'{"text": "four"}\n')[:-4])
    found, losses = texts(tmp_path / "*.jsonl*")
    assert found[:4] == [("zero", None), ("one", "eng"), ("two", None), ("three", None)]
    assert losses["bad_json"] == 1
    assert losses["missing_text"] == 1


def test_parquet_gives_the_column_that_is_asked_for(tmp_path: Path) -> None:
    table = pa.table({"body": ["one", None, "two"], "language": ["de", "de", None]})
    pq.write_table(table, tmp_path / "rows.parquet")
    found, losses = texts(tmp_path / "rows.parquet", "body")
    assert found == [("one", "de"), ("two", None)]
    assert losses == {"missing_text": 1}


@pytest.mark.parametrize("ending", ["txt", "txt.gz", "txt.zst"])
def test_plain_text_gives_a_text_a_line(tmp_path: Path, ending: str) -> None:
    raw = b"one\r\n\n two \n\xff\xfe\nthree"
    packed = {"txt": raw, "txt.gz": gzip.compress(raw), "txt.zst": zstandard.compress(raw)}[ending]
    (tmp_path / f"lines.{ending}").write_bytes(packed)
    found, losses = texts(tmp_path / f"lines.{ending}")
    assert [text.strip() for text, _ in found] == ["one", "two", "three"]
    assert losses == {"bad_utf8": 1}


def test_what_a_damaged_file_still_gives_is_taken(tmp_path: Path) -> None:
    whole = gzip.compress(b"".join(b"line %d\n" % number for number in range(100_000)))
    (tmp_path / "lines.txt.gz").write_bytes(whole[: len(whole) // 2])
    found, losses = texts(tmp_path / "lines.txt.gz")
    assert 1000 < len(found) < 100_000
    assert sum(losses.values()) == 1


def test_files_that_are_not_there_are_an_error(tmp_path: Path) -> None:
    with assert_refused(SourceError, "expected JSON"):
        texts(tmp_path / "*.jsonl")
