"""Lists made ready, as files: the same bytes for the same list, and nothing read from a file that is damaged."""

import hashlib
import json
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest

from tests.filters.web.url_lists.addresses import list_of, matched
from winnow.filters.web.url_lists import index as index_module
from winnow.filters.web.url_lists.index import MAGIC, UrlIndex, is_index, open_index, write_index
from winnow.filters.web.url_lists.lines import hash_names
from winnow.filters.web.url_lists.reading import ListReader
from winnow.filters.web.url_lists.table import holds, made_table
from winnow.schemas.errors import RecipeError

LINES = ["example.com", "=b.example", "c.example/d?e=f", "word:casino", "soft:x", "part:freepics", "b c", "co.uk"]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    write_index(list_of(LINES), tmp_path / "list")
    return tmp_path / "list"


def test_what_was_written_is_read(file: Path) -> None:
    made, opened = list_of(LINES), open_index(file)
    assert is_index(file)
    assert (opened.label_counts, opened.path_depth, opened.parts) == (made.label_counts, made.path_depth, made.parts)
    assert opened.summary == made.summary
    urls = [
        "http://a.example.com",
        "http://b.example",
        "http://c.example/d?e=f&g",
        "http://z.com/free-pics",
        "http://z",
    ]
    assert (
        matched(opened, urls)
        == matched(made, urls)
        == [
            ("domain", "example.com"),
            ("host", "=b.example"),
            ("path", "c.example/d?e=f"),
            ("word", "part:freepics"),
            None,
        ]
    )
    assert not opened.tables["domain"].prints.flags.writeable


def test_the_same_list_gives_the_same_bytes(file: Path, tmp_path: Path) -> None:
    write_index(list_of(LINES), tmp_path / "again")
    assert file.read_bytes() == (tmp_path / "again").read_bytes()


def test_a_damaged_file_is_refused(file: Path) -> None:
    whole = file.read_bytes()
    for size in (0, 10, len(MAGIC) + 24, 100, len(whole) // 2, len(whole) - 1):
        file.write_bytes(whole[:size])
        with pytest.raises(RecipeError, match="damaged"):
            open_index(file)
    for at in range(0, len(whole), 97):
        file.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
        with pytest.raises(RecipeError, match="damaged"):
            open_index(file)
    file.write_bytes(whole + b"more")
    with pytest.raises(RecipeError, match="damaged"):
        open_index(file)


def test_tables_that_lead_outside_are_refused(tmp_path: Path) -> None:
    made = list_of(LINES)
    for starts in ([0, 7], [1, 1], [2, 0, 1], [0, 4_000_000_000, 1]):
        table = made.tables["domain"]
        bad = type(table)(np.array(starts, np.uint32), table.prints)
        write_index(UrlIndex({**made.tables, "domain": bad}, made.label_counts), tmp_path / "list")
        with pytest.raises(RecipeError, match="damaged"):
            open_index(tmp_path / "list")


def test_another_format_is_refused(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(index_module, "FORMAT", 2)
    with pytest.raises(RecipeError, match="another version of winnow"):
        open_index(file)


def test_a_header_of_anything_else_is_refused(tmp_path: Path) -> None:
    for header in (b"[]", b"{}", b"null", b"[" * 100_000, json.dumps({"format": 1, "bytes": -1}).encode()):
        behind = len(header).to_bytes(8, "little") + header
        seen = hashlib.blake2b(behind, digest_size=16).digest()
        (tmp_path / "list").write_bytes(MAGIC + seen + behind)
        with pytest.raises(RecipeError, match="damaged"):
            open_index(tmp_path / "list")


def test_a_set_holds_its_names_and_no_others() -> None:
    encoded = [f"{number:x}.example".encode() for number in range(40_000)]
    text, offsets = np.frombuffer(b"".join(encoded), np.uint8), np.cumsum([0, *map(len, encoded)], dtype=np.int64)
    places, prints, _ = hash_names(text, offsets, offsets[1:])
    table = made_table(np.tile(places[::2], 2), np.tile(prints[::2], 2))
    found = [holds(table.starts, table.prints, place, print_) for place, print_ in zip(places, prints, strict=True)]
    assert found == [True, False] * 20_000
    assert len(table.prints) == 20_000
    assert table.bytes / 20_000 < 9.1


def test_five_files_are_one_list() -> None:
    reader = ListReader("list")
    for number in range(5):
        reader.add(BytesIO(f"{number}a.example\nno entry".encode()))
    index = reader.index()
    assert index.summary.entries == {"domain": 5}
    assert (index.summary.lines, index.summary.invalid) == (10, 5)
