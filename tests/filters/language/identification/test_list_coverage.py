"""Which languages a list covers: its own code's, the usual one's, and the members of a macrolanguage."""

from winnow.filters.language.identification.list_coverage import covered_languages, list_codes, usual_code


def test_lists_of_a_language_have_its_code_or_its_macrolanguages() -> None:
    assert list(list_codes("deu")) == ["deu"]
    assert list(list_codes("pes")) == ["fas", "fas"]
    assert list(list_codes("arz")) == ["arz", "ara"]
    assert list(list_codes("zzz")) == ["zzz"], "no language has this code"


def test_a_list_covers_the_members_of_its_macrolanguage_and_the_usual_member_its_macrolanguage() -> None:
    assert usual_code("tgl") == "fil"
    assert {"fas", "pes", "prs"} <= covered_languages(["fas"])
    assert {"fas", "pes"} <= covered_languages(["pes"])
    assert covered_languages(["deu"]) == {"deu"}
    assert covered_languages(["zzz", "deu"]) == {"zzz", "deu"}
