"""Areas are those of all pairs, and scores are those of winnow's task."""

from pathlib import Path

import numpy as np
import pytest

from benchmarks.mimic.passages import CLEAN, DECLARED, SPOILT, Trial
from benchmarks.mimic.text import ANOTHER, Ranking, auc, result_of


def test_the_area_counts_pairs_and_halves_ties() -> None:
    good, bad = np.array([3.0, 2.0, 2.0]), np.array([1.0, 2.0])
    pairs = [(one > other) + (one == other) / 2 for one in good for other in bad]
    assert auc(good, bad) == sum(pairs) / len(pairs) == pytest.approx(5 / 6)


def test_areas_are_of_one_language_and_the_other_languages_are_a_kind_of_their_own() -> None:
    trials = [Trial(f"{language}/{kind}", language, kind, "") for language in DECLARED for kind in (CLEAN, *SPOILT)]
    values = np.array([float(trial.kind == CLEAN) + (trial.language == "de") for trial in trials])
    found = result_of(trials, Ranking("", "made", values)).auc
    assert found["es"] == dict.fromkeys(SPOILT, 1.0) | {ANOTHER: 0.5 * 6 / 7}
    assert found["de"][ANOTHER] == 1.0


@pytest.mark.torch
def test_scores_are_those_of_winnows_task(tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="needs the extra `torch`")
    pytest.importorskip("tokenizers", reason="needs the extra `tokens`")
    from benchmarks.mimic.models import Models, Plan, train_tokenizer
    from benchmarks.mimic.scores import gradients_at, language_task, tokens_of
    from benchmarks.mimic.text import largest_difference
    from winnow.scoring.probe.grid import Schedule, Shape

    file = tmp_path / "tokenizer.json"
    train_tokenizer(["ein kleiner Text, und noch ein kleiner Text"] * 4, file, 280)
    plan = Plan(shape=Shape(layers=4, width=8, heads=2), schedule=Schedule(context=32), vocabulary=280)
    models = Models(file, {}, [], [])
    task = language_task(models, plan)
    at, reference = (
        {name: value[: 32 if name == "places" else None] for name, value in task.initial(seed).items()}
        for seed in (0, 1)
    )
    models = Models(file, {"reference": reference, "adapted": reference}, [at], [at])
    texts = ("ein Text", "noch ein viel längerer Text, der über den Rand des Modells hinausgeht, wie man sieht")
    trials = [Trial(str(number), "de", CLEAN, text) for number, text in enumerate(texts)]
    assert np.isfinite(gradients_at(plan.shape, at, reference, tokens_of(models, trials, 32))).all()
    assert largest_difference(models, plan, trials) < 1e-5
