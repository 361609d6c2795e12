"""Which countries a text may be of, from its language and the domain of its page."""

import pyarrow as pa
import pytest

from winnow.filters.private.personal.numbering import plan_regions
from winnow.filters.private.personal.person_numbers import STATES
from winnow.filters.private.personal.regions import LANGUAGE_REGIONS, regions_of, row_regions
from winnow.schemas.languages import language

COVERED = {kind.region for kind in STATES}


@pytest.mark.parametrize(
    ("code", "domain", "expected"),
    [
        ("deu_Latn", None, ("DE", "AT", "CH")),
        ("deu_Latn", "example.com", ("DE", "AT", "CH")),
        ("deu_Latn", "example.ch", ("CH",)),
        ("deu", "www.example.CH.", ("CH",)),
        ("deu_Latn", "example.it", ("IT", "DE", "AT", "CH")),  # they disagree: either may be right
        ("zho_Hani", None, ("CN", "TW", "HK", "SG")),
        ("zho_Hant", None, ("TW", "HK")),
        ("eng_Latn", "example.co.uk", ("GB",)),
        ("rus_Cyrl", "xn--e1afmkfd.xn--p1ai", ("RU",)),
        (None, "example.fr", ("FR",)),
        (None, "example.io", ()),  # registered by everybody
        ("spa_Latn", "example.co", ("CO",)),  # but Colombia's, too
        ("und_Latn", "example.org", ()),
        ("xxx", None, ()),
        (None, None, ()),
        ("deu_Latn", "192.0.2.1", ("DE", "AT", "CH")),
        ("deu_Latn", "", ("DE", "AT", "CH")),
    ],
)
def test_countries_of_a_text(code: str | None, domain: str | None, expected: tuple[str, ...]) -> None:
    assert regions_of(code, domain) == expected


@pytest.mark.parametrize(
    ("code", "domain", "expected"),
    [
        ("nob_Latn", None, ("NO", "DK", "SE", "FI")),
        ("slk_Latn", "example.org", ("SK", "CZ")),
        ("bul_Cyrl", "example.bg", ("BG",)),  # the domain says it
        ("nob_Latn", "example.dk", ("DK", "NO")),
        ("ell_Grek", None, ("GR", "CY")),  # taken for no other
        ("und_Latn", None, ()),
    ],
)
def test_a_short_text_may_be_of_the_countries_of_languages_that_its_own_is_taken_for(
    code: str, domain: str | None, expected: tuple[str, ...]
) -> None:
    assert regions_of(code, domain, short=True) == expected


def test_rows_are_of_the_countries_of_their_own_language_and_domain() -> None:
    codes = ["deu_Latn", None, "deu_Latn", "jpn_Jpan"]
    domains = ["a.ch", "b.org", "c.ch.", None]
    found = row_regions(pa.array(codes, pa.string()), pa.array(domains, pa.string()), 4)
    assert [found.choices[number] for number in found.chosen] == [("CH",), (), ("CH",), ("JP",)]
    assert len(found.choices) == 3
    assert found.first() == ["CH", None, "CH", "JP"]


def test_either_column_may_be_missing() -> None:
    found = row_regions(pa.array(["fra_Latn"]), None, 1)
    assert found.choices == (("FR", "BE", "CH", "CA"),)
    assert row_regions(None, pa.array(["a.se"]), 1).choices == (("SE",),)
    assert row_regions(None, None, 2).chosen.tolist() == [0, 0]
    assert row_regions(None, None, 0).choices == ()


def test_a_config_may_fix_the_countries_of_all_rows() -> None:
    found = row_regions(pa.array(["deu_Latn", None]), None, 2, fixed=("NZ", "AU"))
    assert [found.choices[number] for number in found.chosen] == [("NZ", "AU"), ("NZ", "AU")]


def test_the_table_names_languages_and_countries_that_exist() -> None:
    for code, regions in LANGUAGE_REGIONS.items():
        assert language(code) is not None, code
        assert set(regions) <= plan_regions(), code
        assert len(set(regions)) == len(regions), code
    assert plan_regions() >= COVERED
    spoken = {region for regions in LANGUAGE_REGIONS.values() for region in regions}
    assert COVERED - spoken == {"CU"}  # only its domain leads there
