"""Plans of rules with `when_null: error` whose columns no source fills."""

from pathlib import Path

import pytest

from tests.faults.winnow import run_here
from tests.messages import assert_told

RECIPE = """
version: 1
store: {path: store}
sources: {a: {root: in, files: ["*.jsonl"], class: web}}
annotate: [text.length]
keep: [{drop: "CONDITION", reason: told, when_null: error}]
"""


@pytest.mark.parametrize(
    ("command", "condition", "lacking"),
    [
        ("plan", "samples.domain = 'a.org' OR samples.text = ''", "(b.jsonl), which has no samples.domain"),
        ("run", "samples.source.fetched_at < '2024-12-01'", "(a.jsonl), which has no samples.source.fetched_at"),
    ],
)
def test_a_rule_that_is_null_for_a_first_row_is_refused_before_anything_is_measured(
    tmp_path: Path, command: str, condition: str, lacking: str
) -> None:
    write(tmp_path, condition)
    done = run_here(tmp_path, command, "recipe.yaml")
    assert done.status == 1
    assert_told(
        done.err.splitlines()[-1], "recipe.yaml:6", "keep[0]", "'told'", "'a'", lacking, "'when_null'", whole=True
    )
    assert not list((tmp_path / "store").rglob("*.parquet"))


def test_a_rule_that_fails_for_a_first_row_is_refused_before_anything_is_measured(tmp_path: Path) -> None:
    write(tmp_path, "CAST(samples.url AS INTEGER) < 1")
    recipe = tmp_path / "recipe.yaml"
    recipe.write_text(recipe.read_text().replace("when_null: error", "when_null: keep"))
    done = run_here(tmp_path, "plan", "recipe.yaml")
    assert done.status == 1
    assert_told(
        done.err.splitlines()[-1],
        *("recipe.yaml:6", "keep[0]", "'told'", "'a'", "a.jsonl", "'https://a.org/1'", "TRY_CAST"),
        whole=True,
    )


@pytest.mark.parametrize(
    "condition",
    ["samples.domain IS NULL", "samples.text = ''", "samples.domain = 'a.org' OR text.length.characters < 3"],
)
def test_a_rule_that_may_be_decided_is_not_refused(tmp_path: Path, condition: str) -> None:
    write(tmp_path, condition)
    done = run_here(tmp_path, "plan", "recipe.yaml")
    assert done.status == 0, done.err


def write(folder: Path, condition: str) -> None:
    (folder / "in").mkdir()
    (folder / "in" / "a.jsonl").write_text('{"text": "One.", "url": "https://a.org/1"}\n')
    (folder / "in" / "b.jsonl").write_text('{"text": "Two.", "url": "https://a.org/2"}\n{"text": "Three."}\n')
    (folder / "recipe.yaml").write_text(RECIPE.replace("CONDITION", condition))
