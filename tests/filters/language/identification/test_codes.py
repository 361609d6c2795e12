"""What a label means for letters of the language's own script, of another one, and of several."""

from itertools import product
from pathlib import Path

import numpy as np
import pytest

from winnow.filters.language.identification.codes import CodedLanguage, coded, written_in
from winnow.filters.language.identification.scripts import EITHER, dominant_scripts, script_names
from winnow.filters.language.thresholds.fineweb2 import fineweb2_languages
from winnow.filters.language.thresholds.multilingual import multilingual_thresholds
from winnow.schemas.languages import Label, language, read_label, script_ranges


@pytest.mark.parametrize(
    ("label", "first", "second", "code"),
    [
        (Label("jpn"), "Jpan", None, "jpn_Jpan"),
        (Label("jpn"), "Hani", EITHER, "jpn_Jpan"),  # a heading without kana
        (Label("jpn"), "Latn", "Jpan", "jpn_Jpan"),  # a page that is mostly code and names
        (Label("rus"), "Latn", "Cyrl", "rus_Cyrl"),
        (Label("hin"), "Latn", "Deva", "hin_Deva"),
        (Label("hin"), "Latn", None, "hin_Latn"),  # people write it so
        (Label("srp"), "Latn", None, "srp_Latn"),
        (Label("srp"), "Cyrl", None, "srp_Cyrl"),
        (Label("kaz"), "Latn", None, "kaz_Latn"),
        (Label("cmn"), "Jpan", EITHER, "cmn_Hani"),  # Chinese with Japanese names
        (Label("cmn"), "Latn", EITHER, "cmn_Hani"),
        (Label("cmn"), "Latn", "Hani", "cmn_Hani"),
        (Label("cmn"), "Bopo", None, "cmn_Hani"),
        (Label("kor"), "Hang", None, "kor_Hang"),
        (Label("kor"), "Hani", "Hang", "kor_Hang"),  # Korean with many Chinese characters
        (Label("jpn", "Jpan"), "Latn", "Jpan", "jpn_Jpan"),
        (Label("zxx"), "Latn", None, "zxx_Latn"),
        (Label("und"), "Cher", None, "und_Cher"),
        (Label("aaa"), "Arab", None, "aaa_Arab"),  # nothing is known of how Ghotuo is written
    ],
)
def test_a_language_in_a_script_that_it_is_written_in(label: Label, first: str, second: str | None, code: str) -> None:
    language, _, script = code.partition("_")
    found = coded(label, first, second)
    assert (found.label, found.script, found.code, found.mismatch) == (language, script, code, None)
    assert found.of_second == ((first != script and first == "Latn") or (first, script) == ("Hani", "Hang"))


OPENLID = (Path(__file__).parents[3] / "schemas/languages/labels/openlid.txt").read_text().split()


def test_labels_of_openlid_have_the_codes_that_thresholds_and_words_have() -> None:
    found = {name: code_of(name) for name in OPENLID}
    assert {name: code for name, code in found.items() if code != name} == {
        "ajp_Arab": "apc_Arab",
        "ara_Arab": "arb_Arab",
        "est_Latn": "ekk_Latn",
        "grn_Latn": "gug_Latn",
        "pes_Arab": "fas_Arab",
        "prs_Arab": "fas_Arab",
        "tgl_Latn": "fil_Latn",
        "yue_Hant": "yue_Hani",
        "zho_Hans": "cmn_Hani",
        "zho_Hant": "cmn_Hani",
    }
    assert set(found.values()) - set(multilingual_thresholds().keys) == {"acq_Arab", "kon_Latn", "zxx_Zxxx"}


def code_of(name: str) -> str:
    """What a label means for a text in its script."""
    label = read_label(name, "iso")
    assert label is not None
    assert label.script is not None
    return coded(label, {"Hans": "Hani", "Hant": "Hani"}.get(label.script, label.script)).code


def test_the_kind_of_chinese_characters_stays_in_the_script() -> None:
    assert coded(Label("zho", "Hant"), "Hani") == CodedLanguage("cmn", "Hant", "cmn_Hani")


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
        (Label("kor"), "Hani", None, "kor_Hani"),  # Chinese characters alone
        (Label("kor"), "Hani", EITHER, "kor_Hani"),
        (Label("jpn"), "Hani", None, "jpn_Hani"),  # many Chinese characters, and no kana
        (Label("jpn"), "Latn", "Hani", "jpn_Latn"),
        (Label("jpn"), "Bopo", None, "jpn_Bopo"),
        (Label("cmn"), "Jpan", None, "cmn_Jpan"),  # more kana than Chinese characters
        (Label("jpn"), "Hang", None, "jpn_Hang"),
        (Label("cmn"), "Hang", None, "cmn_Hang"),
        (Label("zho", "Hant"), "Hang", "Hani", "zho_Hang"),
    ],
)
def test_a_language_that_is_not_written_so_is_none(label: Label, first: str, second: str | None, mismatch: str) -> None:
    assert coded(label, first, second) == CodedLanguage("und", first, f"und_{first}", mismatch)


def test_the_scripts_of_languages_are_those_of_their_thresholds_and_more() -> None:
    assert written_in("srp") == {"Cyrl", "Latn"}
    assert written_in("uig") >= {"Arab", "Cyrl", "Latn"}
    assert written_in("cmn") == {"Hani"}
    assert written_in("rus") == {"Cyrl"}
    assert written_in("und") == frozenset()


LETTERS = {one.script: chr(one.first) * 30 for one in script_ranges()}
"""Thirty letters of each script."""
TEXTS: dict[tuple[str, ...], str] = {  # texts by the scripts that are in them
    **{(script,): text for script, text in LETTERS.items()},
    **{(script, "Latn"): text + "code " * 12 for script, text in LETTERS.items() if script != "Latn"},
    ("Hira", "Hani"): "の" * 10 + "東" * 30,
    ("Hani", "Hira"): "東" * 10 + "の" * 30,
    ("Hani", "Kana"): "東" * 99 + "ア",
    ("Hang", "Hani"): "가" * 30 + "東" * 10,
    ("Hani", "Hang"): "東" * 30 + "가" * 10,
}
_CHINESE = {"Hani", "Bopo"}
WRITES = {"Jpan": {"Hira", "Kana"}, "Hani": _CHINESE, "Hans": _CHINESE, "Hant": _CHINESE, "Kore": {"Hang"}}
LABELS = {  # the labels of every language with thresholds, with their scripts as GlotLID has them and without
    *(Label(*code.split("_")[:2]) for code in fineweb2_languages()),
    *(Label(code.partition("_")[0]) for code in fineweb2_languages()),
    *(Label(code, script) for code, script in (("zho", "Hans"), ("zho", "Hant"), ("kor", "Kore"), ("jpn", None))),
}


def test_no_label_is_given_to_a_text_without_its_script() -> None:
    texts = [text.encode() for text in TEXTS.values()]
    ends = np.cumsum([len(text) for text in texts], dtype=np.int64)
    starts = ends - np.array([len(text) for text in texts], np.int64)
    found = dominant_scripts(np.frombuffer(b"".join(texts), np.uint8), starts, ends)
    names = script_names()
    firsts = [names[number] for number in found.numbers]
    seconds = [names[number] if number >= 0 else None for number in found.seconds]
    given: dict[str, int] = {}
    for label, (there, first, second) in product(LABELS, zip(TEXTS, firsts, seconds, strict=True)):
        code = coded(label, first, second)
        if code.mismatch is None:
            assert not WRITES.get(code.script, {code.script}).isdisjoint(there), (label, there, code)
            given[label.code] = given.get(label.code, 0) + 1
        else:
            assert (code.label, code.script) == ("und", first)
    assert given.keys() == {label.code for label in LABELS if _has_text(label.code)}


def _has_text(code: str) -> bool:
    """Whether some text is in a script that the language is written in, or nothing is known of how it is written."""
    known = language(code)
    scripts = written_in(code) | ({known.script} if known and known.script else set())
    return not scripts or any(not WRITES.get(one, {one}).isdisjoint(LETTERS) for one in scripts)
