"""Runs and groups of digits, which several detectors share."""

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from winnow.filters.language.kernels.spans import Texts, texts_of
from winnow.filters.private.personal.candidates import DigitGroups, digit_groups


def grouped(*texts: str, least: int = 6) -> tuple[Texts, DigitGroups]:
    column = texts_of(pa.array(texts, pa.large_string()))
    return column, digit_groups(column, least)


def groups_of(text: str, least: int = 6) -> list[str]:
    column, found = grouped(text, least=least)
    return [column.buffer[start:end].tobytes().decode() for start, end in zip(found.starts, found.ends, strict=True)]


@pytest.mark.parametrize(
    ("text", "groups"),
    [
        ("+49 (0)30 / 123-45.67", ["49 (0)30 / 123-45.67"]),
        ("1234567, 7654321", ["1234567", "7654321"]),  # a comma joins nothing
        ("1234567\n7654321", ["1234567", "7654321"]),
        ("123456 - - 654321", ["123456", "654321"]),  # five separators
        ("123\u2009456\u2011789\u3000012\xa0345", ["123\u2009456\u2011789\u3000012\xa0345"]),
        ("12345 and 123456x654321", ["123456", "654321"]),
        ("12345", []),
    ],
)
def test_a_group_is_runs_with_few_separators_between(text: str, groups: list[str]) -> None:
    assert groups_of(text) == groups


@pytest.mark.parametrize(
    ("text", "plus"),
    [("+123456", True), ("+ 123456", True), ("(+(123456", True), ("+  123456", False), ("123456", False)],
)
def test_a_plus_sign_before_a_group_is_known(text: str, plus: bool) -> None:
    assert grouped(text)[1].plus.tolist() == [plus]


def test_runs_and_groups_are_told_by_text() -> None:
    column, found = grouped("1 2", "", "a123456 789b", "4" * 100, least=6)
    assert found.document_runs.tolist() == [0, 2, 2, 4, 5]
    assert found.documents.tolist() == [0, 0, 0, 1, 2]
    assert [found.text_of(group) for group in range(2)] == [2, 3]
    assert found.digits[found.digit_starts[0] : found.digit_starts[1]].tolist() == [1, 2, 3, 4, 5, 6, 7, 8, 9]
    assert column.buffer[found.starts[0] : found.ends[0]].tobytes() == b"123456 789"


@given(st.lists(st.text(st.sampled_from("0189 -.()+/a,\n\xa0é漢"), max_size=150), max_size=4))
def test_every_digit_is_in_one_run_and_groups_hold_whole_runs(texts: list[str]) -> None:
    column, found = grouped(*texts, least=1)
    digits = b"".join(
        column.buffer[start:end].tobytes() for start, end in zip(found.run_starts, found.run_ends, strict=True)
    )
    assert digits == "".join(filter(str.isdecimal, "".join(texts))).encode()
    assert bytes(found.digits + 48) == digits  # every run is in some group, as one digit is enough
    assert found.starts.tolist() == found.run_starts[found.first_runs].tolist()
    assert found.first_runs[1:].tolist() == found.last_runs[:-1].tolist()
