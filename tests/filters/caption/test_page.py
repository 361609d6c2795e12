"""Captions from the pages that show a picture."""

import json
import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa

from winnow.filters.caption.page import MOST_CAPTIONS, OPERATOR, PageConfig, ask, load_shard, offer, say
from winnow.filters.operators import ANSWERS
from winnow.schemas.rows.extraction import EXTRACTION
from winnow.schemas.rows.samples import SAMPLES

NAMES = OPERATOR.reads(PageConfig())
TYPES = [EXTRACTION.field("images").type, EXTRACTION.field("language").type, pa.string(), SAMPLES.field("media").type]


def page(url: str, *images: dict[str, str], language: str | None = None) -> tuple[object, ...]:
    return ([dict.fromkeys(TYPES[0].value_type.names) | image for image in images], language, url, [])


def picture(url: str | None) -> tuple[object, ...]:
    reference = {"path": "a", "offset": 0, "length": 1, "container": "warc", "member": None, "etag": None}
    return (None, None, url, [{"mime": "image/png", "ref": reference}])


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
    pages: dict[bytes, set[int]] = {key: set() for key in ask(config, batch).to_pylist() if key}
    for row, key in zip(*(one.tolist() for one in offer(config, batch)), strict=True):
        pages.get(key, set()).add(row)
    met = [(key, row) for key in sorted(pages) for row in sorted(pages[key])[: config.max_pages]]
    keys, rows = pa.array([key for key, _ in met], pa.binary(16)), np.array([row for _, row in met], np.int64)
    ids = pa.array([row.to_bytes(16, "big") for row in rows.tolist()], pa.binary(16))
    totals = pa.array([len(pages[key]) for key, _ in met], pa.int64())
    said = say(config, batch, rows, keys)
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
    }
    assert other == none == {"status": "no_page", "captions": None, "urls": None, "pages": None}


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
