"""Documents as exports write them, against a slow restatement."""

from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from winnow.filters.edits import edited
from winnow.filters.spans import SPANS
from winnow.pipelines.export.documents import documents_of
from winnow.pipelines.mix.dropped_media import DroppedMedia
from winnow.pipelines.reading.columns import Column
from winnow.schemas.rows.extraction import IMAGE
from winnow.schemas.rows.interleaved import INTERLEAVED, NODES
from winnow.schemas.rows.samples import SAMPLES

IMAGES = Column("extract.main", "images")
FIRST_ROW = 7  # of the shard

NODE = st.sampled_from(["a", "b", "film", "Ein Text. ", "你好! "])
ROWS = st.lists(
    st.tuples(
        st.lists(NODE, max_size=6),
        st.sets(st.integers(0, 2)),  # items that rules drop
        st.one_of(st.none(), st.tuples(st.integers(0, 20), st.integers(1, 12))),  # what edits delete
        st.booleans(),  # whether the row has media of its own
    ),
    min_size=1,
    max_size=4,
)


def medium(name: str) -> dict[str, Any]:
    reference = {"path": name, "offset": 0, "length": 1, "container": "warc", "member": None, "etag": None}
    return {"mime": "video/mp4" if name == "film" else "image/png", "ref": reference}


def row(nodes: list[str], own: bool) -> dict[str, Any]:
    """The columns of a row; pictures of pages have an alternative text that says which image they are."""
    text, found = "", []
    images: list[dict[str, object]] = []
    items = list(dict.fromkeys(node for node in nodes if not node.endswith(" ")))
    for node in nodes:
        if node.endswith(" "):
            start = len(text.encode())
            text += node
            found.append({"kind": "text", "start": start, "end": len(text.encode()), "item": None, "image": None})
        else:
            image = None if own else len(images)
            text += "" if own else "![]"  # as Markdown names a picture
            found.append({"kind": "image", "start": None, "end": None, "item": items.index(node), "image": image})
            images.append(dict.fromkeys(field.name for field in IMAGE) | {"src": f"on-page/{node}", "alt": node})
    media = [medium(name) for name in items]
    return {
        "samples.media": media if own else [],
        "page.interleaved.media": None if own else media,
        "page.interleaved.nodes": found,
        "page.interleaved.sources": [None if own else f"of {name}" for name in items],
        "page.interleaved.urls": [None if own else f"row/{name}" for name in items],
        IMAGES.name: None if own else images,
        "text": text,
    }


def cut(text: str, span: tuple[int, int] | None) -> list[dict[str, int]]:
    if span is None:
        return []
    start, end = (len(text[:at].encode()) for at in (span[0], span[0] + span[1]))
    return [{"start": start, "end": end}] if start < end else []


def expected(nodes: list[str], dropped: set[int], spans: list[dict[str, int]], own: bool) -> list[str]:
    def left(at: int, size: int) -> list[int]:
        places = range(at, at + size)
        return [place for place in places if not any(one["start"] <= place < one["end"] for one in spans)]

    items = list(dict.fromkeys(node for node in nodes if not node.endswith(" ")))
    found: list[str] = []
    at, end = 0, None  # of the last text, unless a picture follows it
    for node in nodes:
        if node.endswith(" "):
            utf8 = node.encode()
            text = bytes(utf8[place - at] for place in left(at, len(utf8))).decode()
            if text and end is not None and at - end <= 2:
                found[-1] = f"{found[-1][:-1]}{text}|"
            elif text:
                found.append(f"{text}|")
            at += len(utf8)
            end = at if text else end
        else:
            at += 0 if own else 3
            if node != "film" and items.index(node) not in dropped:
                found.append(node)
                end = None
    return found


@given(ROWS)
def test_dropped_pictures_leave_their_place_and_edits_move_texts(rows: list[Any]) -> None:
    made = [row(nodes, own) for nodes, _, _, own in rows]
    types = {
        "samples.media": SAMPLES.field("media").type,
        **{f"page.interleaved.{name}": INTERLEAVED.field(name).type for name in ("media", "nodes", "sources", "urls")},
        IMAGES.name: pa.list_(pa.field("item", IMAGE, nullable=False)),
    }
    assert types["page.interleaved.nodes"] == NODES
    read = {name: pa.array([one[name] for one in made], kind) for name, kind in types.items()}
    texts = pa.array([one["text"] for one in made], pa.large_string())
    spans = [cut(one["text"], span) for one, (_, _, span, _) in zip(made, rows, strict=True)]
    after, moves = edited(texts, [pa.array(spans, SPANS)], [])
    counts = np.array([len(set(nodes) - {"Ein Text. ", "你好! "}) for nodes, *_ in rows])
    marks = np.array([item in rows[at][1] for at, count in enumerate(counts) for item in range(count)], np.bool_)
    numbers = np.concatenate([np.zeros(FIRST_ROW, np.int64), counts])
    dropped = DroppedMedia.marked(numbers, marks)
    found = documents_of(read, np.arange(len(rows)) + FIRST_ROW, dropped, moves, IMAGES)
    for at, (nodes, gone, _, own) in enumerate(rows):
        media, utf8 = found.media[at].as_py(), after[at].as_py().encode()
        shown = [
            f"{utf8[one['start'] : one['end']].decode()}|"
            if one["kind"] == "text"
            else media[one["item"]]["ref"]["path"]
            for one in found.nodes[at].as_py()
        ]
        assert shown == expected(nodes, gone, spans[at], own)
        assert found.sources[at].as_py() == [None if own else f"of {one['ref']['path']}" for one in media]
        for one in found.nodes[at].as_py():
            if one["kind"] == "image" and not own:
                assert (one["url"], one["alt"]) == (f"row/{one['alt']}", media[one["item"]]["ref"]["path"])
