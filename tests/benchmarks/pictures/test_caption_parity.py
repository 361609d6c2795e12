"""The benchmark of captions by language: what rules on captions keep, and why others are lost."""

import pytest

from benchmarks.pictures.caption_parity import LEAST, on_captions, retained, shown
from winnow.filters.presets import find_preset

pytestmark = pytest.mark.usefixtures("lid_model")

ENGLISH = [("en", f"A cat on roof {number}") for number in range(LEAST)]
CAPTIONS = [*ENGLISH, *[("ru", "Кошка")] * LEAST, ("fi", "Kissa")]


def test_each_language_has_the_share_that_is_kept_and_the_reason_of_the_rest() -> None:
    found = retained(find_preset("captions"), CAPTIONS)
    assert {language: (one.captions, one.share) for language, one in found.items()} == {
        "en": (LEAST, 1.0),
        "ru": (LEAST, 0.0),
        "fi": (1, 0.0),
    }
    assert found["ru"].reasons == {"caption_short": LEAST}
    lines = list(shown({"captions": found, "captions@short": retained(find_preset("captions@short"), CAPTIONS)}, 1))
    assert [line.split()[0] for line in lines[1:4]] == ["ru", "Кошка", "en"]  # too few are Finnish to say anything
    assert lines[1].endswith(f"100.0 %  caption_short ({LEAST})")
    assert lines[-1] == "captions@short: 100.0 % of all, 100.0 % of the language that loses most"


def test_of_a_preset_on_pictures_the_rules_on_captions_are_left() -> None:
    part = on_captions(find_preset("datacomp@basic"))
    assert {rule.reason for rule in part.rules} == {
        "datacomp_no_caption",
        "datacomp_language",
        "datacomp_words",
        "datacomp_characters",
    }
