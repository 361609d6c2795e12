"""Taking marks out of printed text, and saying where they stood."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from winnow.filters.extraction.placed_text import Parts, PlacedText, context, even_lines, place


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


def evened(printed: str) -> tuple[str, list[str]]:
    found = place(printed)
    even = even_lines(found)
    spans = zip(even.parts.starts, even.parts.ends, strict=True)
    assert (even.parts.kinds, even.parts.images) == (found.parts.kinds, found.parts.images)
    return even.text.decode(), [even.text[start:end].decode() for start, end in spans]


@pytest.mark.parametrize(
    ("printed", "text", "parts"),
    [
        ("a\n\t\n\t\t\nb", "a\n\nb", ["a\n\nb"]),
        ("a \u00a0\u3000\r\n\r\n\u2028\nb", "a\n\nb", ["a\n\nb"]),
        ("a\n\n\n\n\nb\n\n  c  \n", "a\n\nb\n\n  c", ["a", "b", "c"]),
        (" \n\t\nné \n\n日本\u3000\n\t\n\n\n語\t\n ", "né\n\n日本\n\n語", ["né", "日本", "語"]),
        ("a\n\t\n\x027\x03\n \nb", "a\n\nb", ["a", "", "b"]),
        (" \n\t\n ", "", []),
        ("def f():\n    return 1\n\nf()", "def f():\n    return 1\n\nf()", ["def f():\n    return 1", "f()"]),
    ],
)
def test_lines_are_even_and_parts_stay_on_their_words(printed: str, text: str, parts: list[str]) -> None:
    assert evened(printed) == (text, parts)


@given(st.text(alphabet="aé日 \t\n\r\u00a0\u3000\u2028", max_size=40), st.data())
def test_even_lines_keep_all_but_white_space(written: str, data: st.DataObject) -> None:
    raw = written.encode()
    edges = [place for place in range(len(raw) + 1) if place == len(raw) or raw[place] & 0xC0 != 0x80]
    start = data.draw(st.sampled_from(edges))
    end = data.draw(st.sampled_from([place for place in edges if place >= start]))
    even = even_lines(PlacedText(raw, Parts(["text"], [start], [end], [None])))
    text = even.text.decode()
    assert "".join(text.split()) == "".join(written.split())
    assert [line.strip() for line in text.split("\n") if line.strip()] == [
        line.strip() for line in written.split("\n") if line.strip()
    ]
    if text != written:
        assert text == "\n".join(line.rstrip() for line in text.split("\n")).strip("\n")
        assert "\n\n\n" not in text
    kept = even.text[even.parts.starts[0] : even.parts.ends[0]].decode()
    assert "".join(kept.split()) == "".join(raw[start:end].decode().split())
