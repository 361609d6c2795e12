"""Captions from the pages that show a picture."""

import json
import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from winnow.filters.caption.page import (
    MOST_CAPTIONS,
    OPERATOR,
    PageConfig,
    answers_for,
    load_shard,
    offered_keys,
    wanted_keys,
    whole_words,
)
from winnow.filters.operators import ANSWERS
from winnow.schemas.rows.extraction import EXTRACTION
from winnow.schemas.rows.samples import SAMPLES, TIMESTAMP

NAMES = OPERATOR.reads(PageConfig())
TYPES = [
    *(EXTRACTION.field(name).type for name in ("images", "language", "title")),
    *(SAMPLES.field(name).type for name in ("url", "media", "metadata")),
    TIMESTAMP,
]


def page(
    url: str, *images: dict[str, str], language: str | None = None, title: str | None = None, opt_out: str = ""
) -> tuple[object, ...]:
    shown = [dict.fromkeys(TYPES[0].value_type.names) | image for image in images]
    metadata = json.dumps({"opt_out": {"headers": {"x-robots-tag": [opt_out]} if opt_out else {}}})
    return (shown, language, title, url, [], metadata, None)


def loading(url: str, *images: str) -> tuple[object, ...]:
    """The row of a record that lists what a page loaded."""
    return (
        None,
        None,
        None,
        f"urn:pageinfo:{url}",
        [],
        json.dumps({"warc_page": {"url": url, "images": images}}),
        None,
    )


def picture(url: str | None, *referrers: str) -> tuple[object, ...]:
    reference = {"path": "a", "offset": 0, "length": 1, "container": "warc", "member": None, "etag": None}
    metadata = json.dumps({"warc_referrers": referrers} if referrers else {})
    return (None, None, None, url, [{"mime": "image/png", "ref": reference}], metadata, None)


def layer(*rows: tuple[object, ...], config: PageConfig | None = None, cut: int = 2) -> list[dict[str, object]]:
    columns = [pa.array(column, kind) for column, kind in zip(zip(*rows, strict=True), TYPES, strict=True)]
    batch = pa.RecordBatch.from_arrays(columns, names=list(NAMES))

    def batches() -> Iterator[pa.RecordBatch]:
        return (batch.slice(start, cut) for start in range(0, batch.num_rows, cut))

    kernel = load_shard(config or PageConfig(), answers(config or PageConfig(), batch))
    found = [row for part in batches() for row in kernel(part).to_pylist()]
    assert found == kernel(batch).to_pylist()
    return found


def answers(config: PageConfig, batch: pa.RecordBatch) -> pa.RecordBatch:
    """The answers to all rows; a row's id is its number."""
    pages: dict[bytes, set[int]] = {key: set() for key in wanted_keys(config, batch).to_pylist() if key}
    for row, key in zip(*(one.tolist() for one in offered_keys(config, batch)), strict=True):
        pages.get(key, set()).add(row)
    met = [(key, row) for key in sorted(pages) for row in sorted(pages[key])[: config.max_pages]]
    keys, rows = pa.array([key for key, _ in met], pa.binary(16)), np.array([row for _, row in met], np.int64)
    ids = pa.array([row.to_bytes(16, "big") for row in rows.tolist()], pa.binary(16))
    totals = pa.array([len(pages[key]) for key, _ in met], pa.int64())
    said = answers_for(config, batch, rows, keys)
    return pa.RecordBatch.from_arrays([keys, ids, totals, *said.columns], names=[*ANSWERS.names, *said.schema.names])


def test_a_picture_has_what_its_page_says_of_it() -> None:
    image = {
        "src": "https://www.e.org/cat.png?utm_source=x",
        "alt": "A  red cat",
        "caption": "Our cat, 2020",
        "before": "We have a cat.",
        "after": "It sleeps.",
    }
    _, found, other, none = layer(
        page("https://e.org/", image, language="en"),
        picture("http://e.org/cat.png"),
        picture("http://e.org/dog.png"),
        picture(None),
    )
    assert found == {
        "status": "ok",
        "captions": [
            {"text": text, "origin": origin, "language": "en"}
            for text, origin in [
                ("A red cat", "alt"),
                ("Our cat, 2020", "figcaption"),
                ("We have a cat.", "context"),
                ("It sleeps.", "context"),
            ]
        ],
        "urls": ["https://e.org/"] * 4,
        "pages": 1,
        "referrers": None,
        "opted_out": 0,
    }
    assert other == none == dict.fromkeys(found) | {"status": "no_page"}


def test_where_no_page_shows_a_picture_the_pages_count_on_which_the_crawler_found_it() -> None:
    title = {"text": "All our cats", "origin": "page_title", "language": "en"}
    cats = page("http://e.org/cats", language="en", title=" All our\ncats ")
    _, found, unknown, both = layer(
        cats,
        picture("http://cdn.org/cat.png", "https://e.org/cats", "http://e.org/not-crawled"),
        picture("http://cdn.org/dog.png", "http://e.org/not-crawled"),
        picture("http://cdn.org/owl.png", "http://e.org/cats", "https://www.e.org/cats"),
    )
    assert found == {
        "status": "ok",
        "captions": [title],
        "urls": ["http://e.org/cats"],
        "pages": 1,
        "referrers": ["https://e.org/cats", "http://e.org/not-crawled"],
        "opted_out": 0,
    }
    assert unknown == dict.fromkeys(found) | {"status": "no_page", "referrers": ["http://e.org/not-crawled"]}
    assert (both["captions"], both["pages"]) == ([title], 1)  # two ways to write one address


@pytest.mark.parametrize(
    ("said", "refuses"),
    [("noimageai", 1), ("noai", 1), ("no-ai", 1), ("noindex", 0), ("noarchive, nofollow", 0), ("", 0)],
)
def test_of_all_pages_that_show_a_picture_those_are_counted_that_opt_out(said: str, refuses: int) -> None:
    cat = {"src": "http://e.org/cat.png", "alt": "A cat"}
    pages = [page(f"http://e.org/{number}", cat, opt_out=said if number in (5, 8) else "") for number in range(9)]
    found_on = page("http://e.org/owls", title="Owls", opt_out=said)
    *_, shown, owl, dog = layer(
        *pages,
        found_on,
        page("http://e.org/9", {"src": "http://e.org/dog.png", "alt": "A dog"}),
        picture("http://e.org/cat.png"),
        picture("http://e.org/owl.png", "http://e.org/owls"),
        picture("http://e.org/dog.png"),
        config=PageConfig(max_pages=2),
    )
    assert [(one["pages"], one["opted_out"]) for one in (shown, owl, dog)] == [(9, 2 * refuses), (1, refuses), (1, 0)]


def test_pages_that_show_a_picture_go_before_those_on_which_it_was_found() -> None:
    shown = page("http://e.org/1", {"src": "http://e.org/cat.png", "alt": "A cat"}, title="Page 1")
    found_on = page("http://e.org/2", title="Page 2")
    _, _, cat = layer(shown, found_on, picture("http://e.org/cat.png", "http://e.org/2"))
    assert [one["text"] for one in cat["captions"]] == ["A cat", "Page 1"]  # type: ignore[attr-defined]
    assert (cat["pages"], cat["referrers"]) == (1, ["http://e.org/2"])


def test_a_page_that_shows_what_was_redirected_to_a_picture_shows_it() -> None:
    asked = {"src": "http://e.org/cat.png", "alt": "A cat"}
    pages = [page(f"http://e.org/{n}", asked, title=f"Page {n}", opt_out="noimageai" if n else "") for n in range(2)]
    *_, cat, owl, dog = layer(
        *pages,
        picture("http://cdn.org/1234.png", "http://e.org/cat.png"),
        picture("http://cdn.org/5678.png", "http://e.org/owl.png"),
        picture("http://cdn.org/9.png", "http://e.org/0", "http://e.org/cat.png"),  # a page goes before a redirect
    )
    assert [one["text"] for one in cat["captions"]] == ["A cat", "Page 0", "Page 1"]  # type: ignore[attr-defined]
    assert (cat["pages"], cat["opted_out"], owl["status"]) == (2, 1, "no_page")
    assert ([one["text"] for one in dog["captions"]], dog["pages"]) == (["Page 0"], 1)  # type: ignore[attr-defined]


def test_a_page_at_the_address_of_a_picture_is_not_a_page_that_shows_it() -> None:
    addresses = [f"http://e.org/{number}" for number in range(40)]
    pages = [page(url, title="Viewer") for url in addresses]
    found = layer(*pages, *(picture(url) for url in addresses))[len(pages) :]
    assert {one["status"] for one in found} == {"no_page"}


def test_a_list_of_what_a_page_loaded_names_the_page_but_says_nothing_else() -> None:
    rows = (
        loading("http://e.org/1", "http://cdn.org/cat.png", "http://cdn.org/cat.png", "http://cdn.org/dog.png"),
        page("http://e.org/1", {"src": "http://cdn.org/dog.png", "alt": "A dog"}, title="Page 1"),
        picture("http://cdn.org/cat.png"),
        picture("http://cdn.org/dog.png"),
    )
    _, _, cat, dog = layer(*rows)
    assert cat == dict.fromkeys(cat) | {"status": "no_page", "referrers": ["http://e.org/1"]}
    assert [one["text"] for one in dog["captions"]] == ["A dog", "Page 1"]  # type: ignore[attr-defined]
    assert dog["referrers"] == ["http://e.org/1"]


def test_titles_of_pages_stand_behind_what_any_page_says_of_the_picture() -> None:
    silent = page("http://e.org/1", {"src": "http://e.org/cat.png"}, title="Page 1")
    telling = page("http://e.org/2", {"src": "http://e.org/cat.png", "alt": "A cat"}, title="Page 2")
    *_, cat = layer(silent, telling, picture("http://e.org/cat.png"))
    assert [one["text"] for one in cat["captions"]] == ["A cat", "Page 1", "Page 2"]  # type: ignore[attr-defined]
    assert cat["urls"] == ["http://e.org/2", "http://e.org/1", "http://e.org/2"]


@pytest.mark.parametrize(
    "metadata",
    ['{"warc_referrers": 3}', '{"warc_referrers": [1, null, {}]}', '["warc_referrers"]', '{"warc_referrers": ["?"]}'],
)
def test_metadata_of_other_sources_under_the_same_name_are_not_believed(metadata: str) -> None:
    *rest, _, moment = picture("http://e.org/cat.png")
    (found,) = layer((*rest, metadata, moment))
    assert found["status"] == "no_page"


@given(st.permutations(range(8)), st.integers(1, 8))
def test_neither_the_order_of_rows_nor_how_they_are_cut_matters(order: list[int], cut: int) -> None:
    cat = "http://e.org/cat.png"
    rows = (
        page("http://e.org/0", {"src": cat, "alt": "Cat"}, title="Zero"),
        page("http://e.org/1", title="One"),
        page("http://e.org/2", title="Two"),
        loading("http://e.org/1", cat, "http://e.org/dog.png"),
        picture(cat, "http://e.org/2"),
        picture("http://e.org/dog.png", "http://e.org/2", "http://e.org/1"),
        picture("http://e.org/owl.png", "http://e.org/1"),
        picture(None),
    )
    found = dict(zip(order, layer(*(rows[at] for at in order), cut=cut), strict=True))
    assert [found[at] for at in range(len(rows))] == layer(*rows)


def test_the_text_around_a_picture_has_whole_words() -> None:
    assert whole_words("before", "es flowers " + "a" * 189) == "flowers " + "a" * 189
    assert whole_words("after", "a" * 194 + " flowe") == "a" * 194
    kept = ("short text", "日" * 200, "a" * 200, None)
    assert [whole_words(field, text) for field in ("before", "after") for text in kept] == [*kept, *kept]
    assert whole_words("alt", "es flowers " + "a" * 189) == "es flowers " + "a" * 189


def test_values_are_those_of_the_version() -> None:
    rows = layer(
        page("https://e.org/", {"src": "//e.org/no-scheme.png", "alt": "No address"}),
        page("https://e.org/a", {"src": "https://e.org/%7Ea.png?b=1&a=2", "alt": "A", "title": "T"}, language="fr"),
        picture("http://www.e.org/~a.png?a=2&b=1"),
        picture("http://e.org/~a.png"),
    )
    golden = {"operator": OPERATOR.name, "version": OPERATOR.version, "rows": rows}
    path = Path(__file__).parent / "golden" / "page.json"
    if os.environ.get("UPDATE_GOLDEN") == "1":
        path.write_text(json.dumps(golden, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    assert golden == json.loads(path.read_text(encoding="utf-8"))


def test_the_order_of_pages_and_pictures_does_not_matter_and_equal_texts_are_kept_once() -> None:
    cat = {"src": "http://e.org/cat.png", "alt": "Cat"}
    rows = (
        picture("http://e.org/cat.png"),
        page("http://e.org/1", cat, cat),
        page("http://e.org/2", cat | {"alt": "Katze"}, language="de"),
        page("http://e.org/3", cat | {"alt": "Chat"}),
    )
    (found, *pages) = layer(*rows, config=PageConfig(max_pages=2))
    assert [(one["text"], one["language"]) for one in found["captions"]] == [("Cat", None), ("Katze", "de")]  # type: ignore[attr-defined]
    assert (found["pages"], found["urls"]) == (3, ["http://e.org/1", "http://e.org/2"])
    assert {one["status"] for one in pages} == {"no_media"}


def test_texts_that_are_empty_too_long_or_not_wanted_are_no_captions() -> None:
    image = {"src": "http://e.org/a.png", "alt": " ", "title": "x" * 2001, "before": "Text"}
    (_, found) = layer(
        page("http://e.org/", image), picture("http://e.org/a.png"), config=PageConfig(origins=("alt", "title"))
    )
    assert (found["status"], found["captions"], found["pages"]) == ("ok", [], 1)


def test_a_page_that_shows_one_picture_many_times_gives_a_limited_number_of_captions() -> None:
    images = [{"src": "http://e.org/a.png", "alt": f"Text {number}"} for number in range(500)]
    (_, _, found) = layer(
        page("http://e.org/1", *images), page("http://e.org/2", *images), picture("http://e.org/a.png")
    )
    texts = [one["text"] for one in found["captions"]]  # type: ignore[attr-defined]
    assert (texts, found["pages"]) == ([f"Text {number}" for number in range(MOST_CAPTIONS)], 2)


def test_without_a_shard_nothing_is_known() -> None:
    batch = pa.RecordBatch.from_arrays([pa.array([], kind) for kind in TYPES], names=list(NAMES))
    assert OPERATOR.load(PageConfig(), None)(batch).num_rows == 0  # type: ignore[arg-type]
