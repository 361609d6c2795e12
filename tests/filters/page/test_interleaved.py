"""Documents as nodes: texts and the pictures that stand between them."""

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from tests.messages import assert_refused
from winnow.filters.operators import ANSWERS
from winnow.filters.page.interleaved import (
    OPERATOR,
    InterleavedConfig,
    answers_for,
    load_shard,
    offered_keys,
    wanted_keys,
)
from winnow.schemas.errors import RecipeError
from winnow.schemas.rows.extraction import EXTRACTION
from winnow.schemas.rows.samples import SAMPLES

CONFIG = InterleavedConfig()
NAMES = OPERATOR.reads(CONFIG)
TYPES = [
    pa.large_string(),
    *(EXTRACTION.field(name).type for name in ("text", "parts", "images")),
    pa.string(),
    pa.string(),
    SAMPLES.field("media").type,
]
SITE = "https://e.org/"


def page(*nodes: str, text: str | None = None, source: str = "crawl", markdown: bool = False) -> tuple[object, ...]:
    """A page of texts, and of images, which are written `<name.png>`."""
    parts: list[dict[str, object]] = []
    images: list[dict[str, object]] = []
    whole = ""
    for node in nodes:
        if node.startswith("<"):
            at = len(whole.encode())
            whole += "\n\n![]()" if markdown else ""
            parts.append({"kind": "image", "start": at, "end": at, "image": len(images)})
            images.append(dict.fromkeys(TYPES[3].value_type.names) | {"src": SITE + node[1:-1]})
        else:
            whole += "\n\n" if whole else ""
            start = len(whole.encode())
            whole += node
            parts.append({"kind": "text", "start": start, "end": len(whole.encode()), "image": None})
    return (whole if text is None else text, whole, parts, images, f"{SITE}page", source, [])


def medium(width: int = 40, mime: str = "image/png") -> dict[str, object]:
    reference = {"path": "a", "offset": 0, "length": 9, "container": "warc", "member": None, "etag": None}
    return {"mime": mime, "ref": reference, "width": width, "height": 20, "bytes": 9}


def picture(name: str, **fields: Any) -> tuple[object, ...]:
    return (None, None, None, None, SITE + name, "pictures", [medium(**fields)])


def answers(batch: pa.RecordBatch, config: InterleavedConfig = CONFIG) -> pa.RecordBatch:
    """The answers to all rows, as a store gives them; a row's id is its number."""
    offers: dict[bytes, set[int]] = {}
    for row, key in zip(*(one.tolist() for one in offered_keys(CONFIG, batch)), strict=True):
        offers.setdefault(key, set()).add(row)
    wanted = {key for key in wanted_keys(CONFIG, batch).to_pylist() if key in offers}
    keys = sorted(wanted)
    rows = np.array([min(offers[key]) for key in keys], np.int64)
    ids = pa.array([row.to_bytes(16, "big") for row in rows.tolist()], pa.binary(16))
    says = answers_for(config, batch, rows, pa.array(keys, pa.binary(16)))
    totals = pa.array([len(offers[key]) for key in keys], pa.int64())
    columns = [pa.array(keys, pa.binary(16)), ids, totals, *says.columns]
    return pa.RecordBatch.from_arrays(columns, names=[*ANSWERS.names, *says.schema.names])


def layer(*rows: tuple[object, ...], cut: int = 2) -> list[dict[str, Any]]:
    columns = [pa.array(column, kind) for column, kind in zip(zip(*rows, strict=True), TYPES, strict=True)]
    batch = pa.RecordBatch.from_arrays(columns, names=list(NAMES))

    def batches() -> Iterator[pa.RecordBatch]:
        return (batch.slice(start, cut) for start in range(0, batch.num_rows, cut))

    kernel = load_shard(CONFIG, answers(batch))
    found = [row for part in batches() for row in kernel(part).to_pylist()]
    assert found == kernel(batch).to_pylist()
    return found


def nodes(row: Mapping[str, Any], text: str = "") -> list[object]:
    """A text's words, or a picture's number."""
    utf8 = text.encode()
    return [
        utf8[one["start"] : one["end"]].decode() if one["kind"] == "text" else one["item"] for one in row["nodes"] or ()
    ]


def test_a_page_is_its_texts_and_the_pictures_between_them() -> None:
    document = page("Eins.", "Zwei ä.", "<b.png>", "Drei.", "<a.png>", "<b.png>", "Vier.")
    found, *_ = layer(document, picture("a.png"), picture("b.png", width=10))
    assert nodes(found, str(document[0])) == ["Eins.\n\nZwei ä.", 0, "Drei.", 1, 0, "Vier."]
    assert [one["image"] for one in found["nodes"]] == [None, 0, None, 1, 2, None]
    assert [one["width"] for one in found["media"]] == [10, 40]
    assert found["sources"] == ["pictures", "pictures"]
    assert found["samples"] == [f"{2:032x}", f"{1:032x}"]
    assert found["urls"] == [f"{SITE}b.png", f"{SITE}a.png"]
    assert (found["shorter"], found["longer"], found["aspect"]) == ([10, 20], [20, 40], [2.0, 2.0])
    assert (found["texts"], found["pictures"], found["missing"]) == (3, 3, 0)


def test_pictures_that_no_row_has_leave_no_gap_and_are_counted() -> None:
    document = page("Eins.", "<gone.png>", "Zwei.", "<a.png>")
    found, *_ = layer(document, picture("a.png"))
    assert nodes(found, str(document[0])) == ["Eins.\n\nZwei.", 0]
    assert (found["pictures"], found["missing"]) == (1, 1)


def test_a_text_does_not_go_on_over_the_name_of_a_missing_picture_in_markdown() -> None:
    document = page("Eins.", "<gone.png>", "Zwei.", "<a.png>", markdown=True)
    found, *_ = layer(document, picture("a.png"))
    assert nodes(found, str(document[0])) == ["Eins.", "Zwei.", 0]


def test_pages_that_show_a_picture_are_counted_each_once() -> None:
    rows = layer(page("<a.png>", "<a.png>", "<b.png>"), page("Text", "<a.png>"), picture("a.png"), picture("b.png"))
    assert [one["pages"] for one in rows] == [[2, 1], [2], [None], [None]]


def test_a_text_that_is_not_the_extractors_is_one_node() -> None:
    found, *_ = layer(page("Eins.", "<a.png>", text="Other."), picture("a.png"))
    assert nodes(found, "Other.") == ["Other."]
    assert found["media"] == []


def test_a_row_with_media_of_its_own_has_these_and_then_its_text() -> None:
    row = ("Caption", None, None, None, None, "table", [medium(), medium(mime="video/mp4"), medium(mime="font/ttf")])
    (found,) = layer(row)
    assert [one["kind"] for one in found["nodes"]] == ["image", "video", "other", "text"]
    assert nodes(found, "Caption") == [0, 1, 2, "Caption"]
    assert found["media"] is None
    assert (found["shorter"], found["sources"], found["pictures"]) == ([20] * 3, [None] * 3, 1)


def test_rows_with_neither_have_no_nodes() -> None:
    none, empty, text = layer(
        (None, None, None, None, None, "t", []), ("", "", [], [], None, "t", []), ("A", None, None, None, None, "t", [])
    )
    assert [one["status"] for one in (none, empty, text)] == ["no_text", "no_text", "ok"]
    assert none["nodes"] is None
    assert none["missing"] is None


PARTS = st.lists(st.sampled_from(["A text.", "Größe 你好.", "<a.png>", "<b.png>", "<c.png>", "<gone.png>"]), max_size=9)


@given(st.lists(PARTS, min_size=1, max_size=5), st.integers(1, 4))
def test_nodes_tile_the_text_in_order_whatever_the_page(pages: list[list[str]], cut: int) -> None:
    documents = [page(*parts) for parts in pages]
    pictures = [picture(f"{name}.png") for name in "cab"]
    found = layer(*documents, *pictures, cut=cut)
    for parts, document, one in zip(pages, documents, found, strict=False):
        expected: list[str] = []
        for part in parts:
            if part == "<gone.png>":
                continue
            if expected and not part.startswith("<") and not expected[-1].startswith("<"):
                expected[-1] += f"\n\n{part}"
            else:
                expected.append(part)
        urls = one["urls"] or []
        shown = [
            f"<{urls[node].removeprefix(SITE)}>" if isinstance(node, int) else node
            for node in nodes(one, str(document[0]))
        ]
        assert shown == expected
        assert urls == list(dict.fromkeys(SITE + part[1:-1] for part in expected if part.startswith("<")))


def test_what_version_1_gives_never_changes() -> None:
    rows = layer(page("One.", "<a.png>", "Two.", "<a.png>", "<gone.png>"), picture("a.png"), picture("b.png"))
    golden = {"operator": OPERATOR.name, "version": OPERATOR.version, "rows": rows}
    path = Path(__file__).parent / "golden" / "interleaved.json"
    if os.environ.get("UPDATE_GOLDEN") == "1":
        path.write_text(json.dumps(golden, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    assert golden == json.loads(path.read_text(encoding="utf-8"))


def test_facts_of_pictures_are_taken_from_their_rows() -> None:
    config = InterleavedConfig(facts=("image.nsfw.unsafe", "caption.page.pages", "image.rights.ai"))
    kinds = [*TYPES, pa.list_(pa.float32()), pa.int32(), pa.list_(pa.bool_())]
    assert OPERATOR.reads(config)[-3:] == config.facts
    rows = [
        (*page("Text.", "<b.png>", "<a.png>", "<c.png>"), None, 9, None),
        (*picture("a.png"), [0.25], 3, [True]),
        (*picture("b.png"), None, None, [False]),
        (*picture("c.png")[:-1], [medium(), medium()], [0.5, 0.75], 1, [None, True]),
    ]
    columns = [pa.array(column, kind) for column, kind in zip(zip(*rows, strict=True), kinds, strict=True)]
    batch = pa.RecordBatch.from_arrays(columns, names=list(OPERATOR.reads(config)))
    found = load_shard(config, answers(batch, config))(batch)
    assert found.schema == OPERATOR.writes(config)
    document, a, _, c = found.to_pylist()
    assert [document[name] for name in ("image_nsfw_unsafe", "caption_page_pages", "image_rights_ai")] == [
        [None, 0.25, 0.5], [None, 3.0, 1.0], [0.0, 1.0, None],
    ]  # fmt: skip
    assert (a["image_nsfw_unsafe"], c["image_nsfw_unsafe"], c["caption_page_pages"]) == ([0.25], [0.5, 0.75], [1, 1])
    with assert_refused(ValueError, "a_b_c"):
        InterleavedConfig(facts=("a.b_c", "a_b.c"))
    with assert_refused(RecipeError, "facts", "string"):
        load_shard(InterleavedConfig(facts=("samples.url",)), answers(batch, config))(batch)
