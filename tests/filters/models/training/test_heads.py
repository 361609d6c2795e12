"""Training a head from labelled vectors: reproducible, calibrated by language, measured on texts it has not seen."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.messages import assert_told
from winnow.filters.models.heads.curves import POOLED
from winnow.filters.models.heads.head import read_head
from winnow.filters.models.training.heads import METHODS, HeadTraining, LabelledVectors, TrainedHead, write_head
from winnow.schemas.errors import SourceError
from winnow.schemas.identity import Json

WIDTH = 16
LAYER: dict[str, Json] = {"layer": "text.embedding", "keys": {"web": "0123"}}
FAST = {name: replace(one, hidden=min(one.hidden, 16)) for name, one in METHODS.items()}


def examples(rows: int = 4000, *, grades: bool = True, seed: int = 0) -> LabelledVectors:
    """Texts in English and German; graders of German are stricter by a point; three texts are in Yoruba."""
    noise = np.random.default_rng(seed)
    vectors = noise.normal(size=(rows, WIDTH))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    german = noise.random(rows) < 0.4
    worth = 2.5 + 6 * vectors[:, 0] - german + noise.normal(size=rows) * 0.3
    labels = np.clip(worth, 0, 5).round() if grades else (worth > 2.5).astype(float)
    languages = np.where(german, "deu_Latn", "eng_Latn").astype(object)
    languages[:3] = "yor_Latn"
    ids = [number.to_bytes(16, "big") for number in range(rows)]
    return LabelledVectors(ids, vectors.astype(np.float32), labels, languages.tolist())


def written(folder: Path, method: str, made: LabelledVectors, config: HeadTraining | None = None) -> TrainedHead:
    return write_head(method, made, config or FAST[method], LAYER, folder / f"{method}.safetensors")


def refusal(folder: Path, method: str, made: LabelledVectors) -> str:
    with pytest.raises(SourceError) as caught:
        written(folder, method, made)
    assert "\n" not in str(caught.value)
    assert not list(folder.iterdir())
    return str(caught.value)


@pytest.mark.parametrize("method", ["fineweb-edu", "jql"])
def test_grades_are_predicted_and_calibrated_by_language(tmp_path: Path, method: str) -> None:
    found = written(tmp_path, method, examples())
    assert [one.language for one in found.by_language[:2]] == ["eng_Latn", "deu_Latn"]
    assert sum(one.texts for one in found.by_language) == found.overall.texts
    for one in (found.overall, *found.by_language[:2]):
        assert one.grades is not None
        assert one.grades.r2 is not None
        assert one.grades.r2 > 0.85
        assert (one.separation.auc or 0) > 0.95
    assert [one.own_curve for one in found.by_language[:2]] == [True, True]
    head = read_head(str(tmp_path / f"{method}.safetensors"))
    assert set(head.curves) == {POOLED, "eng_Latn", "deu_Latn"}
    score = np.array([2.5])
    english, german = (float(head.answers(score, [name])[0]) for name in ("eng_Latn", "deu_Latn"))
    assert english - german == pytest.approx(1, abs=0.25)


def test_a_head_of_two_sides_gives_probabilities(tmp_path: Path) -> None:
    found = written(tmp_path, "fineweb2-hq", examples(grades=False))
    assert (found.overall.separation.auc or 0) > 0.95
    assert found.overall.grades is None
    counts = [sum(part[side] for part in found.counts.values()) for side in ("positive", "negative")]
    assert counts[0] == counts[1]
    assert sum(counts) + found.unbalanced == 4000


def test_the_same_labels_give_the_same_bytes_in_any_order(tmp_path: Path) -> None:
    made = examples(600)
    order = np.random.default_rng(1).permutation(600)
    files = []
    for name, one in (("a", made), ("b", made.chosen(order)), ("c", examples(600, seed=2))):
        (tmp_path / name).mkdir()
        written(tmp_path / name, "jql", one)
        files.append((tmp_path / name / "jql.safetensors").read_bytes())
    assert files[0] == files[1] != files[2]


def test_a_text_stays_held_out_when_others_come(tmp_path: Path) -> None:
    few, many = (written(tmp_path, "fineweb-edu", examples(rows)) for rows in (1000, 2000))
    assert 0.07 * 1000 < few.overall.texts < 0.13 * 1000
    assert few.overall.texts < many.overall.texts


def test_the_card_says_what_it_was_made_from(tmp_path: Path) -> None:
    written(tmp_path, "fineweb-edu", examples(600))
    card = read_head(str(tmp_path / "fineweb-edu.safetensors")).card
    assert card is not None
    assert (card.answer, card.method, card.threshold, card.embedding) == ("grade", "fineweb-edu", 3, LAYER)
    assert card.training["seed"] == 0
    assert {"all", "eng_Latn", "deu_Latn"} <= card.held_out.keys()


def test_labels_that_teach_nothing_are_refused_in_a_line(tmp_path: Path) -> None:
    made = examples(600, grades=False)
    one_sided = replace(made, labels=np.ones(600))
    assert_told(refusal(tmp_path, "fineweb2-hq", one_sided), "all 600 labelled texts are wanted")
    assert_told(refusal(tmp_path, "fineweb-edu", replace(made, labels=np.full(600, 3.0))), "the label 3", "grades")
    assert_told(refusal(tmp_path, "jql", made.chosen(np.arange(2))), "more labels")
