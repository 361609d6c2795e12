import re

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.filters.extraction.written_pages import SENTENCES, TABLES, article
from winnow.filters.extraction.extract_main import MainConfig, extract_main
from winnow.filters.extraction.visible_text import visible_bytes
from winnow.schemas.rows import extraction


def visible(*pages: str | None) -> list[int]:
    return list(visible_bytes(pa.array(pages, pa.large_string())).tolist())


@pytest.mark.parametrize(
    ("page", "seen"),
    [
        ("", ""),
        ("two  \n words", "two words"),
        ("<p class=x>one</p><br>two", "onetwo"),
        ("a<!-- <p>not this -> or --this -->b", "ab"),
        ("a<!-->b", "ab"),
        ("<SCRIPT>if (a<b) alert('</p>')</SCRIPT>a<style>p {}</style >b", "ab"),
        ("<script src=x></script>a<stride>b<section>c", "abc"),
        ("1 < 2 and 2 > 1 <3", "1 < 2 and 2 > 1 <3"),
        ("<!DOCTYPE html><?xml version='1'?>ä", "ä"),
        ("a<b unfinished", "a"),
        ("a<!-- unfinished", "a"),
        ("a<script>unfinished", "a"),
        ("a<", "a<"),
        ("a<s", "a"),
    ],
)
def test_what_a_reader_sees_is_counted(page: str, seen: str) -> None:
    assert visible(page) == [len(seen.encode())]


FRAGMENTS = st.sampled_from(
    [*"aü \n<>-!", "<b>", "</b>", "<!--", "-->", "<script>", "</script>", "<STYLE >", "</s", "<?"]
)
_HIDDEN = re.compile(
    rb"<!--.*?(?:(?<=--)>|\Z)"
    rb"|<(?=.{7})(?:[sS][cC][rR]|[sS][tT][yY])[^>]*.*?(?:</[sS][^>]*(?:>|\Z)|\Z)"
    rb"|<[a-zA-Z/!?][^>]*(?:>|\Z)",
    re.DOTALL,
)


@given(st.lists(st.lists(FRAGMENTS, max_size=12).map("".join), max_size=4))
def test_it_is_what_a_pattern_leaves(pages: list[str]) -> None:
    left = [re.sub(rb"[\x00-\x20]+", b" ", _HIDDEN.sub(b"", page.encode())) for page in pages]
    assert visible(*pages) == [len(text.lstrip(b" ")) for text in left]


def test_a_null_shows_nothing_and_a_page_counts_alone() -> None:
    assert visible(None, "<p>a", None, "b</p>") == [0, 1, 0, 1]


def test_extractors_find_no_more_than_a_reader_sees() -> None:
    pages = [TABLES, *map(article, SENTENCES)]
    urls = pa.nulls(len(pages), pa.string())
    batch = pa.RecordBatch.from_arrays([pa.array(pages, pa.large_string()), urls], schema=extraction.PAGES)
    found = extract_main(batch, MainConfig())["text"].to_pylist()
    for text, seen in zip(found, visible(*pages), strict=True):
        assert len((text or "").encode()) <= 1.25 * seen  # an extractor writes marks of its own, such as line ends
