"""Named presets of near duplicates: their numbers, and what an unknown name is answered with."""

import pytest

from tests.messages import assert_told
from winnow.filters.duplicates.presets import near_preset, near_presets
from winnow.schemas.errors import RecipeError


def test_the_presets_there_are() -> None:
    found = {
        preset.name: (preset.shingle, preset.size, preset.bands, preset.rows, preset.hashes, preset.seed)
        for preset in near_presets()
    }
    assert found == {
        "fineweb": ("words", 5, 14, 8, 112, 1),
        "fineweb2": ("words", 5, 14, 8, 112, 1),
        "nemotron-cc": ("characters", 24, 20, 13, 260, 42),
        "duplodocus": ("words", 5, 26, 11, 286, 1),
        "rpv2@0.7": ("words", 13, 14, 9, 126, 1),
        "rpv2@0.8": ("words", 13, 9, 13, 117, 1),
        "rpv2@0.9": ("words", 13, 5, 25, 125, 1),
        "refinedweb": ("words", 5, 450, 20, 9_000, 1),
        "data-juicer": ("words", 5, 32, 8, 256, 1),
        "hplt": ("words", 1, 17, 15, 255, 1),
    }


def test_each_is_found_by_its_name_and_says_where_it_differs() -> None:
    for preset in near_presets():
        assert near_preset(preset.name) is preset
        assert len(preset.note) > 80
        assert preset.note == " ".join(preset.note.split())
    assert "cl100k" in near_preset("duplodocus").note


@pytest.mark.parametrize(
    ("name", "answer"),
    [
        ("finweb", "'finweb' … 'fineweb'"),
        ("rpv2", "'rpv2' … 'rpv2@0.9'"),
        (
            "xyz",
            "'xyz' … fineweb2 … rpv2@0.7",
        ),
    ],
)
def test_an_unknown_name_is_answered_with_the_nearest(name: str, answer: str) -> None:
    with pytest.raises(RecipeError) as raised:
        near_preset(name)
    assert_told(str(raised.value), answer, whole=True)


def test_a_hostile_name_stays_one_short_line() -> None:
    with pytest.raises(RecipeError) as raised:
        near_preset("\x1b[31m\n" + "x" * 10_000)
    assert str(raised.value).isprintable()
    assert len(str(raised.value)) < 300
