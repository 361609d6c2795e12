"""The taxonomy and the operators name each other, both ways."""

import re

import pytest

from winnow.filters.operators import find_operator, operator_names
from winnow.schemas.languages import language
from winnow.schemas.safety import TAXONOMY, subcategories


def test_names_are_plain_and_unique() -> None:
    names = [f"{category.name}.{one.name}" for category in TAXONOMY for one in category.subcategories]
    assert list(subcategories()) == names
    assert len(names) == len(set(names))
    assert all(re.fullmatch(r"[a-z][a-z_]*\.[a-z][a-z_]*", name) for name in names)
    assert all(one.meaning for category in TAXONOMY for one in category.subcategories)


@pytest.mark.parametrize("name", operator_names())
def test_what_an_operator_detects_the_taxonomy_says_of_it(name: str) -> None:
    operator = find_operator(name)
    config = operator.config()
    columns = operator.writes(config).names
    for column, subcategory in operator.detects(config).items():
        assert column in columns
        assert name in subcategories()[subcategory].operators


@pytest.mark.parametrize("name", sorted({name for one in subcategories().values() for name in one.operators}))
def test_every_operator_that_the_taxonomy_names_exists(name: str) -> None:
    assert name in operator_names()


@pytest.mark.parametrize("name", operator_names())
def test_the_languages_of_an_operator_are_languages(name: str) -> None:
    operator = find_operator(name)
    for code in operator.languages(operator.config()) or ():
        assert language(code) is not None, code
