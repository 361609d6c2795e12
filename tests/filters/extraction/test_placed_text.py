"""Taking marks out of printed text, and saying where they stood."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from winnow.filters.extraction.placed_text import context, place


def placed(printed: str) -> tuple[str, list[tuple[str, str]]]:
    found = place(printed)
    parts = found.parts
    texts = [
        found.text[start:end].decode() if image is None else str(image)
        for start, end, image in zip(parts.starts, parts.ends, parts.images, strict=True)
    ]
    return found.text.decode(), list(zip(parts.kinds, texts, strict=True))


def test_blank_lines_part_blocks_and_headings_are_known_by_their_mark() -> None:
    assert placed("\x01Title\n\none\ntwo\n\nthree") == (
        "Title\n\none\ntwo\n\nthree",
        [("heading", "Title"), ("text", "one\ntwo"), ("text", "three")],
    )


@pytest.mark.parametrize(
    ("printed", "text"),
    [
        ("a \x020\x03 b", "a b"),
        ("a\x020\x03b", "ab"),
        ("a\x020\x03 b", "a b"),
        ("\x020\x03 b", "b"),
        ("a \x020\x03", "a"),
        ("a\n\n\x020\x03\n\nb", "a\n\nb"),
        ("a\n\x020\x03\nb", "a\nb"),
        ("\x020\x03\n\nb", "b"),
        ("a\n\n\x020\x03", "a"),
        ("\x020\x03\x021\x03 \x022\x03 b", "b"),
        ("a\t\t\x020\x03\t\tb", "a\t\t\t\tb"),
        ("  \x020\x03\n  b", "  b"),
        ("a\n\n\x01\x020\x03\n\nb", "a\n\nb"),
        ("a\n\n\x01\n\nb", "a\n\nb"),
        ("\x020\x03", ""),
        ("\x01", ""),
    ],
)
def test_white_space_that_only_a_mark_caused_goes_with_it(printed: str, text: str) -> None:
    assert placed(printed)[0] == text


def test_an_image_parts_the_text_around_it() -> None:
    assert placed("é \x027\x03 ü\n\n\x01\x028\x03 H") == (
        "é ü\n\nH",
        [("text", "é"), ("image", "7"), ("text", "ü"), ("image", "8"), ("heading", "H")],
    )


def test_context_is_cut_between_characters() -> None:
    text = ("é" * 300 + "|" + "日" * 300).encode()
    assert context(text, 600) == ("é" * 200, "|" + "日" * 199)
    assert context(b"", 0) == (None, None)


pieces = st.sampled_from(["a", "é", "日本", " ", "\n", "\n\n", "\t\t", "\x01", "\x020\x03", "\x0211\x03"])


@given(st.lists(pieces, max_size=12).map("".join))
def test_no_mark_is_left_and_parts_cover_the_text_in_order(printed: str) -> None:
    found = place(printed)
    letters = "".join(printed.translate({1: None}).split())
    for mark in ("\x020\x03", "\x0211\x03"):
        letters = letters.replace(mark, "")
    assert "".join(found.text.decode().split()) == letters
    covered = b"".join(found.text[a:b] for a, b in zip(found.parts.starts, found.parts.ends, strict=True))
    assert "".join(covered.decode().split()) == letters
    ends = [0, *found.parts.ends]
    assert all(start >= end for start, end in zip(found.parts.starts, ends, strict=False))
    numbers = [number for number in found.parts.images if number is not None]
    assert len(numbers) == printed.count("\x02")
