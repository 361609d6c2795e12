"""A classifier of real texts: it learns, says how well, and comes out the same every time."""

import random
from dataclasses import replace
from pathlib import Path

import pytest

from tests.filters.models.training.declarations import SMALL, paragraphs, rows, train
from winnow.filters.models.card import card_path, file_sha256, read_card
from winnow.filters.models.fasttext_files import check_fasttext

SMALLEST = replace(SMALL, dimension=2, epochs=2, cutoff=300)  # most of the time goes into the quantiser's clusters


def test_the_model_learns_and_its_card_says_how_well(tmp_path: Path) -> None:
    output = tmp_path / "hq.bin"
    trained = train(output, tmp_path / "scratch")
    header = check_fasttext(str(output))
    assert set(header.labels) == {"__label__hq", "__label__cc"}
    assert not header.quantised
    assert trained.overall.auc is not None
    assert trained.overall.auc > 0.95
    assert {name for name, _ in trained.by_language} == {"eng", "fra", "deu", "spa"}
    assert sum(found.positives + found.negatives for _, found in trained.by_language) == len(trained.chosen.held_out)
    assert read_card(str(output)) == trained.card
    assert trained.card.normalisation == "words"
    assert trained.card.sha256 == file_sha256(str(output))


@pytest.mark.parametrize("name", ["hq.bin", "hq.ftz"])
def test_the_same_texts_in_any_order_give_the_same_bytes(tmp_path: Path, name: str) -> None:
    models = []
    for turn in range(2):
        given = rows()
        random.Random(turn).shuffle(given)
        output = tmp_path / str(turn) / name
        output.parent.mkdir()
        train(output, tmp_path / f"scratch-{turn}", SMALLEST, given)
        models.append((output.read_bytes(), Path(card_path(str(output))).read_bytes()))
    assert models[0] == models[1]
    assert check_fasttext(str(output)).quantised == name.endswith(".ftz")


def test_another_seed_gives_another_model(tmp_path: Path) -> None:
    hashes = {
        train(tmp_path / "hq.bin", tmp_path / "scratch", replace(SMALLEST, seed=seed)).card.sha256 for seed in (0, 1)
    }
    assert len(hashes) == 2


def test_words_that_fasttext_takes_for_its_own_teach_nothing(tmp_path: Path) -> None:
    given = rows() + [(f"__label__hq {text} </s> __label__new", False, "deu") for text in paragraphs("ita")]
    train(tmp_path / "hq.bin", tmp_path / "scratch", SMALLEST, given)
    assert set(check_fasttext(str(tmp_path / "hq.bin")).labels) == {"__label__hq", "__label__cc"}
