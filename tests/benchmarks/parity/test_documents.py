"""Documents come from Parquet, from JSON lines and from stores, one by one and in bounded batches."""

import gzip
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from benchmarks.parity.documents import BATCH_BYTES, BATCH_ROWS, Columns, Document, batched, read_documents
from winnow.runners.commands.main import main
from winnow.schemas.errors import SourceError

DOCUMENTS = [Document("a", "first", "de"), Document("b", "second", None)]


def read(*paths: Path, columns: Columns = Columns(), limit: int | None = None) -> list[Document]:  # noqa: B008
    return list(read_documents([str(path) for path in paths], columns, limit))


def test_parquet(tmp_path: Path) -> None:
    rows = pa.table({"id": ["a", "x", "b"], "text": ["first", None, "second"], "language": ["de", "de", None]})
    pq.write_table(rows, tmp_path / "part.parquet")
    assert read(tmp_path / "part.parquet") == DOCUMENTS
    assert read(tmp_path) == DOCUMENTS
    assert read(tmp_path, limit=1) == DOCUMENTS[:1]


@pytest.mark.parametrize("compressed", [False, True])
def test_json_lines(tmp_path: Path, compressed: bool) -> None:
    raw = b'{"id": "a", "text": "first", "language": "de"}\n\n{"id": "b", "text": "second"}\n{"id": "c", "text": ""}\n'
    path = tmp_path / ("lines.jsonl.gz" if compressed else "lines.jsonl")
    path.write_bytes(gzip.compress(raw) if compressed else raw)
    assert read(path) == DOCUMENTS


def test_the_texts_of_a_store(tmp_path: Path) -> None:
    (tmp_path / "lines.jsonl").write_text('{"id": "a", "body": "first"}\n{"id": "b", "body": "second"}\n')
    recipe = tmp_path / "recipe.yaml"
    recipe.write_text(
        "version: 1\nstore: {path: store}\ntext: samples.text\nsources:\n"
        '  lines: {root: ., files: ["*.jsonl"], class: web, key: id, columns: {text: body}}\n'
    )
    assert main(["ingest", str(recipe), "--workers", "1"]) == 0
    assert sorted(document.text for document in read(tmp_path / "store")) == ["first", "second"]


def test_columns_of_other_names_and_rows_without_one(tmp_path: Path) -> None:
    path = tmp_path / "lines.jsonl"
    path.write_text('{"url": "u", "body": "first"}\n{"body": "second"}\n')
    assert read(path, columns=Columns(text="body", id="url")) == [
        Document("u", "first", url="u"),
        Document("lines.jsonl:2", "second"),
    ]


def test_what_cannot_be_read_is_one_clear_line(tmp_path: Path) -> None:
    (tmp_path / "lines.jsonl").write_text('{"text": "first"}\n["no row"]\n')
    (tmp_path / "torn.jsonl.gz").write_bytes(gzip.compress(b'{"text": "first"}\n' * 100)[:-20])
    (tmp_path / "other.parquet").write_text("no parquet")
    pq.write_table(pa.table({"body": ["x"]}), tmp_path / "named.parquet")
    for name, complaint in (
        ("lines.jsonl", "lines.jsonl:2: not a row of JSON lines"),
        ("torn.jsonl.gz", "cannot be decompressed"),
        ("other.parquet", "not a Parquet file"),
        ("named.parquet", "no column 'text'; it has: body"),
        ("missing", "no such file"),
    ):
        with pytest.raises(SourceError, match=complaint):
            read(tmp_path / name)


def test_batches_are_bounded_in_rows_and_in_bytes() -> None:
    small = [Document(str(number), "x") for number in range(BATCH_ROWS + 1)]
    assert [len(batch) for batch in batched(iter(small))] == [BATCH_ROWS, 1]
    large = [Document(str(number), "x" * BATCH_BYTES) for number in range(3)]
    assert [len(batch) for batch in batched(iter(large))] == [1, 1, 1]
