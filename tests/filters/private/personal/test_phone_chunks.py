"""Candidates for phone numbers: where groups of digits are cut, and what no candidate may be."""

import pyarrow as pa
import pytest

from winnow.filters.language.kernels.spans import texts_of
from winnow.filters.private.personal.candidates import digit_groups
from winnow.filters.private.personal.phone_chunks import LEAST, MOST, phone_chunks


def chunks(*texts: str) -> list[tuple[int, str, str]]:
    """Each candidate: its text's number, its own text, and p, a or n: after a plus, after one and a blank, alone."""
    column = texts_of(pa.array(texts, pa.large_string()))
    groups = digit_groups(column)
    found = phone_chunks(column, groups)
    signs = zip(found.plus, found.apart, found.alone, strict=True)
    return [
        (
            int(document),
            column.buffer[groups.run_starts[first] : groups.run_ends[last - 1]].tobytes().decode(),
            "".join(letter for letter, sign in zip("pan", one, strict=True) if sign),
        )
        for document, first, last, one in zip(found.documents, found.firsts, found.lasts, signs, strict=True)
    ]


def numbers(text: str) -> list[str]:
    return [number for _, number, _ in chunks(text)]


@pytest.mark.parametrize("between", ["+", " +", "\t", "-\t", "\t-", "  ", " -  ", "  -"])
def test_a_group_is_cut_where_two_numbers_are(between: str) -> None:
    assert numbers(f"030 1234567{between}040 7654321") == ["030 1234567", "040 7654321"]


@pytest.mark.parametrize("between", [" ", "-", " - ", ".", "/", ") (", "- -", " -", "- "])
def test_a_group_is_one_number_with_anything_else_between(between: str) -> None:
    assert numbers(f"030 1234{between}040 7654") == [f"030 1234{between}040 7654"]


def test_every_number_of_a_group_is_a_candidate_that_is_not_alone() -> None:
    found = chunks("none", "030 1234567\t040 7654321\t12345\t050 1111111", "", "080 7654321")
    assert found == [
        *((1, "030 1234567", ""), (1, "040 7654321", ""), (1, "050 1111111", "")),
        (3, "080 7654321", "n"),
    ]


def test_more_candidates_than_there_was_room_for_keep_their_order() -> None:
    texts = [f"0{at:03} 555{at:04}" for at in range(200)]
    assert chunks(*texts) == [(at, text, "n") for at, text in enumerate(texts)]


def test_a_number_has_at_least_seven_digits_and_at_most_seventeen_in_one_run() -> None:
    for count in (LEAST - 1, LEAST, MOST, MOST + 1):
        run = "3" * count
        assert numbers(run) == [run][: LEAST <= count <= MOST]
    assert numbers("333-" + "3" * (LEAST - 4)) == []
    assert numbers("333-" + "3" * (LEAST - 3)) == ["333-3333"]
    assert numbers("3-" + "3" * (MOST + 1)) == ["3-" + "3" * (MOST + 1)]


@pytest.mark.parametrize(
    ("text", "signs"),
    [
        ("+4930123456", "pn"),
        ("(+4930123456", "pn"),
        ("+(4930123456", "pn"),
        ("+ 4930123456", "an"),
        ("+  4930123456", "n"),
        ("++4930123456", "n"),
        (")+4930123456", "n"),
        ("+ (4930123456", "n"),
        (" 4930123456", "n"),
        ("(4930123456", "n"),
    ],
)
def test_a_plus_is_one_directly_before_or_with_a_blank_or_bracket_between(text: str, signs: str) -> None:
    assert chunks(text) == [(0, "4930123456", signs)]


@pytest.mark.parametrize("text", ["a+4930123456", "4+a4930123456"])
def test_a_plus_within_a_word_is_none(text: str) -> None:
    assert all("p" not in signs for _, _, signs in chunks(text))


@pytest.mark.parametrize(
    ("text", "found"),
    [
        *(("a4930123456", False), ("4930123456a", False), ("4930123456é", True), ("4930123456ге", True)),
        *(("4930123456x12", True), ("4930123456ext", True), ("4930123456b", False)),
    ],
)
def test_a_number_is_no_part_of_a_word_but_may_have_an_ending(text: str, found: bool) -> None:
    assert numbers(text) == ["4930123456"] * found


@pytest.mark.parametrize(
    "text",
    [
        *("2024-02-29", "29.02.2024", "2/29/2024", "29/2/2024", "2024/12/31", "31-12-2024"),
        *("2024-02-29 123456", "01/01/2024", "12/31/2024"),
    ],
)
def test_a_date_is_no_number(text: str) -> None:
    assert numbers(text) == []


@pytest.mark.parametrize(
    "text",
    [
        *("2024-13-13", "32-12-2024", "2024-02-32", "0-2-2024", "2024-0-12", "2024-02/29", "2024 02 29", "2024-123-1"),
        *(
            "202-02-2024",
            "29-02-202",
            "2024--02-29",
            "2024-02--29",
            "+2024-02-29",
            "2024-02-012",
            "2024-002-12",
            "012-02-2024",
            "12-32-2024",
        ),
    ],
)
def test_what_no_day_and_month_can_be_is_a_candidate(text: str) -> None:
    digits = sum(map(str.isdigit, text))
    assert numbers(text) == ([text.removeprefix("+")] if digits >= LEAST else [])


@pytest.mark.parametrize(
    ("text", "found"),
    [
        *(("0.1234567", False), ("0.123.4567", False), ("1.234.567", True), ("0-1234567", True)),
        *(("123.4567890", False), ("023.4567890", True), ("123.456.7890", True), ("12.34567", False)),
        *(("1999-2004", False), ("1000 2199", False), ("2199-2199", False), ("999-20041", True)),
        *(
            ("2200-2200", True),
            ("1999-2200", True),
            ("2004-1999", True),
            ("0999-1999", True),
            ("1999-2004-77", False),
            ("1999-02004", True),
        ),
        *(("192.168.1.100", False), ("255.255.255.255", False), ("256.255.255.255", True), ("1.255.255.256", True)),
        *(
            ("192.168.1-100", True),
            ("192-168-1-100", True),
            ("1.2.3.4567", True),
            ("192.168.1.100.5", True),
            ("1.2.3.0045", True),
        ),
    ],
)
def test_decimals_years_and_addresses_are_no_numbers(text: str, found: bool) -> None:
    assert numbers(text) == [text] * found
    assert numbers(f"+{text}") == [text]


@pytest.mark.parametrize(
    ("text", "alone"),
    [
        ("4930123456", True),
        *(("4930123456, 77777", False), ("77777, 4930123456", False), ("77777 |4930123456", False)),
        *(
            ("4930123456; 7", False),
            ("4930123456 | 7", False),
            ("4930123456 ,; 7", True),
            ("77777 ,; 4930123456", True),
        ),
        *(("4930123456, a 7", True), ("4930123456\n7", True), ("77777\n4930123456", True)),
        *(("7, 4930123456", True), ("777, 4930123456", False), ("7: 4930123456", False)),
        *(("7,77, 4930123456", False), ("1:7, 4930123456", False), ("a7, 4930123456", True)),
        *(
            ("9:00, 4930123456", True),
            ("17.30, 4930123456", True),
            ("4930123456, 9:00", True),
            ("25:00, 4930123456", False),
        ),
        *(
            ("4930123456, 17:30", True),
            ("4930123456, 17:60", False),
            ("4930123456, 17.33", False),
            ("4930123456, 17.35", True),
        ),
        *(
            ("4930123456, 17:30:20", False),
            ("4930123456, 9:00.", True),
            ("4930123456, 24:00", True),
            ("4930123456, 1:30", True),
            ("4930123456, 130", False),
        ),
    ],
)
def test_a_number_is_alone_without_another_beside_it_that_is_no_clock_time(text: str, alone: bool) -> None:
    (signs,) = (signs for _, number, signs in chunks(text) if number == "4930123456")
    assert ("n" in signs) == alone


@pytest.mark.parametrize(
    ("text", "alone"),
    [
        *(("77, 4930123456", True), ("a77, 4930123456", True), ("077, 4930123456", False), (";7, 4930123456", True)),
        *((".7, 4930123456", False), (",7, 4930123456", False), ("4930123456: a", True), ("4930123456,. 7", False)),
        *(("17:30:20, 4930123456", False), ("117:30, 4930123456", False), ("17:30, 4930123456", True)),
        *(("4930123456, 9:50", True), ("4930123456, 007:30", False), ("4930123456, :9:00", False)),
        *(("4930123456, 25:00", False), ("4930123456, 17:30.5", False)),
    ],
)
def test_small_numbers_and_clock_times_beside_it_are_whole(text: str, alone: bool) -> None:
    (signs,) = (signs for _, number, signs in chunks(text) if number == "4930123456")
    assert ("n" in signs) == alone


@pytest.mark.parametrize("left_out", ["123456", "12345678901234567890", "2024-02-29", "x4930123456"])
@pytest.mark.parametrize("between", ["\t", " and ", "\n"])
def test_what_is_no_candidate_hides_none_after_it(left_out: str, between: str) -> None:
    assert numbers(f"7 and {left_out}{between}040 7654321") == ["040 7654321"]


def test_parts_of_a_group_are_each_beside_the_other() -> None:
    assert chunks("030 1234567+040 7654321") == [(0, "030 1234567", ""), (0, "040 7654321", "")]
    assert numbers("030 1234567+12 345+040 7654321") == ["030 1234567", "040 7654321"]


def test_the_text_before_and_after_is_not_looked_at() -> None:
    assert chunks("1", "9:00, 4930123456") == [(1, "4930123456", "n")]
    assert chunks("+", "+4930123456") == [(1, "4930123456", "pn")]
    assert chunks("77777,", "4930123456", ",77777") == [(1, "4930123456", "n")]
    assert chunks("+", "4930123456", "a") == [(1, "4930123456", "n")]
