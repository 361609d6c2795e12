"""Losses to one rule, presets made for another language, and samples in no known language: from counts alone."""

from collections.abc import Mapping

import numpy as np
import pyarrow as pa
import pytest

from winnow.pipelines.binding.bound_recipe import bind
from winnow.pipelines.binding.rule_presets import ProgramRule, expand_rules
from winnow.pipelines.rules.decisions import DecisionCounts, count_block
from winnow.pipelines.rules.losses import count_undetermined, find_losses, find_outside_languages
from winnow.schemas.errors import RecipeError
from winnow.schemas.languages import language_name
from winnow.schemas.recipe import LossAlarms, recipe_from_text

RECIPE = """\
version: 1
store: {path: store}
sources: {a: {root: a, files: ["*"], class: web}}
eligible: [{drop: samples.text = '', reason: first}]
dedupe: {exact: {}}
keep:
  - {drop: samples.text = 'b', reason: second}
  - {drop: samples.text = 'c', reason: third}
"""
FIRST, DUPLICATE, SECOND, THIRD, FORGOTTEN = (1 << number for number in range(5))
Cells = Mapping[tuple[str, str, int], int]


def rules_of(text: str = RECIPE) -> tuple[ProgramRule, ...]:
    return expand_rules(recipe_from_text(text))


def counted(cells: Cells) -> DecisionCounts:
    """Counts by source, language and the rules that fired."""
    parts = []
    for (source, language, fired), rows in cells.items():
        codes = pa.array([language] * rows).dictionary_encode()
        masks = np.full((rows, 1), fired, np.uint64)
        parts.append(count_block(source, codes, np.ones(rows, np.int64), masks, None))
    return DecisionCounts.merged(parts)


def lines(cells: Cells, **bounds: object) -> list[str]:
    return [loss.message for loss in find_losses(rules_of(), counted(cells), LossAlarms(**bounds))]  # type: ignore[arg-type]


def test_a_language_that_one_rule_empties_is_named_with_the_rule() -> None:
    found = find_losses(rules_of(), counted({("a", "jpn_Jpan", SECOND): 49, ("a", "eng_Latn", 0): 900}), LossAlarms())
    assert [loss.message for loss in found] == ["second drops 100 % of Japanese (49)"]
    (loss,) = found
    assert (loss.list, loss.of, loss.name, loss.rows, loss.lost) == ("keep", "language", "jpn_Jpan", 49, 49)


def test_a_source_is_named_as_such() -> None:
    assert lines({("a", "eng_Latn", 0): 100, ("b", "eng_Latn", FIRST): 95, ("b", "eng_Latn", 0): 5}) == [
        "first drops 95 % of the source b (95 of 100)"
    ]


def test_the_loudest_comes_first() -> None:
    cells = {
        ("a", "jpn_Jpan", SECOND): 49,
        ("a", "deu_Latn", THIRD): 380,
        ("a", "deu_Latn", 0): 20,
        ("a", "kor_Hang", SECOND): 60,
        ("a", "eng_Latn", 0): 5000,
    }
    assert lines(cells) == [
        "third drops 95 % of German (380 of 400)",
        "second drops 100 % of Korean (60)",
        "second drops 100 % of Japanese (49)",
    ]


@pytest.mark.parametrize(
    ("lost", "rows", "alarm"), [(20, 20, True), (19, 19, False), (90, 100, False), (91, 100, True)]
)
def test_the_bounds_are_more_than_nine_tenths_of_at_least_twenty(lost: int, rows: int, alarm: bool) -> None:
    cells = {("a", "fin_Latn", SECOND): lost, ("a", "fin_Latn", 0): rows - lost, ("a", "eng_Latn", 0): 1000}
    assert bool(lines(cells)) == alarm


def test_the_bounds_are_the_recipes() -> None:
    cells = {("a", "fin_Latn", SECOND): 6, ("a", "fin_Latn", 0): 4, ("a", "eng_Latn", 0): 1000}
    assert lines(cells, max_loss=0.5, min_rows=10) == ["second drops 60 % of Finnish (6 of 10)"]
    assert lines(cells, max_loss=0.5, min_rows=10, expected=("second",)) == []


def test_a_rule_counts_also_where_another_comes_before_it() -> None:
    cells = {("a", "tha_Thai", FIRST | THIRD): 30, ("a", "eng_Latn", 0): 500}
    assert lines(cells) == ["first drops 100 % of Thai (30)", "third drops 100 % of Thai (30)"]


def test_losses_to_several_rules_together_are_none_to_one() -> None:
    cells = {("a", "tha_Thai", FIRST): 20, ("a", "tha_Thai", THIRD): 20, ("a", "eng_Latn", 0): 500}
    assert lines(cells) == []


def test_duplicates_and_forgotten_samples_are_no_losses_to_a_rule() -> None:
    cells = {
        ("a", "jpn_Jpan", DUPLICATE): 40,
        ("a", "fin_Latn", FORGOTTEN): 500,
        ("a", "fin_Latn", SECOND): 40,
        ("a", "eng_Latn", 0): 900,
    }
    assert lines(cells) == ["second drops 100 % of Finnish (40)"]


def test_samples_in_no_known_language_are_counted_apart() -> None:
    cells = {
        ("a", "und_Latn", FIRST): 40,
        ("b", "und_Latn", 0): 2,
        ("a", "und_Cyrl", FIRST): 3,
        ("a", "zxx_Latn", FIRST): 50,
        ("a", "unknown", FIRST): 70,
        ("a", "eng_Latn", 0): 900,
    }
    assert lines(cells) == []
    assert count_undetermined(counted(cells)) == {"und_Latn": 42, "und_Cyrl": 3}


def test_a_preset_made_for_english_says_what_else_it_judges() -> None:
    text = RECIPE.replace("keep:", "keep:\n  - {preset: refinedweb, rules: {stop_words: off}}")
    rules = rules_of(text)
    number = next(at for at, one in enumerate(rules) if one.preset == "refinedweb")
    fired = 1 << number
    cells = {
        ("a", "eng_Latn", fired): 10,
        ("a", "jpn_Jpan", fired): 40,
        ("a", "deu_Latn", 0): 50,
        ("a", "und_Latn", fired): 7,
        ("a", "deu_Latn", 1 << len(rules)): 1000,  # forgotten
    }
    (found,) = find_outside_languages(rules, counted(cells))
    assert found.languages == {"deu_Latn": 50, "jpn_Jpan": 40}
    assert found.message == (
        "refinedweb was made for English, but 90 of 107 samples are in other languages (German 50, Japanese 40), and "
        "its rules fire for 40 of them; the preset multilingual has thresholds for every language"
    )
    assert find_outside_languages(rules, counted({("a", "eng_Latn", fired): 10, ("a", "unknown", fired): 9})) == ()


def test_an_expected_loss_names_a_rule() -> None:
    recipe = recipe_from_text(RECIPE + "loss_alarms: {expected: [secund]}\n")
    with pytest.raises(RecipeError, match=r"loss_alarms.expected: no rule has the reason 'secund' \(did you mean 'sec"):
        bind(recipe).require_rules()


@pytest.mark.parametrize(
    ("code", "name"),
    [
        ("jpn_Jpan", "Japanese"),
        ("cmn_Hani", "Mandarin Chinese"),
        ("kor_Hang", "Korean"),
        ("srp_Latn", "Serbian in Latn"),
        ("de", "German"),
        ("eng", "English"),
        ("unknown", "unknown"),
        ("q", "q"),
    ],
)
def test_languages_are_named_in_english(code: str, name: str) -> None:
    assert language_name(code) == name
