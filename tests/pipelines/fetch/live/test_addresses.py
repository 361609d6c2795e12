"""Lists of addresses in every dress: each line that is not empty becomes a text."""

import gzip
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard

from winnow.pipelines.fetch.live.addresses import MAX_LINE, read_addresses
from winnow.schemas.errors import SourceError

TWO = ["https://a.example/1", "https://b.example/ü"]


def read(file: Path, column: str = "url") -> list[str]:
    return [line for lines in read_addresses(str(file), column) for line in lines]


def written(folder: Path, name: str, content: bytes) -> Path:
    (folder / name).write_bytes(content)
    return folder / name


TEXT = "\n".join(TWO)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("list.txt", TEXT.encode()),
        ("list", TEXT.encode()),
        ("list.txt", f"\n{TWO[0]}\r\n   \r\n{TWO[1]}\r\n\r\n".encode()),
        ("list.txt", TEXT.replace("\n", "\r").encode()),
        ("list.csv", f"id,url\r1,{TWO[0]}\r2,{TWO[1]}\r".encode()),
        ("list.txt", b"\xef\xbb\xbf" + TEXT.encode()),
        ("list.txt", TEXT.encode("utf-16")),
        ("list.txt", TEXT.encode("latin-1")),
        ("list.txt.gz", gzip.compress(TWO[0].encode() + b"\n", mtime=0) + gzip.compress(TWO[1].encode(), mtime=0)),
        ("list.txt", gzip.compress(TEXT.encode(), mtime=0)),  # whatever it is called
        ("list.zst", zstandard.compress(TEXT.encode())),
        ("list.csv", f'id,url\n1,{TWO[0]}\n2,"{TWO[1]}"\n'.encode()),
        ("list.csv.gz", gzip.compress(f"url\n{TWO[0]}\n{TWO[1]}\n".encode(), mtime=0)),
        ("list.tsv", f"url\tid\n{TWO[0]}\t1\n{TWO[1]}\t2\n".encode()),
        ("list.jsonl", f'{{"url": "{TWO[0]}"}}\n\n{{"url": "{TWO[1]}"}}\n'.encode()),
        ("list.jsonl.zst", zstandard.compress(f'"{TWO[0]}"\n"{TWO[1]}"\n'.encode())),
    ],
)
def test_every_dress_gives_the_same_lines(tmp_path: Path, name: str, content: bytes) -> None:
    assert read(written(tmp_path, name, content)) == TWO


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.string_view()])
def test_a_column_of_a_parquet_file(tmp_path: Path, kind: pa.DataType) -> None:
    table = pa.table({"n": [1, 2, 3], "page": pa.array([TWO[0], None, TWO[1]], pa.string()).cast(kind)})
    pq.write_table(table, tmp_path / "list.parquet")
    assert read(tmp_path / "list.parquet", "page") == TWO


def test_bytes_in_any_encoding_in_a_parquet_file(tmp_path: Path) -> None:
    pq.write_table(pa.table({"url": [TWO[0].encode(), TWO[1].encode("latin-1")]}), tmp_path / "list.parquet")
    assert read(tmp_path / "list.parquet") == TWO


def test_a_line_without_end_is_cut_and_stays_too_long(tmp_path: Path) -> None:
    long = b"https://a.example/" + "ü".encode() * (1 << 20)
    spaces = b" " * (MAX_LINE - 10) + b"https://a.example/cut/here"
    found = read(written(tmp_path, "list.txt", b"\n".join((long, spaces, TWO[0].encode()))))
    assert [len(line) > MAX_LINE for line in found] == [True, True, False]
    assert found[2] == TWO[0]


def test_lines_that_are_no_rows_stay_lines(tmp_path: Path) -> None:
    file = written(tmp_path, "list.jsonl", b'{"url": "https://a.example/"}\n{"url": 5}\nnot json\n{}\n{"url": null}\n')
    assert read(file) == ["https://a.example/", "5", "not json", "", "null"]
    assert read(written(tmp_path, "list.csv", b"id,url\n1,https://a.example/\n2\n\n")) == ["https://a.example/", ""]


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        ("list.csv", b"id,link\n1,https://a.example/\n", ("'url'", "id, link", "column")),
        ("list.jsonl", b'{"link": "https://a.example/"}\n', ("'url'", "link", "column")),
        ("list.txt.gz", gzip.compress(b"https://a.example/\n" * 1000, mtime=0)[:-20], ("list.txt.gz",)),
        ("list.parquet", b"PAR1 and nothing more", ("list.parquet",)),
    ],
)
def test_what_cannot_be_read_is_named(tmp_path: Path, name: str, content: bytes, told: tuple[str, ...]) -> None:
    file = written(tmp_path, name, content)
    with pytest.raises(SourceError) as error:
        read(file)
    for words in told:
        assert words in str(error.value)


def test_a_list_that_is_a_folder(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="is a folder; expected the file"):
        read(tmp_path)


def test_a_list_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"no\.txt"):
        read(tmp_path / "no.txt")
