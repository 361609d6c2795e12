"""Edits of a recipe's text: only what changes is written, and all else stays as a person has written it."""

import difflib
from pathlib import Path

import pytest

from tests.runners.inspect.opened_stores import RECIPE, ask, opened, plan, write_store
from winnow.runners.inspect.trials.recipe_edits import with_item, with_list_of, with_value, without_item
from winnow.runners.inspect.trials.variables import with_variables
from winnow.runners.inspect.view import AskedError

TEXT = """\
# top
version: 1  # v
thresholds: {a: {cells: {x: {y: 1}}}}
keep:
  # first
  - {drop: a.x < 3, reason: r}   # why
  - drop: >
      a.x
      < 4
    reason: s   # foo
  - preset: gopher
    rules:
      short: {drop: 'a.x < 5'}  # hey
      long: off
  - {preset: fineweb}

# end of keep
eligible: [{drop: "a.y > 2", reason: z}]
items:
- {drop: q, reason: z}
score: []
"""


def changed(before: str, after: str) -> list[str]:
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), n=0)
    return [line for line in lines if line[0] in "+-" and not line.startswith(("+++", "---"))]


VALUES: dict[str, tuple[tuple[str | int, ...], object, list[str]]] = {
    "plain": (
        ("keep", 0, "drop"),
        "a.x < 4.5",
        ["-  - {drop: a.x < 3, reason: r}   # why", "+  - {drop: a.x < 4.5, reason: r}   # why"],
    ),
    "what a plain value cannot hold": (
        ("keep", 0, "drop"),
        "a.x < 4, 5",
        ["-  - {drop: a.x < 3, reason: r}   # why", '+  - {drop: "a.x < 4, 5", reason: r}   # why'],
    ),
    "a block": (
        ("keep", 1, "drop"),
        "a.x < 4.5",
        ["-  - drop: >", "-      a.x", "-      < 4", '+  - drop: "a.x < 4.5"'],
    ),
    "single quotes": (
        ("keep", 2, "rules", "short", "drop"),
        "a.x < 6",
        ["-      short: {drop: 'a.x < 5'}  # hey", "+      short: {drop: 'a.x < 6'}  # hey"],
    ),
    "a word instead of a mapping": (
        ("keep", 2, "rules", "long", "drop"),
        "a.x",
        ["-      long: off", "+      long: {drop: a.x}"],
    ),
    "one more override": (("keep", 2, "rules", "other"), "off", ['+      other: "off"']),
    "the first override": (
        ("keep", 3, "rules", "other", "drop"),
        "a.x < 1",
        ["-  - {preset: fineweb}", '+  - {preset: fineweb, rules: {other: {drop: "a.x < 1"}}}'],
    ),
    "a cell": (
        ("thresholds", "a", "cells", "x", "y"),
        2.5,
        ["-thresholds: {a: {cells: {x: {y: 1}}}}", "+thresholds: {a: {cells: {x: {y: 2.5}}}}"],
    ),
    "a table's first cell": (
        ("thresholds", "b", "cells", "x", "z"),
        2,
        ["-thresholds: {a: {cells: {x: {y: 1}}}}", "+thresholds: {a: {cells: {x: {y: 1}}}, b: {cells: {x: {z: 2}}}}"],
    ),
    "a section": (("mix", "budget"), 5, ["+", "+mix: {budget: 5}"]),
}


@pytest.mark.parametrize("what", VALUES)
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_only_one_value_changes(what: str, newline: str) -> None:
    path, value, expected = VALUES[what]
    text = TEXT.replace("\n", newline)
    after = with_value(text, path, value)  # type: ignore[arg-type]  # plain values
    assert changed(text, after) == expected
    assert after.count("\n") == after.count(newline)


@pytest.mark.parametrize(
    ("section", "line"),
    [
        ("keep", '+  - {drop: "b < 3", reason: new}'),
        ("items", '+- {drop: "b < 3", reason: new}'),
        ("eligible", '+eligible: [{drop: "a.y > 2", reason: z}, {drop: "b < 3", reason: new}]'),
        ("score", '+score: [{drop: "b < 3", reason: new}]'),
        ("other", '+  - {drop: "b < 3", reason: new}'),
    ],
)
def test_a_rule_is_added_at_the_end_of_its_list(section: str, line: str) -> None:
    after = with_item(TEXT, section, {"drop": "b < 3", "reason": "new"})
    assert line in changed(TEXT, after)
    assert "# end of keep" in after


@pytest.mark.parametrize(
    ("section", "number", "gone"),
    [
        ("keep", 0, ["-  - {drop: a.x < 3, reason: r}   # why"]),
        ("keep", 1, ["-  - drop: >", "-      a.x", "-      < 4", "-    reason: s   # foo"]),
        ("keep", 3, ["-  - {preset: fineweb}"]),
        ("eligible", 0, ['-eligible: [{drop: "a.y > 2", reason: z}]', "+eligible: []"]),
        ("items", 0, ["-items:", "-- {drop: q, reason: z}", "+items: []"]),
    ],
)
def test_a_rule_is_taken_out_with_its_lines_alone(section: str, number: int, gone: list[str]) -> None:
    assert changed(TEXT, without_item(TEXT, section, number)) == gone


def test_a_list_of_another_recipe_is_copied_with_its_comments() -> None:
    after = with_list_of("version: 1\n", "keep", TEXT)
    assert after.startswith("version: 1\n\nkeep:\n  # first\n")
    assert after.endswith("  - {preset: fineweb}\n")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return write_store(tmp_path / "made", rows=40)


def test_a_patch_keeps_comments_and_is_saved_beside_the_recipe(file: Path) -> None:
    shown = opened(file)
    changes = [
        {"reason": "short", "cut": 0, "value": 15},
        {"reason": "long", "cut": 0, "value": 66.5, "language": "pages"},
        {"reason": "site", "remove": True},
        {"reason": "new", "drop": "samples.url like '%: #%'", "when_null": "keep"},
    ]
    found = ask(shown, "patch", changes=changes)
    lines = [line for line in found["diff"].splitlines() if line[0] in "+-"]
    assert lines == [
        "--- recipe.yaml",
        "+++ recipe-2.yaml",
        "-  limits: {file: limits.csv, key: samples.source.name}",
        "+  limits: {file: limits.csv, key: samples.source.name, cells: {pages: {most: 66.5}}}",
        "-  - {drop: text.length.characters < 12, reason: short, when_null: drop}  # a word or two",
        "+  - {drop: text.length.characters < 15, reason: short, when_null: drop}  # a word or two",
        next(f"-{line}" for line in RECIPE.splitlines() if "reason: site" in line),
        "+  - {drop: \"samples.url like '%: #%'\", reason: new, when_null: keep}",
    ]
    assert not (file.parent / "recipe-2.yaml").exists()
    saved = ask(shown, "patch", changes=changes, save=found["file"])
    assert (file.parent / "recipe-2.yaml").read_text() == found["text"] == saved["text"]
    assert file.read_text() == RECIPE.replace("DEDUPE\n", "dedupe: {exact: {}, representative: [source, longest]}\n")
    assert ask(shown, "patch", changes=changes)["file"] == "recipe-3.yaml"


def test_rules_of_the_recipe_that_is_extended_are_copied_into_the_one_that_is_shown(file: Path) -> None:
    mine = file.with_name("mine.yaml")
    mine.write_text("version: 1\nextends: recipe.yaml\n# mine\n")
    shown = opened(mine)
    changes = [{"reason": "lines", "cut": 0, "value": 3}]
    before, after = file.read_text(), ask(shown, "patch", changes=changes)
    assert "+keep:" in after["diff"]
    assert "# Too much of something." in after["text"]
    assert "text.length.lines > 3 or" in after["text"]
    assert file.read_text() == before
    simulated = ask(shown, "simulate", changes=changes, samples=0)
    assert simulated == ask(opened(file), "simulate", changes=changes, samples=0)


def test_a_recipe_that_has_changed_since_is_not_edited(file: Path) -> None:
    shown = opened(file)
    file.write_text(file.read_text().replace("< 12", "< 13"))
    with pytest.raises(Exception, match="has changed since it was opened; run again: winnow inspect"):
        ask(shown, "patch", changes=[])


def test_what_a_condition_takes_from_the_environment_is_not_written(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SITE", "private.example")
    file.write_text(
        file.read_text()
        .replace("version: 1\n", "version: 1\nenvironment: {SITE: {default: site1.example}, LEAST: {default: '12'}}\n")
        .replace("'site1.example'", "'${SITE}'")
        .replace("text.length.characters < 12", '"text.length.characters < ${LEAST}"')
    )
    shown = opened(file)
    move = {"reason": "short", "cut": 0, "value": 30}
    assert ask(shown, "simulate", changes=[move], samples=0)["kept"]  # nothing is written
    with pytest.raises(
        AskedError, match=r"condition of short takes this value from the environment .* by hand in "
    ) as told:
        ask(shown, "patch", changes=[move], save="new.yaml")
    assert "\n" not in str(told.value)
    assert not file.with_name("new.yaml").exists()
    condition = "samples.domain = 'private.example' and text.length.characters < 40"
    for change, written in (
        ({"reason": "lines", "cut": 0, "value": 3}, "samples.domain = '${SITE}' and text.length.characters < 40"),
        ({"reason": "site", "cut": 0, "value": 30}, "samples.domain = '${SITE}' and text.length.characters < 30"),
        (
            {"reason": "site", "drop": f"{condition} or text.length.lines > 9"},
            "samples.domain = '${SITE}' and text.length.characters < 40 or text.length.lines > 9",
        ),
        (
            {"reason": "site", "drop": "text.length.lines > 9 and samples.domain != 'private.example'"},
            "text.length.lines > 9 and samples.domain != '${SITE}'",
        ),
        ({"reason": "site", "drop": "text.length.lines > 9"}, "text.length.lines > 9"),
        ({"reason": "short", "drop": "text.length.characters < 15"}, "text.length.characters < 15"),
    ):
        text = ask(shown, "patch", changes=[change])["text"]
        assert written in text
        assert "private" not in text
        assert ("${LEAST}" in text) == (change["reason"] != "short")


def test_moves_are_made_one_after_another_when_simulated_as_when_saved(file: Path) -> None:
    both = "text.length.lines > 6 or text.length.lines < 2"
    file.write_text(file.read_text().replace("text.length.lines > 6", both))
    shown = opened(file)
    moves = [{"reason": "lines", "cut": 0, "value": 4}, {"reason": "lines", "cut": 1, "value": 3}]
    found = ask(shown, "simulate", changes=moves, samples=0)
    saved = ask(shown, "patch", changes=moves, save="both.yaml")
    assert "text.length.lines > 4 or text.length.lines < 3" in saved["text"]
    assert found["kept"]["after"]["rows"] == plan(file.with_name("both.yaml")).kept.rows
    mixed = [{"reason": "lines", "drop": "text.length.lines > 5", "when_null": "keep"}, moves[0]]
    assert "drop: text.length.lines > 4\n" in ask(shown, "patch", changes=mixed)["text"]


@pytest.mark.parametrize("view", ["simulate", "patch"])
@pytest.mark.parametrize("between", [[], [{"reason": "site", "remove": True}]])
def test_a_threshold_is_moved_once(file: Path, view: str, between: list[dict[str, object]]) -> None:
    for more in ({"reason": "short", "cut": 0}, {"reason": "long", "cut": 0, "language": "pages"}):
        moves = [more | {"value": 20}, *between, more | {"value": 30}]
        with pytest.raises(AskedError, match="is moved twice; move it once"):
            ask(opened(file), view, changes=moves)


@pytest.mark.parametrize(
    ("written", "condition", "new", "found"),
    [
        ("a < ${N}", "a < 3", "a < 30", ("a < 30", False)),  # never `${N}0`
        ("a < ${N} or b < 3", "a < 3 or b < 3", "a < 3 or b < 4", ("a < ${N} or b < 4", True)),
        ("${WHAT} or b < 3", "a < 3 or b < 3", "a < 3 or c", ("${WHAT} or c", True)),
        ("a = '$${x}${Y}'", "a = '${x}why'", "b or a = '${x}why'", ("b or a = '$${x}${Y}'", True)),
        ("a = '${A}' or b = '${B}'", "a = 'x y' or b = 'z'", "b = 'z' or 'x y'", ("b = '${B}' or '${A}'", True)),
        ("a", "a", "b = '${C}'", ("b = '$${C}'", True)),
        ("${A}", "a", "b", ("b", False)),
        ("x ${A}", "another text", "b", ("b", False)),
    ],
)
def test_a_new_condition_has_the_variables_whose_values_it_keeps(
    written: str, condition: str, new: str, found: tuple[str, bool]
) -> None:
    assert with_variables(written, condition, new) == found
