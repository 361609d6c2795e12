"""Pinning rules to a generation: a missing or outdated layer gives one line that says what to run."""

from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

from tests.messages import assert_refused, assert_told
from tests.pipelines.rules.counted import count_decisions
from tests.pipelines.rules.stores import Shard, columns_of, make_store
from winnow.pipelines.binding.rules import rule_program
from winnow.pipelines.rules.decisions import Outcome, Tally
from winnow.pipelines.rules.pinning import pin
from winnow.pipelines.store.local import LocalStore
from winnow.schemas.errors import RecipeError
from winnow.schemas.recipe import Recipe, recipe_from_text

RECIPE = """\
version: 1
store: {path: s}
sources: {crawl: {root: crawl, files: ["*"], class: web}}
thresholds: {mine: {file: table.csv, key: text.language.code}}
keep:
- {drop: text.some.words < thresholds.mine.least, reason: short, when_null: keep}
"""
SOME = pa.table({"words": pa.array([1, 2, 3, None], pa.int64())})
LANGUAGE = pa.table({"code": pa.array(["deu_Latn", "fra_Latn", "swe_Latn", "deu_Latn"])})
COLUMNS = columns_of({"text.some": SOME.schema, "text.language": LANGUAGE.schema})


def old_key(layer: str, source: str) -> str:
    """Return the keys of a store with outdated measures."""
    return "old" if layer == "text.some" else "k"


def recipe(folder: Path) -> Recipe:
    """Return the recipe, in a folder with its table."""
    (folder / "table.csv").write_text("code,least\ndeu_Latn,2\nfra_Latn,2.5\n")
    return recipe_from_text(RECIPE, str(folder / "r.yaml"))


def test_thresholds_are_looked_up_by_the_key_of_each_row(tmp_path: Path) -> None:
    layers = {"text.some": SOME, "text.language": LANGUAGE}
    store, generation = make_store(
        LocalStore(tmp_path), {"crawl-0": Shard("crawl", 4, layers, lengths=[1, 10, 100, 7])}
    )
    counts = count_decisions(pin(store, generation, rule_program(recipe(tmp_path), COLUMNS)))
    assert counts.tallies == {
        Outcome("crawl", "deu_Latn", 0, 0): Tally(1, 7),
        Outcome("crawl", "deu_Latn", 1, 0): Tally(1, 1),
        Outcome("crawl", "fra_Latn", 1, 0): Tally(1, 10),
        Outcome("crawl", "swe_Latn", 0, 0): Tally(1, 100),
    }


def test_the_message_for_a_missing_layer_names_the_rule_and_the_command(tmp_path: Path) -> None:
    store, generation = make_store(LocalStore(tmp_path), {"crawl-0": Shard("crawl", 4, {"text.some": SOME})})
    with pytest.raises(RecipeError) as caught:
        pin(store, generation, rule_program(recipe(tmp_path), COLUMNS), recipe="r.yaml")
    assert_told(
        str(caught.value).removeprefix(f"{tmp_path}/"),
        "r.yaml:6",
        "keep[0]",
        "thresholds.mine",
        "text.language",
        "generation 1",
        "text.language",
        whole=True,
    )


def test_a_layer_with_other_settings_is_refused(tmp_path: Path) -> None:
    layers = {"text.some": SOME, "text.language": LANGUAGE}
    store, generation = make_store(LocalStore(tmp_path), {"crawl-0": Shard("crawl", 4, layers)}, old_key)
    program = rule_program(recipe(tmp_path), COLUMNS)
    keys = {"samples": {"crawl": "k"}, "text.some": {"crawl": "old"}, "text.language": {"crawl": "k"}}
    assert pin(store, generation, program, keys, "r.yaml").shards[0].rows == 4
    with pytest.raises(RecipeError) as caught:
        pin(store, generation, program, {**keys, "text.some": {"crawl": "new"}}, "r.yaml")
    assert_told(
        str(caught.value).removeprefix(f"{tmp_path}/"),
        "r.yaml:6",
        "keep[0]",
        "text.some",
        "generation 1",
        "winnow annotate",
        "r.yaml",
        whole=True,
    )
    with assert_refused(RecipeError, "generation 1", "winnow in"):
        pin(store, generation, program, {**keys, "samples": {"crawl": "new"}}, "r.yaml")


def test_a_layer_that_lacks_shards_is_refused(tmp_path: Path) -> None:
    whole = Shard("crawl", 4, {"text.some": SOME, "text.language": LANGUAGE})
    shards = {"crawl-0": whole, "crawl-1": Shard("crawl", 4, {"text.language": LANGUAGE})}
    store, generation = make_store(LocalStore(tmp_path), shards)
    with assert_refused(RecipeError, "1 lacks", "1 of 2"):
        pin(store, generation, rule_program(recipe(tmp_path), COLUMNS))
    wider = replace(generation, partial={"text.some": 3})  # of a source that the recipe no longer reads, too
    with assert_refused(RecipeError, "1 covers", "3 shards", "reads 2"):
        pin(store, wider, rule_program(recipe(tmp_path), COLUMNS))


def test_a_missing_language_layer_is_not_an_error(tmp_path: Path) -> None:
    store, generation = make_store(LocalStore(tmp_path), {"crawl-0": Shard("crawl", 4, {"text.some": SOME})})
    text = RECIPE.replace("thresholds.mine.least", "2").replace("thresholds: {", "environment: {} #")
    pinned = pin(store, generation, rule_program(recipe_from_text(text), COLUMNS))
    assert pinned.languages == ()
    assert {outcome.language for outcome, _ in count_decisions(pinned)} == {"unknown"}
