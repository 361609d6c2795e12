"""Files that no reader takes are counted by ending, the most first, under the remedy that they share."""

import random

import pytest

from tests.messages import assert_told_each
from winnow.runners.first_look.unread import LINKED, irregular_notes, listed_unread, unread_notes


def test_endings_with_most_files_are_first_and_the_others_added_up() -> None:
    counts = {f".{letter}": 20 - number // 2 for number, letter in enumerate("abcdefghijklmn")} | {"": 19}
    expected = "20 .a, 20 .b, 19 without an ending, 19 .c, 19 .d, 18 .e, 18 .f, 17 .g, 17 .h, 16 .i, 16 .j, 15 .k"
    for seed in range(5):
        shuffled = dict(random.Random(seed).sample(sorted(counts.items()), len(counts)))
        assert listed_unread(shuffled) == f"{expected}, 43 others"
        assert listed_unread(shuffled, most=15) == f"{expected}, 15 .l, 14 .m, 14 .n"


def test_endings_of_one_remedy_are_one_line_and_unknown_ones_the_last() -> None:
    counts = {".strange": 4, ".zip": 2, ".rar": 3, ".pdf": 1, "": 5}
    assert_told_each([line.split(": ")[1] for line in unread_notes(counts)], "1 .pdf", "3 .rar, 2 .zip", ("5", "4"))
    assert list(unread_notes({})) == []


@pytest.mark.parametrize(("count", "shown"), [(1, "a"), (3, "a, b, c"), (4, "a, b, c and 1 more")])
def test_three_of_what_is_no_plain_file_are_named(count: int, shown: str) -> None:
    pipe, link = irregular_notes({"a pipe": "abcdefg"[:count], LINKED: "abcdefg"[:count]})
    assert pipe == f"not read: {'a pipe' if count == 1 else f'{count} are each a pipe'}: {shown}"
    assert link.endswith(f"it is read twice: {shown}")
    assert not link.startswith("not read")
