"""Short texts in Han characters, which a model takes for either language."""

import pytest

from winnow.runners.first_look.analysis import code_by_characters


@pytest.mark.parametrize("guess", ["jpn_Jpan", "cmn_Hani"])
@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("海边的日落", "cmn_Hani"),
        ("骑自行车的老人", "cmn_Hani"),
        ("一隻貓坐在紅色沙發上", "cmn_Hani"),
        ("雨の街", "jpn_Jpan"),
        ("渋谷交差点", "jpn_Jpan"),
        ("国立図書館", "jpn_Jpan"),
        ("red car", None),
    ],
)
def test_characters_of_one_country_decide(guess: str, text: str, code: str | None) -> None:
    assert code_by_characters(guess, text) == (code or guess)


def test_of_a_few_characters_of_both_countries_nothing_is_said_against_the_model_but_that_it_cannot_know() -> None:
    assert code_by_characters("jpn_Jpan", "富士山") == "unknown"
    assert code_by_characters("cmn_Hani", "雪山和湖泊") == "cmn_Hani"
    assert code_by_characters("jpn_Jpan", "雨中的街道和雪山和湖泊和山上的寺") == "cmn_Hani"
    assert code_by_characters("eng_Latn", "富士山") == "eng_Latn"
