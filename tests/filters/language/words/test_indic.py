"""Words of Indic and Urdu texts, as the Indic NLP Library finds them."""

import pytest

from winnow.filters.language.words.indic import INDIC


@pytest.mark.parametrize(
    ("style", "text", "words"),
    [
        ("indic", "नमस्ते दुनिया।", ["नमस्ते", "दुनिया", "।"]),
        ("indic", "मूल्य 1,234.50 है", ["मूल्य", "1,234.50", "है"]),
        ("indic", "1,2 और 3/4/5", ["1", ",", "2", "और", "3/4/5"]),  # the first thing of a text is left in pieces
        ("indic", "एक\nदो", ["एक\nदो"]),  # a newline is no space
        ("indic", 'का [C:\\a] "\\0"', ["का", "[", "C", ":", "\\a", "]", '"', "\\0", '"']),  # a backslash is no mark
        ("indic_ur", "سلام، دنیا۔", ["سلام", "،", "دنیا", "۔"]),
        ("indic_ur", "1,2", ["1", ",", "2"]),
    ],
)
def test_words(style: str, text: str, words: list[str]) -> None:
    assert INDIC[style](text) == words


def test_a_long_row_of_digits_is_read_once() -> None:  # otherwise it would take hours
    assert INDIC["indic"]("1" * 1_000_000) == ["1" * 1_000_000]
    assert len(INDIC["indic"]("x" + "1 , " * 200_000)) == 2
