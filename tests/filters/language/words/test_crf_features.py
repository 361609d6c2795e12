"""The names that models get of syllables, beside the dictionaries of khmernltk and pyvi themselves."""

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from winnow.filters.language.words.crf_features import Features, khmer_features, vietnamese_features

pycrfsuite = pytest.importorskip("pycrfsuite")

CLUSTERS = st.lists(st.sampled_from(["ម", "នុ", "ស្ស", "ទាំ", "ង", " ", "៕", "abc", "១២", "ក្រុម"]), max_size=9)
SYLLABLES = st.lists(
    st.sampled_from(["Tất", "cả", "mọi", "người", "Hà", "Nội", "TP.", "12", "ĐẠI", "học", "xã", "hội", "İ", "-"]),
    max_size=9,
)


def told(features: object) -> list[list[tuple[str, float]]]:
    """The attributes that crfsuite gets of each syllable, in order, without those that count for nothing."""
    items: Sequence[Mapping[str, float]] = pycrfsuite.ItemSequence(features).items()
    return [[(name, weight) for name, weight in item.items() if weight] for item in items]


def same(ours: Callable[[Sequence[str]], Features], theirs: Callable[[list[str]], Any], syllables: list[str]) -> None:
    assert told(ours(syllables)) == told(theirs(syllables))


@given(CLUSTERS)
def test_khmer_clusters_have_the_features_of_khmernltk(clusters: list[str]) -> None:
    parts = pytest.importorskip("khmernltk.word_tokenize.features")
    same(khmer_features(parts.kcc_type, parts.is_no_space), parts.create_kcc_features, clusters)


@given(SYLLABLES)
def test_vietnamese_syllables_have_the_features_of_pyvi(syllables: list[str]) -> None:
    pytest.importorskip("pyvi")
    tagger = import_module("pyvi.ViTokenizer").ViTokenizer
    ours = vietnamese_features(tagger.bi_grams, tagger.tri_grams)
    same(ours, lambda found: tagger.sent2features(found, False), syllables)
