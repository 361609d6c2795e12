"""Text as an n-gram model wants it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from winnow.filters.language.perplexity.spelling import Wording, spelling_of

KINDS: tuple[Wording, ...] = ("none", "lower", "words", "ccnet")


@pytest.mark.parametrize(
    ("kind", "text", "expected"),
    [
        ("none", "Élan, 42\n", "Élan, 42\n"),
        ("lower", "ÉLAN, 42\n", "élan, 42\n"),
        ("words", "Don’t (stop) Élan-42!\nनमस्ते", "don't  stop  élan 42 \nनमस्ते"),
        ("ccnet", "Élan, ４2 «x» — y…\n\tz\x85", 'elan, 00 "x"  -  y...\nz'),
        ("ccnet", "٣ ３ ² İ", "0 0 ² i"),
    ],
)
def test_a_text_is_spelt(kind: Wording, text: str, expected: str) -> None:
    assert spelling_of(kind)(text) == expected


@given(st.text(max_size=50), st.text(max_size=50), st.sampled_from(KINDS))
def test_lines_stay_lines(first: str, second: str, kind: Wording) -> None:
    prepare = spelling_of(kind)
    first, second = (text.replace("\n", "") for text in (first, second))
    assert prepare(f"{first}\n{second}") == f"{prepare(first)}\n{prepare(second)}"
