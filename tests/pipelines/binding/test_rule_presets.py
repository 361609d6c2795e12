"""Presets in a recipe's rules: expanded, overridden by reason, shown in full."""

import os
from pathlib import Path

import pytest

from tests.messages import assert_told
from winnow.filters.presets import find_preset
from winnow.pipelines.binding.rule_presets import expand_presets, expand_rules, with_layer
from winnow.schemas.errors import RecipeError
from winnow.schemas.recipe import Recipe, Rule, recipe_from_text, resolved_yaml

GOLDEN = Path(__file__).parent / "golden"
SMALL = """\
version: 1
store: {path: s}
sources: {crawl: {root: crawl, files: ["*.warc.gz"], class: web}}
"""
PRESET = find_preset("fineweb")


def problems_of(text: str) -> list[str]:
    with pytest.raises(RecipeError) as caught:
        expand_rules(recipe_from_text(SMALL + text, "r.yaml"))
    return str(caught.value).splitlines()


def keep_of(text: str) -> tuple[Rule, ...]:
    recipe: Recipe = expand_presets(recipe_from_text(SMALL + text))
    rules = tuple(rule for rule in recipe.keep if isinstance(rule, Rule))
    assert len(rules) == len(recipe.keep)
    return rules


def test_a_preset_expands_to_its_rules_in_order() -> None:
    rules = keep_of("keep: [{drop: a.b, reason: own}, {preset: fineweb}, {drop: a.c, reason: last}]")
    published = [(rule.drop, rule.reason, rule.when_null) for rule in PRESET.rules]
    assert [(rule.drop, rule.reason, rule.when_null) for rule in rules] == [
        ("a.b", "own", None),
        *published,
        ("a.c", "last", None),
    ]
    assert {rule.place.line for rule in rules} == {4}


def test_a_rule_is_overridden_or_switched_off_by_its_reason() -> None:
    rules = keep_of(
        "keep:\n- preset: fineweb\n  rules:\n    no_lines: off\n    list_ratio: {drop: a.b > 1, when_null: drop}\n"
        "    short_line_ratio: {when_null: error}"
    )
    found = {rule.reason: (rule.drop, rule.when_null, rule.place.line) for rule in rules}
    published = {rule.reason: rule for rule in PRESET.rules}
    assert list(found) == [reason for reason in published if reason != "no_lines"]
    assert found["list_ratio"] == ("a.b > 1", "drop", 8)
    assert found["short_line_ratio"] == (published["short_line_ratio"].drop, "error", 9)
    assert found["char_dup_ratio"] == (published["char_dup_ratio"].drop, "keep", 5)


def test_a_presets_layer_may_have_another_name() -> None:
    rules = keep_of("keep: [{preset: fineweb, layer: text.late, rules: {no_lines: {drop: text.other.lines = 0}}}]")
    assert rules[0].drop == "text.other.lines = 0"
    assert all(rule.drop.startswith("text.late.") for rule in rules[1:])
    condition = "text.a.b < 1 AND text.ab.c > 2 OR text.a.d = 'x text.a.y'"
    with pytest.raises(RecipeError, match="cannot be renamed"):
        with_layer('"text".a.b < 1', "text.a", "text.z")
    assert with_layer(condition, "text.a", "text.z").startswith("text.z.b < 1 AND text.ab.c > 2 OR text.z.d = ")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("keep: [{preset: fineweb2000}]", "r.yaml:4: keep[0].preset: unknown preset 'fineweb2000' ("),
        (
            "eligible:\n- preset: fineweb\n  rules: {list_ration: off}",
            "r.yaml:6 … eligible[0].rules … 'list_ration'",
        ),
        (
            "keep:\n- {drop: a.b, reason: no_lines}\n- {preset: fineweb}",
            "r.yaml:6 … keep[1].rules.no_lines … keep[0]",
        ),
    ],
)
def test_a_faulty_preset_entry_is_refused_with_its_line(text: str, message: str) -> None:
    (line,) = problems_of(text)
    assert_told(line, message)


def test_reasons_may_repeat_between_the_two_lists() -> None:
    assert len(expand_rules(recipe_from_text(SMALL + "eligible: [{preset: fineweb}]\nkeep: [{preset: fineweb}]"))) == 10


def test_an_expanded_recipe_matches_the_golden_file() -> None:
    recipe = recipe_from_text(
        SMALL
        + """\
environment: {LIMIT: {default: "0.5"}}
eligible:
  - {preset: fineweb, rules: {no_lines: off, list_ratio: {drop: "text.fineweb.newline_ratio > ${LIMIT}"}}}
keep:
  - {preset: fineweb, layer: text.late, rules: {line_punct_ratio: {when_null: drop}}}
  - {drop: "samples.licence = '${LIMIT}'", reason: licence}
"""
    )
    resolved = resolved_yaml(expand_presets(recipe))
    golden = GOLDEN / "presets.resolved.yaml"
    if os.environ.get("UPDATE_GOLDEN") == "1":
        golden.write_text(resolved, encoding="utf-8")
    assert resolved == golden.read_text(encoding="utf-8")
    again = recipe_from_text(resolved)
    assert again == expand_presets(recipe)
    assert [(one.rule.drop, one.phase) for one in expand_rules(again)] == [
        (one.rule.drop, one.phase) for one in expand_rules(recipe)
    ]


def test_a_prefix_distinguishes_equal_reasons_of_two_presets() -> None:
    rules = keep_of("keep: [{preset: c4@paper}, {preset: c4@tfds, prefix: tfds_, rules: {curly_bracket: off}}]")
    first = ["lorem_ipsum", "curly_bracket", "too_few_sentences"]
    assert [rule.reason for rule in rules] == [*first, "tfds_lorem_ipsum", "tfds_too_few_sentences"]
