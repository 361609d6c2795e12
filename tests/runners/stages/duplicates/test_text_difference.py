"""Where texts differ: a longest common subsequence of lines and words, in columns that fit."""

import itertools
import re

from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.property_sizes import scaled
from winnow.runners.stages.duplicates.side_by_side import Fold, Row, side_by_side
from winnow.runners.stages.duplicates.text_difference import (
    MAX_CHARACTERS,
    MAX_LINES,
    MAX_WORDS,
    Difference,
    common,
    difference,
)
from winnow.runners.tables.escaping import cells, visible

SCRIPTS = st.text(st.sampled_from("ab c.\n中文字 ไก่ปลา العربية \x1b\u202e\u0301é"), max_size=60)


def longest(one: list[int], other: list[int]) -> int:
    """How long a common subsequence can be, by the textbook's table."""
    table = [[0] * (len(other) + 1) for _ in range(len(one) + 1)]
    for at, item in enumerate(one):
        for to, against in enumerate(other):
            table[at + 1][to + 1] = table[at][to] + 1 if item == against else max(table[at][to + 1], table[at + 1][to])
    return table[-1][-1]


@given(st.lists(st.integers(0, 4), max_size=14), st.lists(st.integers(0, 4), max_size=14))
def test_a_common_subsequence_is_one_and_is_as_long_as_any(one: list[int], other: list[int]) -> None:
    found = common(one, other)
    assert [one[at] for at, _ in found] == [other[to] for _, to in found]
    assert all(a < c and b < d for (a, b), (c, d) in itertools.pairwise(found))
    assert len(found) == longest(one, other)


def pieces(found: Difference) -> list[str]:
    return [
        " ".join(word.text for word in run.left) if run.same else
        f"[-{' '.join(word.text for word in run.left)}-]{{+{' '.join(word.text for word in run.right)}+}}"
        for run in found.runs
    ]  # fmt: skip


def test_words_of_lines_that_differ_are_compared_and_lines_that_are_the_same_are_not() -> None:
    one = "A first line.\nThe old mill by the river stood still.\n\nA last line."
    other = "A first  line.\nThe new mill by the river stood still.\nA last line.\nAnd one more."
    assert pieces(difference(one, other)) == [
        "A first line . The",
        "[-old-]{+new+}",
        "mill by the river stood still . A last line .",
        "[--]{+And one more .+}",
    ]


def test_characters_of_scripts_without_spaces_are_compared_one_by_one_with_their_marks() -> None:
    assert pieces(difference("渔夫把网晒在岸边", "农民把网晒在岸边")) == ["[-渔 夫-]{+农 民+}", "把 网 晒 在 岸 边"]
    assert pieces(difference("ปลาใหญ่", "ปลาเล็ก"))[0] == "ป ล า"
    assert pieces(difference("قال الشيخ إن", "قال العجوز إن")) == ["قال", "[-الشيخ-]{+العجوز+}", "إن"]


def test_white_space_alone_is_no_difference() -> None:
    found = difference("one two\nthree", " one\ttwo\n\n\nthree\n")
    assert found.same
    assert not found.cut


def test_words_that_happen_to_be_the_same_in_other_texts_are_no_anchors() -> None:
    found = difference("a storm took the roof off our barn", "we never sold the last of his horses")
    assert pieces(found) == ["[-a storm took the roof off our barn-]{+we never sold the last of his horses+}"]


def test_endless_texts_are_compared_up_to_a_cut_that_is_told() -> None:
    found = difference("x " * 10_000_000, "y" * 20_000_000)
    assert found.compared == (MAX_CHARACTERS, MAX_CHARACTERS)
    assert found.whole == (20_000_000, 20_000_000)
    assert (found.cut, found.coarse) == (True, True)
    found = difference("a\n" * 50_000, "b\n" * 50_000)
    assert found.compared == (2 * MAX_LINES, 2 * MAX_LINES)
    words = [f"w{number}" for number in range(MAX_WORDS - 1)]
    assert not difference(" ".join(words), " ".join(words[::-1])).coarse


def shown(one: str, other: str, width: int = 30) -> list[str]:
    lines = []
    for row in side_by_side(difference(one, other), width, visible, marks=True):
        if isinstance(row, Fold):
            lines.append(f"... {row.summary}")
        else:
            left, right = ("".join(piece.text for piece in side) for side in (row.left, row.right))
            lines.append(f"{left}{' ' * (width - cells(left))}| {right}")
    return lines


def test_both_columns_stay_level_and_what_is_the_same_is_left_out() -> None:
    lines = [f"Line {number} of a page that stays." for number in range(9)]
    one = "\n".join([*lines, "The old mill by the river is closed."])
    other = "\n".join([*lines, "The new red mill by the river is open."])
    assert shown(one, other) == [
        "... 8 equal lines",
        "Line 8 of a page that stays.  | Line 8 of a page that stays.",
        "The [-old-] mill by the       | The {+new red+} mill by the",
        "river is [-closed-].          | river is {+open+}.",
    ]


@settings(max_examples=scaled(300))
@given(SCRIPTS, SCRIPTS, st.integers(16, 40), st.booleans())
@example("a" * 200, "b" * 200, 16, True)
@example("\x1b" * 50, "中" * 50, 16, True)
def test_no_line_is_wider_than_its_column_and_no_word_is_lost(one: str, other: str, width: int, marks: bool) -> None:
    found = difference(one, other)
    for text, runs in ((one, [run.left for run in found.runs]), (other, [run.right for run in found.runs])):
        assert "".join(word.text for run in runs for word in run) == re.sub(r"\s+", "", text)
    for row in side_by_side(found, width, visible, marks=marks):
        if isinstance(row, Row):
            for side in (row.left, row.right):
                line = "".join(piece.text for piece in side)
                assert cells(line) <= width
                assert "\n" not in line


@given(
    st.lists(st.text("abc", min_size=1, max_size=9), max_size=30),
    st.lists(st.text("xyz", min_size=1, max_size=9), max_size=30),
    st.integers(16, 40),
)
@example(["a"], ["x"] * 30, 16)
@example(["a"] * 30, ["x"], 16)
def test_every_word_that_differs_is_in_a_row_of_its_side(one: list[str], other: list[str], width: int) -> None:
    rows = list(side_by_side(difference(" ".join(one), " ".join(other)), width, visible, marks=False))
    for words, side in ((one, "left"), (other, "right")):
        lines = ["".join(piece.text for piece in getattr(row, side)) for row in rows]
        assert " ".join(lines).split() == words
