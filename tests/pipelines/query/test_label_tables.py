"""Tables of labels and answers: what counts, what is left out and why, and files that are none."""

import gzip
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.messages import assert_told
from winnow.pipelines.query.label_tables import ANSWER, name_of_text, read_labels
from winnow.schemas.errors import SourceError

A, B, C = (f"{number:032x}" for number in (10, 11, 12))


def write(folder: Path, name: str, content: str) -> str:
    (folder / name).write_text(content, "utf-8")
    return str(folder / name)


def refusal(pattern: str, *arguments: Any) -> str:
    with pytest.raises(SourceError) as caught:
        read_labels(pattern, *(arguments or ("label", "grade")))
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_all_formats_give_the_same_labels(tmp_path: Path) -> None:
    rows = {"id": [B, A, C], "label": [1, 0, 1]}
    pq.write_table(pa.table(rows), tmp_path / "a.parquet")
    write(tmp_path, "a.csv", f"id,label,note\n{B},1,x\n{A},0,\n{C},true,\n")
    write(
        tmp_path,
        "a.jsonl",
        f'{{"id": "{B}", "label": 1}}\n{{"label": "0", "id": "{A}"}}\n{{"id": "{C}", "label": true}}\n',
    )
    (tmp_path / "b.csv.gz").write_bytes(gzip.compress((tmp_path / "a.csv").read_bytes()))
    for name in ("a.parquet", "a.csv", "a.jsonl", "b.csv.gz"):
        found = read_labels(str(tmp_path / name), "label", "probability")
        assert (found.key, found.names) == ("id", tuple(map(bytes.fromhex, (A, B, C)))), name
        assert found.values.tolist() == [0, 1, 1]
        assert not found.left_out


def test_what_cannot_be_used_is_left_out_and_counted(tmp_path: Path) -> None:
    lines = [f"{A},1", f"{B},6", f"{B},-1", f"{B},nan", f"{B},", f"{B},good", "abc,3", ",3", f"{C},inf"]
    found = read_labels(write(tmp_path, "a.csv", "id,label\n" + "\n".join(lines)), "label", "grade")
    assert found.names == (bytes.fromhex(A),)
    assert found.left_out == {"not from 0 to 5": 3, "not a number": 3, "not an id": 2}
    sides = read_labels(str(tmp_path / "a.csv"), "label", "probability")
    assert sides.left_out == {"neither 0 nor 1": 5, "not a number": 3}


def test_contradicting_labels_are_left_out_and_grades_averaged(tmp_path: Path) -> None:
    path = write(tmp_path, "a.csv", f"id,label\n{A},1\n{A},0\n{B},1\n{B},1\n{C},0\n")
    sides = read_labels(path, "label", "probability")
    assert (sides.names, sides.left_out) == (tuple(map(bytes.fromhex, (B, C))), {"labelled both ways": 2})
    grades = read_labels(path, "label", "grade")
    assert (grades.values.tolist(), grades.several) == ([0.5, 1, 0], 2)
    only = write(tmp_path, "b.csv", f"id,label\n{A},1\n{A},0\n")
    assert_told(refusal(only, "label", "probability"), "all 1 labelled samples", "both ways")


def test_the_order_of_rows_and_files_does_not_matter(tmp_path: Path) -> None:
    rows = [f"{A},1.1", f"{A},2.7", f"{A},0.3", f"{B},4"]
    for name, some in (("1.csv", rows[:2]), ("2.csv", rows[2:]), ("all.csv", rows[::-1])):
        write(tmp_path, name, "id,label\n" + "\n".join(some))
    parts = read_labels(str(tmp_path / "[12].csv"), "label", "grade")
    assert parts.values.tolist() == read_labels(str(tmp_path / "all.csv"), "label", "grade").values.tolist()


def test_samples_are_named_by_key_or_text_too(tmp_path: Path) -> None:
    keys = read_labels(write(tmp_path, "k.csv", "key,label\nb,1\na,0\n"), "label", "grade")
    assert (keys.key, keys.names) == ("key", (b"a", b"b"))
    texts = read_labels(write(tmp_path, "t.jsonl", '{"text": "Zwei\\n", "label": 2}\n'), "label", "grade")
    assert (texts.key, texts.names, texts.texts) == ("text", (name_of_text("Zwei\n"),), ("Zwei\n",))


def test_answers_are_read_for_their_grades(tmp_path: Path) -> None:
    answers = ["Good.\\nGrade: 4", "Grade: 7", "I cannot say.", ""]
    lines = [f'{{"id": "{name}", "answer": "{answer}"}}' for name, answer in zip((A, B, C, C), answers, strict=True)]
    found = read_labels(write(tmp_path, "a.jsonl", "\n".join(lines)), ANSWER, "grade")
    assert (found.names, found.values.tolist()) == ((bytes.fromhex(A),), [4])
    assert found.left_out == {"not from 0 to 5": 1, "unparsable answer": 2}


def test_files_that_are_no_tables_are_refused_in_a_line(tmp_path: Path) -> None:
    assert_told(refusal(str(tmp_path / "*.csv")), "no such file")
    assert_told(refusal(write(tmp_path, "a.txt", "x")), "a.txt", ".jsonl, .csv or .parquet")
    assert_told(refusal(write(tmp_path, "e.csv", "")), "e.csv", "empty")
    assert_told(refusal(write(tmp_path, "e.jsonl", "")), "e.jsonl", "empty")
    assert_told(refusal(write(tmp_path, "e.parquet", "")), "e.parquet", "empty")
    assert_told(refusal(write(tmp_path, "x.parquet", "no table")), "x.parquet", "cannot be read")
    assert_told(refusal(write(tmp_path, "c.csv", "name,label\na,1\n")), "c.csv", "no column id, key or text")
    assert_told(refusal(write(tmp_path, "h.csv", "id,label\n")), "h.csv", "no rows")
    assert_told(refusal(write(tmp_path, "l.csv", "id,lable\n")), "did you mean 'lable'?", "--label-column")
    assert_told(refusal(write(tmp_path, "j.jsonl", "{]\n")), "j.jsonl", "cannot be read")
    assert_told(refusal(write(tmp_path, "n.csv", f"id,label\n{A},x\n")), "1 not a number")
    write(tmp_path, "m1.csv", f"id,label\n{A},1\n")
    write(tmp_path, "m2.csv", "key,label\na,1\n")
    assert_told(refusal(str(tmp_path / "m?.csv")), "m2.csv", "'key'", "alike")
