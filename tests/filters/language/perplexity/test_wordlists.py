"""Word frequencies: wordfreq's own tokens and numbers, from tables that are a tenth of its size."""

import math
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType

import pytest
from ftfy.fixes import uncurl_quotes
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.filters.models.training.declarations import paragraphs
from tests.property_sizes import scaled
from winnow.filters.language.perplexity.wordlists import (
    UNKNOWN_WORD,
    MissingTokenizerError,
    list_language,
    load_wordlist,
)


def wordfreq() -> ModuleType:
    """Imported by those who need it: it takes a second."""
    return import_module("wordfreq")


LANGUAGES = ("eng", "fra", "tur", "srp", "ron", "arb", "hin", "ell")


@pytest.mark.parametrize(
    ("code", "language"),
    [
        ("eng", "en"),
        ("en", "en"),
        ("deu_Latn", "de"),
        ("pt-BR", "pt"),
        ("hrv", "sh"),
        ("srp_Cyrl", "sh"),
        ("nor", "nb"),
        ("arb_Arab", "ar"),
        ("cmn_Hani", "zh"),
        ("zho_Hant", "zh"),
        ("glg", None),
        ("tha", None),
        ("und", None),
        ("und_Latn", None),
        ("zxx", None),
        ("mul", None),
        ("", None),
        ("not a code", None),
        ("x" * 10_000, None),
    ],
)
def test_a_code_has_the_list_of_its_language_or_none(code: str, language: str | None) -> None:
    assert list_language(code, "best") == language


@pytest.mark.parametrize("code", LANGUAGES)
def test_tokens_and_frequencies_are_those_of_wordfreq(code: str) -> None:
    words = load_wordlist(code, "small")
    stretches = sorted(set(" ".join(paragraphs(code)).split()))
    tokens = words.tokenise(stretches)
    assert tokens == [wordfreq().lossy_tokenize(uncurl_quotes(stretch), code) for stretch in stretches]
    flat = sorted({token for found in tokens for token in found})
    for token, centibels in zip(flat, words.look_up(flat).tolist(), strict=True):
        theirs = wordfreq().zipf_frequency(token, code, wordlist="small")
        assert theirs == pytest.approx(0 if centibels == 1 else (centibels - UNKNOWN_WORD) / 100, abs=0.011)


@settings(max_examples=scaled(200), deadline=None)
@given(st.text(alphabet=st.characters(exclude_categories=["Z", "Cc", "Cs"]), min_size=1, max_size=20))
def test_any_stretch_is_read_as_wordfreq_reads_it(stretch: str) -> None:
    words = load_wordlist("eng", "small")
    other = ["before", stretch, "after"]
    assert words.tokenise(other) == [wordfreq().lossy_tokenize(uncurl_quotes(item), "en") for item in other]


@settings(max_examples=scaled(300), deadline=None)
@given(st.text(alphabet="aloéŒжß'’\"“.,-:·@_5)«ªʼı", min_size=1, max_size=8), st.sampled_from(["eng", "fra", "tur"]))
def test_marks_around_a_word_do_not_change_how_it_is_read(stretch: str, code: str) -> None:
    theirs = wordfreq().lossy_tokenize(uncurl_quotes(stretch), code)
    assert load_wordlist(code, "small").tokenise([stretch]) == [theirs]


def test_a_stretch_with_a_line_end_of_its_own_moves_no_other() -> None:
    assert load_wordlist("eng", "small").tokenise(["one\ntwo", "three"]) == [["one", "two"], ["three"]]


def test_numbers_are_as_rare_as_wordfreq_estimates() -> None:
    words = load_wordlist("eng", "small")
    numbers = ["7", "1999", "2024", "12345", "3.14"]
    for number, centibels in zip(numbers, words.look_up(numbers).tolist(), strict=True):
        assert centibels == pytest.approx(100 * math.log10(wordfreq().word_frequency(number, "en", "small")), abs=1)


def test_numbers_that_wordfreq_cannot_estimate_are_unknown() -> None:
    assert load_wordlist("eng", "small").look_up(["9" * 41, "9" * 1000, "zxqvw", ""]).tolist() == [1, 1, 1, 1]


def test_nothing_is_looked_up_in_nothing() -> None:
    assert load_wordlist("eng", "small").look_up([]).tolist() == []


@pytest.mark.parametrize("code", ["jpn", "kor"])
def test_a_language_whose_tokenizer_is_missing_says_so(code: str) -> None:
    if find_spec("MeCab") is not None:
        pytest.skip("MeCab is installed here")
    with pytest.raises(MissingTokenizerError):
        load_wordlist(code, "best")
