"""Classes of code points, and how kernels read them from UTF-8."""

import sys
import unicodedata

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from winnow.filters.language.kernels.classes import flags_by_point
from winnow.filters.language.kernels.tables import tables
from winnow.filters.language.words import (
    ALPHA,
    BREAK,
    CONTROL,
    DECIMAL,
    DIGIT,
    FORMAT,
    LOWER,
    MARK,
    PUNCT,
    SPACE,
    SYMBOL,
    UPPER,
    character_set,
    decode,
    flags_of,
    unicode_classes,
    width,
)


def test_flags_are_what_python_says_of_each_character() -> None:
    if unicodedata.unidata_version != tables()["unicode"]:
        pytest.skip(f"this Python speaks of Unicode {unicodedata.unidata_version}, the tables of another version")
    flags = flags_by_point()
    for point in (*range(0x18000), *range(0x18000, sys.maxunicode + 1, 97)):
        one, kind = chr(point), unicodedata.category(chr(point))
        assert flags[point] == (
            SPACE * one.isspace()
            | ALPHA * one.isalpha()
            | DIGIT * one.isdigit()
            | DECIMAL * one.isdecimal()
            | PUNCT * (kind[0] == "P")
            | SYMBOL * (kind[0] == "S")
            | UPPER * one.isupper()
            | LOWER * one.islower()
            | MARK * (kind[0] == "M")
            | BREAK * (len(f"a{one}b".splitlines()) == 2)
            | CONTROL * (kind == "Cc")
            | FORMAT * (kind == "Cf")
        ), hex(point)


@settings(deadline=None)  # the first call compiles
@given(st.text())
def test_decoding_gives_the_code_points_of_a_text(text: str) -> None:
    buffer = np.frombuffer(text.encode(), np.uint8)
    found, at = [], 0
    while at < len(buffer):
        found.append(chr(decode(buffer, at)))
        at += width(buffer[at])
    assert "".join(found) == text


def test_a_set_of_characters_has_these_and_no_others() -> None:
    table = character_set("a.\U0010fffd")
    members = [point for point in range(sys.maxunicode + 1) if table.flags[table.pages[point >> 8] * 256 + point % 256]]
    assert members == [ord("."), ord("a"), 0x10FFFD]
    assert flags_of(unicode_classes(), ord("é")) == ALPHA | LOWER
