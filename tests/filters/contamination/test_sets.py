"""Evaluation sets as they are read: formats, fields, and what is refused with which words."""

import gzip
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.messages import assert_refused
from winnow.filters.contamination import sets
from winnow.filters.contamination.sets import EvaluationSet, SetConfig, read_set
from winnow.filters.text.contamination import ContaminationConfig, remarks
from winnow.pipelines.assets import AssetFiles
from winnow.schemas.errors import RecipeError

LINES = (
    b'{"question": "Who?", "answer": "Me", "n": 1}\n\n{"question": ["a", 2, null], "answer": null}\n{"question": " "}\n'
)


def read(path: Path, content: bytes, question: tuple[str, ...] = ("question",), *answer: str) -> EvaluationSet:
    path.write_bytes(content)
    return read_set(SetConfig("quiz", str(path), question, answer), path)


@pytest.mark.parametrize("start", [b"", b"\xef\xbb\xbf"])
def test_json_lines_have_the_numbers_of_their_lines(tmp_path: Path, start: bytes) -> None:
    found = read(tmp_path / "quiz.jsonl", start + LINES, ("question",), "answer")
    assert found == EvaluationSet("quiz", [1, 3], ["Who?", "a 2"], ["Me", ""], 1)


def test_compressed_files_are_read(tmp_path: Path) -> None:
    assert len(read(tmp_path / "quiz.jsonl.gz", gzip.compress(LINES))) == 2
    assert len(read(tmp_path / "quiz.txt.gz", gzip.compress(b"one\ntwo\n"))) == 2


def test_fields_within_fields_and_several_fields_are_joined(tmp_path: Path) -> None:
    content = b'{"q": "Which?", "choices": {"text": ["red", "blue"], "label": ["A", "B"]}}'
    assert read(tmp_path / "q.jsonl", content, ("q", "choices.text")).questions == ["Which? red blue"]


def test_parquet_has_the_numbers_of_its_rows(tmp_path: Path) -> None:
    table = pa.table({"question": ["Who?", None, "Why?"], "answer": [["a", "b"], [], None], "more": [1, 2, 3]})
    pq.write_table(table, tmp_path / "quiz", row_group_size=2)
    found = read_set(SetConfig("quiz", "quiz", answer=("answer",)), tmp_path / "quiz")
    assert found == EvaluationSet("quiz", [1, 3], ["Who?", "Why?"], ["a b", ""], 1)


def test_a_line_of_plain_text_is_an_item(tmp_path: Path) -> None:
    assert read(tmp_path / "quiz.txt", b"one line\n\n  \nthe other\r\n").numbers == [1, 4]


BAD = {
    "UTF-16": ("q.jsonl", '{"question": "a"}'.encode("utf-16"), ("is UTF-16", "iconv -f UTF-16")),
    "UTF-16 without a mark": ("q.txt", "one line".encode("utf-16-le"), ("is UTF-16 or binary",)),
    "Latin-1": ("q.jsonl", '{"question": "a"}\n{"question": "é"}'.encode("latin-1"), ("line 2", "iconv -f LATIN1")),
    "a broken line": ("q.jsonl", b'{"question": "a"}\n{"question": "b"', (":2: ",)),
    "plain text by another name": ("q.data", b"one line", (":1: ", ".txt")),
    "an array": ("q.json", b'[{"question": "a"}]', (":1: ", "jq -c")),
    "no object": ("q.jsonl", b'"question"', (":1: ", "object")),
    "another field": ("q.jsonl", b'{"query": "a", "gold": "b"}', ("'question'", "query, gold")),
    "nothing": ("q.jsonl", b"", ("has no item",)),
    "blank lines": ("q.txt", b"\n \n", ("has no item",)),
    "a broken archive": ("q.jsonl.gz", gzip.compress(LINES)[:-20], ("cannot be read",)),
    "broken Parquet": ("q.parquet", b"PAR1" + bytes(64), ("Parquet",)),
}


@pytest.mark.parametrize("case", BAD)
def test_a_set_that_cannot_be_read_is_refused_in_one_line(tmp_path: Path, case: str) -> None:
    name, content, told = BAD[case]
    with assert_refused(RecipeError, name, *told):
        read(tmp_path / name, content)


def test_a_table_without_the_fields_names_those_that_it_has(tmp_path: Path) -> None:
    pq.write_table(pa.table({"query": ["a"], "gold": ["b"]}), tmp_path / "q.parquet")
    with assert_refused(RecipeError, "q.parquet", "'question'", "query, gold"):
        read_set(SetConfig("quiz", "q.parquet"), tmp_path / "q.parquet")


def test_an_answer_that_no_record_has_is_refused(tmp_path: Path) -> None:
    with assert_refused(RecipeError, "'answers'", "answer"):
        read(tmp_path / "q.jsonl", LINES, ("question",), "answers")


def test_a_file_beyond_the_limit_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sets, "MAX_SET_BYTES", 100)
    for name, content in (("q.jsonl", LINES * 2), ("q.txt.gz", gzip.compress(b"one line\n" * 1000))):
        with assert_refused(RecipeError, name, "100 bytes"):
            read(tmp_path / name, content)


def test_what_is_not_searched_for_is_told(tmp_path: Path) -> None:
    (tmp_path / "q.jsonl").write_bytes(LINES + b'{"question": "What is the time now?"}\n')
    config = ContaminationConfig(sets=(SetConfig("quiz", str(tmp_path / "q.jsonl")),))
    assert remarks(config, AssetFiles()) == (
        "of 4 items of quiz 2 have fewer than 4 words and 1 are empty: these are not searched for",
    )
