"""Bank account numbers, against python-stdnum."""

import random
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.filters.private.personal.reading import spans
from tests.property_sizes import bait_bytes
from winnow.filters.private.personal.ibans import STRUCTURES, ibans

stdnum_iban = pytest.importorskip("stdnum.iban", reason="python-stdnum is not installed")

PUBLISHED = (  # by the registry, as examples
    "DE89 3704 0044 0532 0130 00",
    "GB29 NWBK 6016 1331 9268 19",
    "FR14 2004 1010 0505 0001 3M02 606",
    "NO93 8601 1117 947",
    "MT84 MALT 0110 0001 2345 MTLC AST0 01S",
    "BR15 0000 0000 0000 1093 2840 814 P2",
)


def ibans_in(text: str) -> list[str]:
    (row,) = spans(lambda texts, groups, _regions: ibans(texts, groups), [text], [""])
    return row[0]


def written(country: str, seed: int) -> str:
    """An account number that is right."""
    draw = random.Random(f"{country}{seed}")
    letters = {"n": "0123456789", "a": "ABCXYZ", "c": "0189AZ"}
    account = "".join(draw.choice(letters[kind]) for kind in STRUCTURES[country])
    return f"{country}{stdnum_iban.calc_check_digits(country + '00' + account)}{account}"


@pytest.mark.parametrize("number", PUBLISHED)
def test_published_examples_are_found_however_they_are_written(number: str) -> None:
    for one in (number, number.replace(" ", ""), number.replace(" ", "-"), number.lower()):
        assert ibans_in(f"IBAN: {one}, thanks") == [one]
        assert ibans_in(f"账号{one}。") == [one]


def test_structures_are_those_of_the_registry() -> None:
    lines = (Path(stdnum_iban.__file__).parent / "iban.dat").read_text().splitlines()
    entries = [re.match(r'(\w\w) country=.* bban="(.*)"', line) for line in lines]
    assert {
        entry[1]: "".join(kind * int(size) for size, kind in re.findall(r"([0-9]+)!([nac])", entry[2]))
        for entry in entries
        if entry
    } == STRUCTURES


@given(st.sampled_from(sorted(STRUCTURES)), st.integers(0, 10**9))
def test_any_right_number_is_found_and_no_wrong_one(country: str, seed: int) -> None:
    number = written(country, seed)
    assert stdnum_iban.is_valid(number, check_country=False)
    assert ibans_in(f"ว่า{number}.") == [number]
    swapped = number[:4] + number[4:][::-1]
    assert bool(ibans_in(swapped)) == stdnum_iban.is_valid(swapped, check_country=False)


@given(st.text(st.sampled_from("DENO0189 -AX\n"), max_size=40), st.sampled_from(PUBLISHED))
def test_what_is_found_is_right_to_the_oracle(noise: str, number: str) -> None:
    for found in ibans_in(noise + number[:12] + noise + number[4:]):
        assert stdnum_iban.is_valid(found, check_country=False)


@pytest.mark.parametrize(
    "text",
    [
        "DE88 3704 0044 0532 0130 00",  # check digits
        "XX89 3704 0044 0532 0130 00",
        "DE89 3704 0044 0532 0130 0",
        "DE89370400440532013000A",
        "xDE89370400440532013000",
        "DE89 3704-0044 0532 0130 00",  # signs of two kinds
        "DE89  3704 0044 0532 0130 00",
        "dE89370400440532013000",
        "DE89\n3704 0044 0532 0130 00",
        "GB29 nwbk 6016 1331 9268 19",
    ],
)
def test_what_is_no_account_number_is_left(text: str) -> None:
    assert ibans_in(text) == []


@pytest.mark.parametrize("bait", ["DE89 ", "DE89", "DE89 3704 0044 0532 0130 0", "NO", "1"])
def test_bait_ends_in_linear_time(bait: str) -> None:
    ibans_in(bait * (bait_bytes(1_000_000) // len(bait)))
