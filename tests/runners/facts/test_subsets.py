"""Subsets and rules by language as tables: which columns there are, and in which order."""

import pytest

from winnow.pipelines.score.subsets import Overlap, SubsetScores
from winnow.runners.facts.rules_by_language import RulesByLanguage
from winnow.runners.facts.subsets import overlap_table, score_table
from winnow.runners.tables.table import Share


def test_a_score_has_a_column_for_each_measure_that_a_subset_has() -> None:
    some = SubsetScores("some", 3, 2, {"q": {"score": (2, 3.0), "loss": (4, 1.0)}, "p": {"score": (1, 0.5)}})
    every = SubsetScores("all", None, 9, {"q": {"mimic": (2, 1.0), "rho": (0, 0.0)}, "none": {"score": (0, 0.0)}})
    assert score_table([some, every], {}).to_json() == [
        {"subset": "some", "listed": 3, "in_the_store": 2, "p": 0.5, "q.mimic": None, "q.loss": 0.25},
        {"subset": "all", "listed": None, "in_the_store": 9, "p": None, "q.mimic": 0.5, "q.loss": None},
    ]


def test_what_lists_have_in_common_is_a_share_of_what_either_has() -> None:
    (row,) = overlap_table([Overlap("a", "b", 3, 12)]).to_json()
    assert row == {"list": "a", "and": "b", "in_both": 3, "in_either": 12, "Jaccard": pytest.approx(0.25)}


def test_rules_by_language_are_in_order_whatever_order_counts_come_in() -> None:
    rows = {"fra": 5, "deu": 9, "eng": 9, "und": 0}
    drops = {"keep.a": {"fra": 1, "deu": 2}, "keep.c": {"deu": 3}, "eligible.b": {"eng": 7}}
    found = RulesByLanguage.of(rows, {"fra": 4}, drops)
    assert (found.languages, [*found.drops]) == (("deu", "eng", "fra"), ["eligible.b", "keep.a", "keep.c"])
    assert [found.dropped("keep.a", code) for code in ("deu", "eng")] == [2, 0]
    assert (found.dropped("keep.none", "deu"), found.share("keep.a", "fra")) == (0, Share(1, 5))
