"""The file beside a model: read back as it was written, and believed only about its own model."""

from pathlib import Path

import pytest

from winnow.filters.models.card import ModelCard, card_path, file_sha256, read_card
from winnow.schemas.errors import RecipeError


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "hq.bin"
    path.write_bytes(b"a model")
    return path


def write(model: Path, raw: bytes) -> None:
    Path(card_path(str(model))).write_bytes(raw)


def test_a_card_is_read_as_it_was_written(model: Path) -> None:
    labels = ("__label__hq", "__label__cc")
    card = ModelCard(file_sha256(str(model)), "lower", "__label__hq", labels, {"seed": 1}, {}, {"winnow": "1"})
    write(model, card.to_json())
    assert read_card(str(model)) == card


def test_a_model_may_have_no_card(model: Path) -> None:
    assert read_card(str(model)) is None


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        (b"", "not a model's card"),
        (b"[1]", "not a model's card"),
        (b'{"format": 2}', "not a model's card"),
        (b'{"format": 1, "normalisation": "rot13"}', "normalisation 'rot13'; expected newlines, lines"),
        (b'{"format": 1, "normalisation": ["lower"]}', "expected newlines, lines"),
        (b'{"format": 1, "normalisation": "lower"}', "missing required field sha256"),
        (b'{"format": 1, "normalisation": "lower", "sha256": "00", "positive": "x", "labels": [1]}', "labels[0]: exp"),
        (b'{"format": 1, "normalisation": "lower", "sha256": "00", "positive": "x", "labels": [], "a": 1}', "a: unkno"),
        (
            b'{"format": 1, "normalisation": "lower", "sha256": "00", "positive": "x", "labels": []}',
            "describes another model than hq.bin",
        ),
    ],
)
def test_a_card_that_is_none_or_another_ones_is_refused(model: Path, raw: bytes, expected: str) -> None:
    write(model, raw)
    with pytest.raises(RecipeError, match=r"hq\.bin\.json: ") as caught:
        read_card(str(model))
    assert expected in str(caught.value)
    assert "\n" not in str(caught.value)
