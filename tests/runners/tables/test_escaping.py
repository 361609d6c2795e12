"""Crawled text can be looked at: it can neither move the cursor, nor reorder a line, nor hide."""

import pytest

from winnow.runners.tables.escaping import cells, shortened, visible


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[31mred", "\\x1b[31mred"),
        ("a\nb\tc\rd\x00\x7f\x9b", "a\\x0ab\\x09c\\x0dd\\x00\\x7f\\x9b"),
        ("\u202egpj.exe\u2066\u200f", "\\u202egpj.exe\\u2066\\u200f"),
        ("a\u2028b\ufeff\u200b", "a\\u2028b\\ufeff\\u200b"),
        ("\ud800\U000e0041", "\\ud800\\U000e0041"),
        ("naïve 例え مرحبا नमस्ते می\u200cخواهم 👩\u200d🚀", "naïve 例え مرحبا नमस्ते می\u200cخواهم 👩\u200d🚀"),
    ],
)
def test_what_does_not_show_is_written_as_its_code(text: str, shown: str) -> None:
    assert visible(text) == shown


def test_what_is_to_be_kept_stays() -> None:
    assert visible("a\nb\x1b", keep="\n") == "a\nb\\x1b"


def test_a_tower_of_marks_is_cut() -> None:
    assert visible("e" + "\u0301" * 50 + "x") == "e" + "\u0301" * 8 + "x"


def test_wide_letters_take_two_cells_and_marks_none() -> None:
    assert (cells("ab"), cells("例え"), cells("e\u0301")) == (2, 4, 1)


@pytest.mark.parametrize(
    ("text", "width", "shown"),
    [
        ("abc", 3, "abc"),
        ("ab", 1, "…"),
        ("例え", 1, "…"),
        ("abcd", 3, "ab…"),
        ("例え例", 4, "例…"),
        ("", 3, ""),
        ("x" * 1000, 4, "xxx…"),
    ],
)
def test_long_names_end_in_an_ellipsis(text: str, width: int, shown: str) -> None:
    assert shortened(text, width) == shown
