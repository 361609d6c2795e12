"""Folding, against a slow restatement, and the way back to the original's bytes."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.filters.language.folding.restated import folded_text
from tests.property_sizes import scaled
from winnow.filters.language.folding import FoldedTexts, fold
from winnow.filters.language.words import texts_of

PIECES = [
    *"aAzZéßİıſﬁ½①²Ⓑ🅰𝐗ｆＦ．＠‑–—’”… \n\t_-.@:0987٣७৩߃ÅΣςµΩαοΟκ",
    *"абвеорсухАВЕОРСУХЙийїѕјцы\u0301\u0306\u0308\u0323\u0338\u0489\u20e3",
    *"\u200b\u200c\u200d\u2060\ufeff\u00ad\ufe0f\u202e\U000e0041\u180e\u00a0\u3000\u3164",
    *"漢字かが\u3099ｶﾞ한글\u1112\u1161\u11abاأمُحَمَّـদেো\u09be\u09d7कि़क्षתּ\u05bcไทย😀👩🏽�\0",
    *("paypal", "user@example.com", "Привет", "pаypal", "xyй", "cтол", "Aвто", "ABCDEFGHIJKL", "12345678901", "word "),
]
TEXTS = st.lists(st.one_of(st.sampled_from(PIECES), st.characters(exclude_categories=["Cs"])), max_size=40).map("".join)


def folded(*texts: str, case: bool = True) -> FoldedTexts:
    return fold(texts_of(pa.array(texts, pa.large_string())), case=case)


def strings(texts: list[str], *, case: bool = True) -> list[str]:
    found: list[str] = folded(*texts, case=case).texts.array.to_pylist()
    return found


def back(found: FoldedTexts, document: int, start: int, end: int) -> tuple[int, int]:
    (first,) = found.original(np.array([document]), np.array([start]))
    (last,) = found.original(np.array([document]), np.array([end]), end=True)
    return int(first), int(last)


@pytest.mark.parametrize(
    ("text", "plain", "caseless"),
    [
        ("p\u200ba\u00adss", "pass", "pass"),
        ("ＡＢＣ１２３＠ｅｘ．ｃｏｍ", "ABC123@ex.com", "abc123@ex.com"),
        ("𝓯𝖗𝚎𝐞 ⓕⓡⓔⓔ", "free free", "free free"),
        ("٠١٢ ०१२ ০১২ ๐๑๒", "012 012 012 012", "012 012 012 012"),
        ("0171\u00a0555‑01", "0171 555-01", "0171 555-01"),
        ("Straße İSTANBUL sık", "Straße İSTANBUL sık", "strasse istanbul sık"),
        ("cafe\u0301", "cafe\u0301", "café"),
        ("z\u0351\u0321a\u034fl\u0336go\u0489", "z\u0351\u0321al\u0336go\u0489", "zalgo"),
        ("مُحَمَّــد", "مُحَمَّــد", "محمد"),
        ("שָׁלוֹם", "שָׁלוֹם", "שלום"),
        ("हिन्दी কি ไทยที่", "हिन्दी কি ไทยที่", "हिन्दी কি ไทยที่"),  # vowel signs stay
        ("a ´ b", "a ´ b", "a ´ b"),
        ("pаypal аррӏе", "pаypal аррӏе", "paypal аррӏе"),  # no Latin letter in the second word
        ("Привет, Ελλάδα", "Привет, Ελλάδα", "привет, ελλάδα"),
        ("cтол xyй", "cтол xyй", "стол хуй"),  # Latin letters in Russian words
        ("USBшник 5μm", "USBшник 5μm", "usbшник 5μm"),  # not all look alike
        ("p\u200bа\u200byрal", "pаyрal", "paypal"),
        ("Οk ΟΚ", "Οk ΟΚ", "ok οκ"),
    ],
)
def test_a_text_is_folded(text: str, plain: str, caseless: str) -> None:
    assert strings([text], case=False) == [plain]
    assert strings([text]) == [caseless]


@settings(max_examples=scaled(600), deadline=None)
@given(st.lists(TEXTS, max_size=4), st.booleans())
def test_it_is_as_restated(texts: list[str], case: bool) -> None:
    assert strings(texts, case=case) == [folded_text(text, case=case) for text in texts]


@settings(max_examples=scaled(300), deadline=None)
@given(st.lists(TEXTS, max_size=4), st.booleans())
def test_places_lead_back_in_order_and_to_whole_characters(texts: list[str], case: bool) -> None:
    found = folded(*texts, case=case)
    for number, (text, plain) in enumerate(zip(texts, found.texts.array.to_pylist(), strict=True)):
        utf8, size = text.encode(), len(plain.encode())
        documents, places = np.full(size + 1, number), np.arange(size + 1)
        starts, ends = found.original(documents, places), found.original(documents, places, end=True)
        assert (np.diff(starts) >= 0).all()
        assert (np.diff(ends) >= 0).all()
        assert (starts[:-1] < ends[1:]).all()
        for place in {*starts.tolist(), *ends.tolist()}:
            utf8[:place].decode()
            utf8[place:].decode()


@settings(max_examples=scaled(300), deadline=None)
@given(st.lists(TEXTS, max_size=8), st.booleans())
def test_what_a_word_comes_from_folds_to_it_again(words: list[str], case: bool) -> None:
    text = "\n".join(words)
    found = folded(text, case=case)
    (plain,) = found.texts.array.to_pylist()
    at = 0
    for word in plain.split("\n"):
        size = len(word.encode())
        start, end = back(found, 0, at, at + size)
        # A mark behind the line break has joined that, and belongs to it.
        if word and not case:
            assert strings([text.encode()[start:end].decode()], case=case) == [word]
        elif word:
            assert strings(["\n" + text.encode()[start:end].decode()], case=case) == ["\n" + word]
        at += size + 1


def test_invisible_characters_around_a_match_are_no_part_of_it() -> None:
    assert back(folded("\u200bbad\u200b\u200b!"), 0, 0, 3) == (3, 6)
    assert back(folded("b\u200bad", "ﬁt", "e\u0301t"), 0, 0, 3) == (0, 6)
    assert back(folded("", "ﬁt"), 1, 1, 2) == (0, 3)  # half of a ligature is all of it
    assert back(folded("e\u0301t"), 0, 0, 2) == (0, 3)


def test_texts_of_ascii_are_not_copied_where_case_stays() -> None:
    texts = texts_of(pa.array(["One", "TWO"], pa.large_string()))
    assert fold(texts, case=False).texts is texts
    assert back(fold(texts, case=False), 1, 1, 3) == (1, 3)


def test_the_way_back_is_short_where_many_characters_change_alike() -> None:
    found = folded("ＡＢＣ" * 1000 + " " + "абв" * 1000 + " " + "ABC" * 1000, "МОСКВА" * 1000)
    assert found.runs.tolist() == [0, 2, 2]


@settings(max_examples=scaled(100), deadline=None)
@given(st.lists(TEXTS, min_size=1, max_size=6), st.booleans(), st.integers(0, 5))
def test_a_text_is_folded_without_regard_to_its_neighbours(texts: list[str], case: bool, cut: int) -> None:
    part = pa.array(texts, pa.large_string()).slice(cut)
    assert fold(texts_of(part), case=case).texts.array.to_pylist() == strings(texts, case=case)[cut:]


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("a\u0301" * 500_000, "á" * 500_000),
        ("a" + "\u0336" * 1_000_000, "a"),
        ("а1" * 500_000, "а1" * 500_000),
        ("a" * 1_000_000 + "ф", "a" * 1_000_000 + "ф"),
        ("aф" * 500_000, "аф" * 500_000),
        ("a\u00ad" * 500_000, "a" * 500_000),
    ],
)
def test_hostile_texts_are_folded(text: str, plain: str) -> None:
    assert strings([text]) == [plain]


def test_a_word_in_which_ascii_grows_finds_room() -> None:
    for latins in (1, 7, 8, 9, 4000):
        word = "фф" + "a" * latins
        assert strings([word + " x"]) == [("фф" + "а" * latins if latins <= 8 else word) + " x"]
