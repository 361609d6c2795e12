"""A threshold is the one that a search over all scores finds; confusions are counted from the same answers."""

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from winnow.filters.language.identification.own.score_thresholds import (
    MOST,
    confusable,
    own_score_thresholds,
    taken_for,
)
from winnow.filters.language.thresholds.learning import Judged, confused, learn
from winnow.filters.language.thresholds.learning_config import LearningConfig

CODES = ("dan_Latn", "nob_Latn", "swe_Latn")
ROWS = st.lists(
    st.tuples(st.integers(0, 2), st.integers(-1, 2), st.integers(30, 90).map(lambda score: score / 100)), max_size=60
)


def judged(rows: Sequence[tuple[int, int, float]]) -> Judged:
    wanted, said, scores = zip(*rows, strict=True) if rows else ((), (), ())
    return Judged(CODES, np.array(wanted, np.int64), np.array(said, np.int64), np.array(scores, np.float64))


def f_beta(rows: Sequence[tuple[int, int, float]], of: int, threshold: float, beta: float) -> float:
    kept = [wanted for wanted, said, score in rows if said == of and score >= threshold]
    hits, texts = kept.count(of), sum(wanted == of for wanted, _, _ in rows)
    if not hits:
        return 0.0
    precision, recall = hits / len(kept), hits / texts
    return (1 + beta**2) * precision * recall / (beta**2 * precision + recall)


@given(ROWS, st.sampled_from([0.1, 1.0, 2.0]), st.sampled_from([0.0, 0.5, 0.9, 1.0]))
def test_no_other_threshold_is_better(rows: list[tuple[int, int, float]], beta: float, least_kept: float) -> None:
    for one in learn(judged(rows), LearningConfig(beta=beta, least_texts=1, least_kept=least_kept)):
        of = CODES.index(one.code)
        assert 0.3 <= one.score <= 0.9
        assert one.texts == sum(wanted == of for wanted, _, _ in rows)
        found = [score for wanted, said, score in rows if wanted == said == of]
        steps = [step / 100 for step in range(30, 91)]
        fit = [step for step in steps if sum(score >= step for score in found) >= least_kept * len(found)]
        best = max(f_beta(rows, of, step, beta) for step in fit)
        assert f_beta(rows, of, one.score, beta) == pytest.approx(best)
        kept = [wanted for wanted, said, score in rows if said == of and score >= one.score]
        assert one.recall == pytest.approx(kept.count(of) / one.texts)
        assert one.precision == pytest.approx(kept.count(of) / len(kept) if kept else 0)


def test_languages_with_few_texts_get_none() -> None:
    rows = [(0, 0, 0.8)] * 20 + [(1, 1, 0.8)] * 19
    assert [one.code for one in learn(judged(rows), LearningConfig())] == ["dan_Latn"]


def test_a_wrong_text_costs_more_than_a_lost_one() -> None:
    rows = [(0, 0, 0.8)] * 60 + [(0, 0, 0.5)] * 40 + [(1, 0, 0.5)] * 10
    (strict,) = learn(judged(rows), LearningConfig(least_kept=0.0))
    (lenient,) = learn(judged(rows), LearningConfig(beta=2.0, least_kept=0.0))
    (bounded,) = learn(judged(rows), LearningConfig())
    assert (strict.score, strict.precision, strict.recall, strict.found) == (0.8, 1.0, 0.6, 1.0)
    assert (lenient.score, lenient.recall) == (bounded.score, bounded.recall) == (0.5, 1.0)


def test_what_a_language_is_taken_for() -> None:
    rows = [(0, 0, 0.8)] * 90 + [(0, 1, 0.8)] * 8 + [(0, 2, 0.8)] * 2 + [(1, 1, 0.8)] * 99 + [(1, 0, 0.8)]
    assert confused(judged(rows), LearningConfig()) == {"dan_Latn": {"nob_Latn": 0.08, "swe_Latn": 0.02}}


def test_the_own_models_table_covers_what_it_knows() -> None:
    table = own_score_thresholds()
    scores = dict(zip(table.keys, table.columns["language_score"], strict=True))
    assert {"eng_Latn", "deu_Latn", "cmn_Hani", "jpn_Jpan", "srp_Cyrl", "kaz_Latn", "fas_Arab"} <= scores.keys()
    assert all(score is not None and 0.3 <= score <= MOST for score in scores.values())
    assert not any(key.startswith(("und", "zxx")) for key in table.keys)


def test_close_languages_are_named_where_both_are_there() -> None:
    assert taken_for()["bos_Latn", "hrv_Latn"] > 0.1
    assert confusable(["eng_Latn", "deu_Latn", "jpn_Jpan", "nob_Latn"]) == []
    pairs = {pair[:2] for pair in confusable(["bos_Latn", "hrv_Latn", "nob_Latn", "nno_Latn", "eng_Latn"])}
    assert pairs >= {("bos_Latn", "hrv_Latn"), ("nno_Latn", "nob_Latn")}
