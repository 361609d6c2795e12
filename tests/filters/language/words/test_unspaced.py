"""The style `unicode`: words without a language."""

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.filters.language.words.nasty import PIECES
from winnow.filters.language.words import segment


def words(text: str) -> list[str]:
    return segment(pa.array([text], pa.large_string()), "unicode").of(0)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Hello, world! (U.S.A.)", "Hello world U.S.A"),
        ("don't x’y 's a.b a..b a:b a,b", "don't x’y s a.b a b a:b a b"),
        ("3.14 1,000 1:2 3.a v2 foo_bar", "3.14 1,000 1 2 3 a v2 foo_bar"),
        ("well-known a/b #tag @user", "well known a b tag user"),
        ("e\u0301te\u0301 co\u00adop a\u200db -\u0301-", "e\u0301te\u0301 co\u00adop a\u200db"),
        ("русский العَرَبِيَّة हिन्दी 한국어", "русский العَرَبِيَّة हिन्दी 한국어"),
        ("中文字,日本のコーヒー々", "中 文 字 日 本 の コー ヒー 々"),
        ("ABC中3文", "ABC 中 3 文"),
        ("เป็นภาษาไทย", "เป็ น ภา ษา ไท ย"),
        ("ພາສາລາວ ກຳ", "ພາ ສາ ລາ ວ ກຳ"),
        ("ភាសាខ្មែរ", "ភា សា ខ្មែ រ"),
        ("မြန်မာ ပစ္စည်း", "မြ န် မာ ပ စ္စ ည်း"),
        ("😀 ... -- ~", ""),
    ],
)
def test_words(text: str, expected: str) -> None:
    assert words(text) == expected.split()


@settings(deadline=None)
@given(st.lists(st.sampled_from(PIECES) | st.text(max_size=3), max_size=8).map("".join))
def test_every_letter_and_digit_is_in_a_word_and_no_whitespace_is(text: str) -> None:
    found = "".join(words(text))
    assert [one for one in found if one.isalnum()] == [one for one in text if one.isalpha() or one.isdigit()] or any(
        one.isnumeric() and not one.isdigit() for one in text
    )
    assert not any(one.isspace() for one in found)
