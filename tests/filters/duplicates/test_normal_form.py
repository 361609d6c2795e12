"""The normal form: what is one word in whichever way it is written, and what is not."""

import unicodedata

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, given, settings

from tests.filters.duplicates.scripts import PIECES, TEXTS
from winnow.filters.duplicates.normal_form import LONGEST, folded, forms, units_of
from winnow.filters.language.words import segment
from winnow.filters.language.words.unspaced import OTHER, STACKER, word_roles


def words(text: str) -> list[str]:
    return units_of(text, "words")


def _role(character: str) -> int:
    table, point = word_roles(), ord(character)
    return int(table.flags[(int(table.pages[point >> 8]) << 8) | (point & 0xFF)])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The QUICK, brown-fox!", "the quick brown fox"),
        ("Don’t Don't ＤＯＮ＇Ｔ", "don't don't don't"),
        ("Straße STRASSE ﬁne ℌ ②", "strasse strasse fine h 2"),
        ("ΣΊΣΥΦΟΣ σίσυφος", "σι\u0301συφοσ σι\u0301συφοσ"),
        ("co\u00adop a\u200bb x\ufe0f", "coop ab x"),
        ("ｶﾞ ガ", "カ\u3099 カ\u3099"),
        ("각 각", "\u1100\u1161\u11a8 \u1100\u1161\u11a8"),
        ("中文 ไทย", "中 文 ไท ย"),
        ("العَرَبِيَّة", "العَرَبِي\u064e\u0651ة"),  # the two marks on one letter in the order of their numbers
        ("😀 ... -- \u3164", ""),
    ],
)
def test_words(text: str, expected: str) -> None:
    assert words(text) == expected.split()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Ab, c", ["a", "b", " ", "c"]),
        ("é e\u0327\u0301 e\u0301\u0327", ["e\u0301", " ", "e\u0301\u0327", " ", "e\u0301\u0327"]),
        ("中文 and日本", ["中", "文", "a", "n", "d", "日", "本"]),
        ("a \u3164 b", ["a", " ", "b"]),
    ],
)
def test_characters_have_their_marks_and_a_space_between_words_of_scripts_with_spaces(
    text: str, expected: list[str]
) -> None:
    assert units_of(text, "characters") == expected


@pytest.mark.parametrize("unit", ["words", "characters"])
@settings(deadline=None)
@given(TEXTS)
def test_one_form_of_unicode(unit: str, text: str) -> None:
    """But for a sign that stacks the next consonant of its script: on another script's letter it begins a word."""
    assume(not any(_role(one) == STACKER for one in text))
    composed, apart = unicodedata.normalize("NFC", text), unicodedata.normalize("NFD", text)
    assert units_of(composed, unit) == units_of(apart, unit)  # type: ignore[arg-type]


@settings(deadline=None)
@given(TEXTS)
def test_it_is_what_unicode_folds_to(text: str) -> None:
    """Restated: NFKC_Casefold of each word, decomposed, without what cannot be seen."""
    ignorable = segment(pa.array([text], pa.large_string()), "unicode").of(0)
    plain = [word.replace("’", "'").replace("‘", "'") for word in ignorable]
    expected = [sorted("".join(map(restated, word))) for word in plain]
    assert [sorted(word) for word in words(text)] == [letters for letters in expected if letters]


def restated(character: str) -> str:
    for _ in range(3):
        character = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", character).casefold())
    return "".join(one for one in character if not one.isspace() and not is_invisible(ord(one)))


def is_invisible(point: int) -> bool:
    """Default_Ignorable_Code_Point of Unicode 14."""
    ranges = (
        (0xAD, 0xAD), (0x34F, 0x34F), (0x61C, 0x61C), (0x115F, 0x1160), (0x17B4, 0x17B5), (0x180B, 0x180F),
        (0x200B, 0x200F), (0x202A, 0x202E), (0x2060, 0x206F), (0x3164, 0x3164), (0xFE00, 0xFE0F), (0xFEFF, 0xFEFF),
        (0xFFA0, 0xFFA0), (0x1BCA0, 0x1BCA3), (0x1D173, 0x1D17A), (0xE0000, 0xE0FFF),
    )  # fmt: skip
    return any(low <= point <= high for low, high in ranges)


def test_folding_is_done_once_and_bounded() -> None:
    for piece in PIECES:
        for character in piece:
            form = folded(character)
            assert "".join(map(folded, form)) == form
            assert len(form) <= LONGEST


def test_the_tables_keep_the_roles_of_all_characters_and_have_few_pages() -> None:
    table, roles = forms(), word_roles()
    kept = table.values.reshape(-1, 256)[table.pages].ravel() & 15
    assert np.array_equal(kept, roles.flags.reshape(-1, 256)[roles.pages].ravel())
    assert table.pages[0] == 0
    assert len(table.values) < 50_000
    assert not (table.values[(table.values & 15) == OTHER]).any()
