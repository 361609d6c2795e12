"""What is planted: one thing a copy, the same for the same name, and findable by the detector that it is for."""

from importlib.util import find_spec

import pytest

from benchmarks.parity.documents import Document
from benchmarks.safety_parity.known import Known
from benchmarks.safety_parity.listed_words import ASSET, found_inside, listed_words
from benchmarks.safety_parity.made_up import EXTRAS, MADE_UP
from benchmarks.safety_parity.planting import all_planters
from winnow.pipelines.assets import AssetError, AssetFiles
from winnow.schemas.safety import subcategories

CLEAN = Known(Document("a", "first\nsecond\nthird", "deu_Latn"), "plain")


def has_asset() -> bool:
    try:
        AssetFiles().path(ASSET)
    except AssetError:
        return False
    return True


needs_words = pytest.mark.skipif(not has_asset(), reason=f"winnow assets fetch {ASSET}")
needs_pii = pytest.mark.skipif(
    any(find_spec(package) is None for package, _ in EXTRAS.values()), reason="pip install 'winnow[pii]'"
)


def test_a_copy_holds_one_thing_in_its_middle_and_says_what() -> None:
    found = list(all_planters()(CLEAN, frozenset({"personal.iban"})))
    assert [(one.planted, one.variant) for one in found] == [("personal.iban", "plain"), ("personal.iban", "in fours")]
    assert found[0].document.id == "a + personal.iban, plain"
    first, second, iban, third = found[0].document.text.split("\n")
    assert (first, second, third) == ("first", "second", "third")
    assert iban.startswith("IBAN DE")


def test_what_is_planted_depends_on_the_name_alone() -> None:
    wanted = frozenset(subcategories())
    assert list(all_planters()(CLEAN, wanted)) == list(all_planters()(CLEAN, wanted))


def test_an_address_of_a_page_leaves_its_text_alone() -> None:
    found = list(all_planters()(CLEAN, frozenset({"sexual.adult_site"})))
    assert {one.document.text for one in found} == {CLEAN.document.text}
    assert all(one.document.url for one in found)


def test_nothing_is_planted_that_nobody_looks_for() -> None:
    assert list(all_planters()(CLEAN, frozenset())) == []


@needs_pii
@pytest.mark.parametrize(("language", "expected"), [("dan", 1), ("ita", 1), ("eng", 2), ("spa", 3), ("amh", 0)])
def test_numbers_of_persons_are_those_of_the_languages_first_country(language: str, expected: int) -> None:
    assert len(list(MADE_UP["personal.national_id"](language, 0))) >= expected


@needs_words
def test_listed_words_are_planted_where_there_is_a_list() -> None:
    variants = {one.variant for one in listed_words("deu", 0)}
    assert {"plain", "zero-width", "full-width", "nothing else"} <= variants
    assert list(listed_words("amh", 0)) == []


@needs_words
def test_naive_filters_find_letters_inside_of_other_words() -> None:
    word = next(iter(listed_words("deu", 0))).text
    assert found_inside("deu_Latn", f"ein Vor{word}nachwort")
    assert not found_inside("deu_Latn", "ein Wort")
    assert not found_inside("amh_Ethi", word)
