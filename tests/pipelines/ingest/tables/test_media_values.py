"""The values of a media column: bytes, names, structs and lists of them, and what none of these is."""

import pytest

from tests.messages import assert_told
from winnow.pipelines.ingest.records import Span, Unreadable
from winnow.pipelines.ingest.tables.media_values import EXPECTED_MEDIA, BadMedia, RowMedia, medium_of, row_media
from winnow.pipelines.ingest.tables.values import Binary
from winnow.schemas.identity import Json

SPAN = Span(3, 1, "rows")
NEITHER = "an object without 'bytes' and 'path'"
PICTURE = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"


def media_of(value: Json) -> RowMedia | BadMedia:
    return row_media(value, "image", SPAN, "parquet", "a/one.parquet")


def held(value: Json) -> list[tuple[str | None, str | bytes | None]]:
    found = media_of(value)
    assert isinstance(found, RowMedia)
    return [(item.key, item.names or item.body) for item in found.items]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("b.png", [("image", "a/b.png")]),
        (Binary(b"caf\xe9.png"), [("image", "a/caf\ufffdE9.png")]),
        (Binary(PICTURE), [("image", PICTURE)]),
        (Binary(b"x" * 4097), [("image", b"x" * 4097)]),
        ({"bytes": Binary(PICTURE), "path": "b.png"}, [("image", PICTURE)]),
        ({"bytes": Binary(b"GIF"), "path": None}, [("image", b"GIF")]),
        ({"bytes": None, "path": "b.png"}, [("image", "a/b.png")]),
        ({"bytes": None, "path": None}, []),
        ({"path": "/data/b.png"}, [("image", "/data/b.png")]),
        ([None, Binary(PICTURE), {"bytes": None, "path": "b.png"}], [("image[1]", PICTURE), ("image[2]", "a/b.png")]),
        ([], []),
        (None, []),
    ],
)
def test_values_that_are_media(value: Json, expected: list[tuple[str, str | bytes]]) -> None:
    assert held(value) == expected


def test_what_a_struct_says_besides_is_kept_and_absent_entries_are_counted() -> None:
    found = media_of([{"bytes": Binary(PICTURE), "path": "cat.png", "mask": 1}, None, {"bytes": None, "path": "b"}])
    assert isinstance(found, RowMedia)
    assert (found.rest, found.absent) == ([{"path": "cat.png", "mask": 1}, None, None], 1)


@pytest.mark.parametrize(
    ("value", "reason", "detail"),
    [
        (3, "wrong_type", f"column 'image' holds a number, expected {EXPECTED_MEDIA}"),
        ([["b.png"]], "wrong_type", f"column 'image' holds a list, expected {EXPECTED_MEDIA}"),
        ({"data": "b"}, "wrong_type", f"column 'image' holds {NEITHER}, expected {EXPECTED_MEDIA}"),
        ({"bytes": "b"}, "wrong_type", f"column 'image' holds a string as 'bytes', expected {EXPECTED_MEDIA}"),
        ({"bytes": Binary(b"")}, "missing_media", "image: empty"),
        (Binary(b""), "missing_media", "image: empty"),
        ("", "missing_media", "image: empty"),
        ([{"path": "../../b"}], "missing_media", "column 'image': '../../b': expected a path below the source's root"),
    ],
)  # fmt: skip
def test_a_value_that_is_none_is_an_item_that_says_why(value: Json, reason: str, detail: str) -> None:
    found = media_of(value)
    assert isinstance(found, RowMedia)
    assert [item.flaw for item in found.items] == [Unreadable(SPAN, reason, detail)]


def test_a_list_of_too_many_is_refused() -> None:
    found = media_of(["b"] * 1025)
    assert isinstance(found, BadMedia)
    assert found.reason == "too_large"
    assert_told(found.detail, "'image'", "1025", "1024", whole=True)


def test_a_medium_is_found_again() -> None:
    value: Json = [None, {"bytes": Binary(PICTURE), "path": None}]
    assert [medium_of(value, 1), medium_of(value, 0), medium_of(value, 2), medium_of("b.png", None)] == [
        PICTURE, None, None, None,
    ]  # fmt: skip
    assert medium_of(Binary(PICTURE), None) == PICTURE
