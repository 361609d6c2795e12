"""Which segmentation a language gets."""

import csv
from collections import Counter
from pathlib import Path

import pytest

from benchmarks.measuring.environments import PEERS
from tools.tables.assignment import assigned
from winnow.filters.language.thresholds.fineweb2 import fineweb2_languages
from winnow.filters.language.words.packages import PACKAGES
from winnow.filters.language.words.scripts import ASSIGNMENT, Segmentation, segmentation_of


@pytest.mark.parametrize(
    ("language", "segmentation"),
    [
        ("deu_Latn", Segmentation("spacy_de", "spacy_de", "spacy_xx")),
        ("ace_Arab", Segmentation("spacy_xx", "spacy_xx", "spacy_xx")),  # WhitespaceTokenizer
        ("hin_Deva", Segmentation("indic", "indic", None)),
        ("urd_Arab", Segmentation("indic_ur", "indic_ur", None)),
        ("cmn_Hani", Segmentation("jieba", "jieba", None)),
        ("lzh_Hani", Segmentation("stanza_lzh", None, None)),  # words without spaces, and no model
        ("bod_Tibt", Segmentation("botok", None, None)),
        ("bel_Cyrl", Segmentation("stanza_be", None, "spacy_xx")),
        ("xxx_Xxxx", None),
    ],
)
def test_segmentation_of(language: str, segmentation: Segmentation | None) -> None:
    assert segmentation_of(language) == segmentation


def test_every_language_of_fineweb2_is_assigned_one() -> None:
    assert all(map(segmentation_of, fineweb2_languages()))


def test_how_many_are_covered() -> None:
    """The numbers that the preset's notes give."""
    covered: Counter[str] = Counter()
    for language in fineweb2_languages():
        found = segmentation_of(language)
        assert found is not None
        if found.style is None:
            covered["substitute" if found.substitute else "nothing"] += 1
        elif found.style in PACKAGES:
            covered["spacy or substitute" if found.substitute else "package"] += 1
        else:
            covered["indic" if found.style.startswith("indic") else "style"] += 1
    assert covered == {
        "style": 1454,
        "indic": 56,
        "package": 30,
        "spacy or substitute": 288,
        "substitute": 97,
        "nothing": 4,
    }


def test_the_first_row_of_a_language_counts() -> None:
    rows = [
        {"code_3": "aaa", "script": "Latn", "type": "", "tok_code": "en"},
        {"code_3": "aaa", "script": "Latn", "type": "SpaCyTokenizer", "tok_code": "zh"},
        {"code_3": "aaa", "script": "Latn", "type": "SpaCyTokenizer", "tok_code": "en"},
        {"code_3": "aab", "script": "Deva", "type": "IndicNLPTokenizer", "tok_code": "kK"},
    ]
    assert assigned(rows) == {"indic": ["aab_Deva"], "jieba": ["aaa_Latn"]}


@pytest.mark.peers
def test_the_list_is_datatroves() -> None:
    tables = list((PEERS / "datatrove").glob("lib/python*/site-packages/datatrove/assets/tokenizer_assignment.csv"))
    if not tables:
        pytest.skip("the peer datatrove is not installed (`python -m benchmarks.parity` says how it is made)")
    with tables[0].open(encoding="utf-8", newline="") as table:
        names = assigned(csv.DictReader(table))
    assert Path(ASSIGNMENT).read_text("utf-8") == "".join(f"{name}: {' '.join(names[name])}\n" for name in names)
