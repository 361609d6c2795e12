"""Numbering plans, against `phonenumbers`, whose metadata they are made of."""

import random

import phonenumbers
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.property_sizes import scaled
from winnow.filters.private.personal.numbering import calling_codes, dialled, international, plan, plan_regions


def theirs(number: str, region: str | None) -> tuple[int, str] | None:
    try:
        found = phonenumbers.parse(number, region)
    except phonenumbers.NumberParseException:
        return None
    if found.country_code is None or not phonenumbers.is_valid_number(found):
        return None
    return found.country_code, phonenumbers.national_significant_number(found)


def examples(region: str) -> list[str]:
    """The national numbers that the package gives as examples for every kind of number in a region."""
    kinds = phonenumbers.PhoneNumberType.values()
    found = [phonenumbers.example_number_for_type(region, kind) for kind in kinds]
    return sorted({phonenumbers.national_significant_number(one) for one in found if one is not None})


def test_every_region_of_the_package_has_a_plan() -> None:
    assert plan_regions() == phonenumbers.SUPPORTED_REGIONS
    assert all(plan(region).code == phonenumbers.country_code_for_region(region) for region in plan_regions())


@pytest.mark.parametrize("region", sorted(phonenumbers.SUPPORTED_REGIONS))
def test_examples_and_what_is_nearly_one_are_judged_as_the_package_does(region: str) -> None:
    chance = random.Random(region)
    home = plan(region)
    for example in examples(region):
        for before in ("", home.trunk, str(home.code), f"00{home.code}", f"011{home.code}"):
            number = list(before + example)
            for _ in range(2):
                written = "".join(number)
                assert dialled(written, home) == theirs(written, region), written
                number[chance.randrange(len(number))] = chance.choice("0123456789")
        assert international(f"{home.code}{example}") == (home.code, example) == theirs(f"+{home.code}{example}", None)


@settings(max_examples=scaled(400))
@given(number=st.text("0123456789", min_size=2, max_size=18), region=st.sampled_from(sorted(plan_regions())))
def test_any_digits_are_judged_as_the_package_does(number: str, region: str) -> None:
    assert dialled(number, plan(region)) == theirs(number, region)
    assert international(number) == theirs(f"+{number}", None)


@settings(max_examples=scaled(400))
@given(code=st.sampled_from(sorted(calling_codes())), rest=st.text("0123456789", min_size=4, max_size=13))
def test_any_digits_behind_a_calling_code_are_judged_as_the_package_does(code: int, rest: str) -> None:
    assert international(f"{code}{rest}") == theirs(f"+{code}{rest}", None)


def test_a_plan_knows_the_groups_that_numbers_are_written_in() -> None:
    assert (3, 3, 4) in plan("US").groups
    assert (1, 2, 2, 2, 2) in plan("FR").groups
    assert {(2, 3), (2, 13)} <= plan("DE").groups  # `(\d{2})(\d{3,13})`
