"""What a label means for letters of the language's own script, of another one, and of several."""

import pytest

from winnow.filters.language.identification.codes import Coded, coded, written_in
from winnow.schemas.languages import Label


@pytest.mark.parametrize(
    ("label", "first", "second", "code"),
    [
        (Label("jpn"), "Jpan", None, "jpn_Jpan"),
        (Label("jpn"), "Hani", None, "jpn_Jpan"),  # Japanese without kana
        (Label("jpn"), "Latn", "Jpan", "jpn_Jpan"),  # a page that is mostly code and names
        (Label("rus"), "Latn", "Cyrl", "rus_Cyrl"),
        (Label("hin"), "Latn", "Deva", "hin_Deva"),
        (Label("hin"), "Latn", None, "hin_Latn"),  # people write it so
        (Label("srp"), "Latn", None, "srp_Latn"),
        (Label("srp"), "Cyrl", None, "srp_Cyrl"),
        (Label("kaz"), "Latn", None, "kaz_Latn"),
        (Label("cmn"), "Jpan", None, "cmn_Hani"),
        (Label("cmn"), "Bopo", None, "cmn_Hani"),
        (Label("kor"), "Hang", None, "kor_Hang"),
        (Label("kor"), "Hani", None, "kor_Hang"),  # Korean in Chinese characters
        (Label("jpn", "Jpan"), "Latn", "Jpan", "jpn_Jpan"),
        (Label("zho", "Hant"), "Hani", None, "zho_Hant"),
        (Label("zxx"), "Latn", None, "zxx_Latn"),
        (Label("und"), "Cher", None, "und_Cher"),
        (Label("aaa"), "Arab", None, "aaa_Arab"),  # nothing is known of how Ghotuo is written
    ],
)
def test_a_language_in_a_script_that_it_is_written_in(label: Label, first: str, second: str | None, code: str) -> None:
    language, _, script = code.partition("_")
    assert coded(label, first, second) == Coded(language, script, code)


@pytest.mark.parametrize(
    ("label", "first", "second", "mismatch"),
    [
        (Label("jpn"), "Latn", None, "jpn_Latn"),
        (Label("rus"), "Latn", None, "rus_Latn"),
        (Label("rus"), "Ethi", "Cyrl", "rus_Ethi"),  # only Latin letters are everywhere
        (Label("eng"), "Cyrl", "Latn", "eng_Cyrl"),
        (Label("jpn"), "Latn", "Cyrl", "jpn_Latn"),
        (Label("jpn", "Jpan"), "Latn", None, "jpn_Latn"),
        (Label("hin", "Deva"), "Latn", None, "hin_Latn"),  # GlotLID has hin_Latn, too, and did not say it
        (Label("kor"), "Thai", None, "kor_Thai"),
        (Label("kor"), "Jpan", None, "kor_Jpan"),
        (Label("jpn"), "Hang", None, "jpn_Hang"),
        (Label("cmn"), "Hang", None, "cmn_Hang"),
        (Label("zho", "Hant"), "Hang", "Hani", "zho_Hang"),
    ],
)
def test_a_language_that_is_not_written_so_is_none(label: Label, first: str, second: str | None, mismatch: str) -> None:
    assert coded(label, first, second) == Coded("und", first, f"und_{first}", mismatch)


def test_the_scripts_of_languages_are_those_of_their_thresholds_and_more() -> None:
    assert written_in("srp") == {"Cyrl", "Latn"}
    assert written_in("uig") >= {"Arab", "Cyrl", "Latn"}
    assert written_in("cmn") == {"Hani"}
    assert written_in("rus") == {"Cyrl"}
    assert written_in("und") == frozenset()
