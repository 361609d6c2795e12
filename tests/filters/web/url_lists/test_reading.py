"""Files of lists: what is in them, what is wrong with them, and that nothing in one is too much."""

import gzip
from collections.abc import Iterator
from io import BytesIO, RawIOBase

import pytest
import zstandard

from tests.filters.web.url_lists.addresses import list_of, matched
from tests.messages import assert_told, assert_told_each
from winnow.filters.web.url_lists import reading
from winnow.filters.web.url_lists.reading import read_list
from winnow.schemas.errors import RecipeError

LIST = b"\xef\xbb\xbf# mine\r\n\r\nexample.com\r\n=b.example\r\n! no\r\n0.0.0.0 c.example\r\nexample.com\r\nd.example/e"


def refusal(content: bytes) -> str:
    with pytest.raises(RecipeError) as caught:
        read_list(BytesIO(content), "list.txt")
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize(
    "pack",
    [
        bytes,
        gzip.compress,
        zstandard.ZstdCompressor().compress,
        lambda content: gzip.compress(content[:30]) + gzip.compress(content[30:]),
        lambda content: zstandard.compress(content[:30]) + zstandard.compress(content[30:]),
    ],
)
def test_marks_line_ends_comments_and_compression_do_not_matter(pack) -> None:  # type: ignore[no-untyped-def]
    index = read_list(BytesIO(pack(LIST)), "list.txt")
    assert index.summary.entries == {"domain": 2, "host": 1, "path": 1}
    assert (index.summary.lines, index.summary.invalid) == (8, 0)
    assert index.summary.remarks() == []
    assert matched(index, ["http://x.c.example", "http://d.example/e/f"]) == [
        ("domain", "c.example"),
        ("path", "d.example/e"),
    ]


def test_lines_that_are_no_entries_are_counted_and_the_first_named() -> None:
    index = list_of(["a.example", "b c", "co.uk", "x:1"])
    assert (index.summary.lines, index.summary.invalid) == (4, 2)
    assert_told_each(index.summary.remarks(), ("2 of 4", "2", "line 4"), ("1", "co.uk", "*.NAME"))


def test_a_list_without_an_entry_is_refused() -> None:
    expects = "expected one per line, such as example.com or word:casino"
    assert_told(refusal(b""), "list.txt", "0 lines", str(expects), whole=True)
    assert_told(refusal(b"# a\n"), "list.txt", "1 lines", str(expects), whole=True)
    assert_told(refusal(b"a b\n\xff\n"), str(expects), "line 1", "line 2", "UTF-8")
    assert_told(refusal("example.com".encode("utf-16")), "list.txt", "UTF-16", "UTF-8", whole=True)
    assert "none of" in refusal(b"\0\x01\x02" * 100_000)


def test_damaged_compression_is_refused() -> None:
    for packed in (gzip.compress(LIST), zstandard.compress(LIST)):
        assert "cannot be unpacked" in refusal(packed[:-3])
        assert "cannot be unpacked" in refusal(packed[:12] + b"\xff" * 20)


class Endless(RawIOBase):
    """A gigabyte of one letter, then a line end and an entry."""

    def __init__(self, size: int) -> None:
        self.left = size
        self.tail = b"\nexample.com\n"

    def seek(self, offset: int, whence: int = 0) -> int:
        self.left -= offset
        return 0

    def read(self, size: int = -1) -> bytes:
        given = min(size, self.left)
        self.left -= given
        if given:
            return b"a" * given
        tail, self.tail = self.tail, b""
        return tail


def test_a_gigabyte_in_a_line_is_one_line_that_is_no_entry() -> None:
    index = read_list(Endless(1 << 30), "list.txt")  # type: ignore[arg-type]
    assert index.summary.entries == {"domain": 1}
    assert index.summary.first_invalid == [(1, "longer than 65,536 bytes")]
    assert index.summary.lines == 2


def test_a_bomb_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "MAX_LIST_BYTES", 50 << 20)
    for packed in (gzip.compress(bytes(100 << 20), 1), zstandard.compress(bytes(100 << 20))):
        assert refusal(packed).startswith("list.txt: more than 52,428,800 bytes")


def test_too_many_entries_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "MAX_ENTRIES", 3)
    monkeypatch.setattr(reading, "MAX_PART_BYTES", 10)
    assert "more than 3 entries" in refusal(b"a.b\nc.d\ne.f\ng.h\n")
    assert_told(refusal(b"part:casino\npart:casinos\n"), "10 bytes", "entries")


def test_lines_are_whole_however_a_file_is_cut_into_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = [f"{'x' * (number % 60 + 1)}{number}.example" for number in range(200)]
    text = "\n".join([*lines, "a b", *lines, "word:casino"])
    whole = list_of(text)

    def blocks(pieces: Iterator[bytes]) -> Iterator[bytes]:
        content = b"".join(pieces)
        yield from (content[at : at + 37] for at in range(0, len(content), 37))

    monkeypatch.setattr(reading, "_blocks", blocks)
    cut = list_of(text)
    assert cut.summary == whole.summary
    assert cut.summary.first_invalid == [(201, "more than one word")]
    for name, table in whole.tables.items():
        assert table.prints.tolist() == cut.tables[name].prints.tolist()


def test_the_order_of_lines_does_not_matter() -> None:
    lines = ["a.example", "b.example", "=c.example", "d.example/e", "d.example/f?g", "word:x", "part:yz", "part:y"]
    forth, back = list_of(lines), list_of(lines[::-1])
    assert (forth.parts, forth.label_counts, forth.path_depth) == (back.parts, back.label_counts, back.path_depth)
    for name, table in forth.tables.items():
        assert table.prints.tolist() == back.tables[name].prints.tolist()
