"""Payment cards: numbers that issuers publish for tests, and numbers that only look like cards."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.filters.private.personal.reading import spans
from tests.property_sizes import bait_bytes
from winnow.filters.private.personal.cards import cards

stdnum_luhn = pytest.importorskip("stdnum.luhn", reason="python-stdnum is not installed")

# Made of parts, as scanners for secrets look at sources, too.
VISA, MASTERCARD, AMEX = "4111" + "1111" * 3, "5555" * 3 + "4444", "3782" + "822463" + "10005"
PUBLISHED = {
    VISA: "4-4-4-4",
    MASTERCARD: "4-4-4-4",
    "2223" + "0031" + "2200" + "3222": "4-4-4-4",
    AMEX: "4-6-5",
    "6011" + "1111" + "1111" + "1117": "4-4-4-4",
    "3056" + "930902" + "5904": "4-6-4",
    "3530" + "1113" + "3330" + "0000": "4-4-4-4",
    "6205" + "5000" + "0000" + "0000" + "004": "4-4-4-4-3",
}


def cards_in(text: str) -> list[str]:
    (row,) = spans(lambda texts, groups, _regions: cards(texts, groups), [text], [""])
    return row[0]


def parted(number: str, form: str, sign: str) -> str:
    parts, at = [], 0
    for size in map(int, form.split("-")):
        parts.append(number[at : at + size])
        at += size
    return sign.join(parts)


@pytest.mark.parametrize(("number", "form"), PUBLISHED.items())
def test_a_card_is_found_as_it_is_printed(number: str, form: str) -> None:
    for one in (number, *(parted(number, form, sign) for sign in " -.")):
        assert cards_in(f"Card {one}, thanks.") == [one]
        assert cards_in(f"卡号{one}。") == [one]
        assert cards_in(f"card={one}") == [one]


@pytest.mark.parametrize("behind", [" 12/27 123", " 123", " 12 27", " exp 2027", ", 2027", " DE89 3704"])
def test_month_year_and_code_may_follow(behind: str) -> None:
    for number in (VISA, parted(VISA, "4-4-4-4", " ")):
        assert cards_in(number + behind) == [number]


_SPACED = parted(VISA, "4-4-4-4", " ")


@pytest.mark.parametrize(
    "text",
    [
        VISA[:-1] + "2",  # check digit
        "7" + VISA[1:],  # no issuer
        VISA[:-1],  # too short
        "4012888888881" + "881" + "000",  # a length that the issuer has not
        f"0.{VISA}",
        f"1,{VISA}",
        f"{VISA}.5",
        f"+{VISA}",
        f"#{VISA}",
        f"/p/{VISA}",
        f"order-{VISA}",
        f"id_{VISA}",
        f"a{VISA}",
        f"{VISA}b",
        f"{VISA}-1",
        f"1234 {_SPACED}",  # tables
        f"{_SPACED} 2222",
        f"51F1 {_SPACED}",
        f"[.{_SPACED.replace(' ', '.')}]",
        f"0-{_SPACED.replace(' ', '-')}",
        _SPACED.replace(" ", "  "),
        _SPACED.replace(" ", "-", 1),
        _SPACED.replace(" ", "\n"),
        "41 11 11 11 11 11 11 11",
        "4012 " + "4013 4014 4012",  # near each other: a list
        "978" + "0306406157",  # ISBN
        "4006381333931",  # EAN
        "20200101" + "123000",
        "4611686018427387904",
        "4d5e4111111111111111",
    ],
)
def test_what_is_no_card_is_left(text: str) -> None:
    assert cards_in(text) == []


@given(
    st.sampled_from(["4", "51", "55", "2221", "2720", "6011", "65", "3528", "62", "2200"]), st.integers(0, 10**15 - 1)
)
def test_any_number_of_an_issuer_with_the_right_check_digit_is_found(front: str, rest: int) -> None:
    number = (front + f"{rest:015}")[:15]
    right = number + stdnum_luhn.calc_check_digit(number)
    wrong = number + str((int(right[-1]) + 1) % 10)
    assert cards_in(f"ที่{right}\n") == [right]
    assert cards_in(wrong) == []


@given(st.text(st.sampled_from("41523 -."), max_size=60))
def test_what_is_found_has_the_right_check_digit(text: str) -> None:
    for found in cards_in(text):
        assert stdnum_luhn.is_valid("".join(filter(str.isdecimal, found)))


@pytest.mark.parametrize("bait", ["4", "4111 ", "4111-1111-", "4111.", "4 ", VISA + " "])
def test_bait_ends_in_linear_time(bait: str) -> None:
    cards_in(bait * (bait_bytes(1_000_000) // len(bait)))
