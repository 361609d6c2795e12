"""One line a text, as each kind promises."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from winnow.filters.models.normalisation import NORMALISATIONS, Normalisation, one_line


@pytest.mark.parametrize(
    ("kind", "text", "line"),
    [
        ("newlines", " One\nTwo\tThree\r\n", " One Two\tThree\r "),
        ("lines", " One\r\nTwo\u2028Three\t ", "One  Two Three"),
        ("words", "One\u00a0two\n\nthree", "One two  three"),
        ("words", "so </s> __label__hq __label__ ends", "so    ends"),
        ("words", "a</s> x__label__ stay", "a</s> x__label__ stay"),
        ("lower", "ÄÖ __LABEL__x </S>\n", "äö   "),
        ("tutorial", "He said, (don't!)", "he said ,   ( don ' t !  ) "),
    ],
)
def test_a_text_becomes_one_line(kind: Normalisation, text: str, line: str) -> None:
    assert one_line(kind)(text) == f"{line}\n"


@given(st.text(), st.sampled_from(NORMALISATIONS))
def test_there_is_one_newline_at_the_end(text: str, kind: Normalisation) -> None:
    line = one_line(kind)(text)
    assert line.endswith("\n")
    assert line.count("\n") == 1


@given(st.text(alphabet=" \n\u2028\x85\x1cab</s>_le", max_size=40))
def test_the_words_that_fasttext_sees_are_those_of_dclm(text: str) -> None:
    # DCLM joins the stripped text's lines with spaces; fastText splits at the white space of ASCII and at NUL.
    assert one_line("lines")(text).encode().split() == " ".join(text.strip().splitlines()).encode().split()


@given(st.lists(st.sampled_from(["</s>", "__label__x", "__label__", "__LABEL__y", "</S>", "word"]), max_size=8))
def test_no_page_can_end_its_own_reading(words: list[str]) -> None:
    kinds: tuple[Normalisation, ...] = ("words", "lower", "tutorial")
    for kind in kinds:
        left = one_line(kind)(" ".join(words)).split()
        assert not [word for word in left if word == "</s>" or word.startswith("__label__")]
        assert left.count("word") == words.count("word")
