"""The key of a request depends on everything that changes a mixture, and on no path."""

import os
from fractions import Fraction
from pathlib import Path

from tests.pipelines.mix.mixtures import Text, mixing
from winnow.pipelines.binding.bound_recipe import bind
from winnow.pipelines.mix.laws import Laws
from winnow.pipelines.mix.plans import request_key
from winnow.schemas.recipe import Recipe, recipe_from_text

MIXED = mixing([Text("web", "deu_Latn", 10, score=number) for number in range(4)], "{}", name="requests")


def recipe(
    folder: Path, mix: str = "{}", rules: str = "", *, env: dict[str, str] | None = None, root: str = "."
) -> Recipe:
    """Return a recipe in a folder."""
    return recipe_from_text(
        f"version: 1\nstore: {{path: {root}/s}}\nsources: {{web: {{root: {root}, files: ['*.warc'], class: web}}}}\n"
        f"annotate: [text.language, text.length]\n{rules}\nmix: {mix}\n",
        str(folder / "recipe.yaml"),
        env or {},
    )


def request(asked: Recipe, laws: dict[str, str] | None = None, sample: Fraction = Fraction(1)) -> str:
    """Return the key of a recipe's request on the store."""
    return request_key(bind(asked), MIXED.store, MIXED.generation, Laws({}, laws or {}), sample)


def test_the_request_covers_the_value_of_a_variable(tmp_path: Path) -> None:
    rules = (
        "environment: {LEAST: {default: '1'}}\n"
        "keep: [{drop: 'text.length.characters < ${LEAST}', reason: short, when_null: keep}]"
    )
    mix = "{where: 'text.length.characters > ${LEAST}'}"
    for asked in ({"rules": rules}, {"mix": mix, "rules": rules.partition("\n")[0]}):
        one, same, other = (request(recipe(tmp_path, **asked, env={"LEAST": least})) for least in "113")
        assert one == same != other


def test_the_request_covers_the_content_of_a_threshold_table_and_not_its_path(tmp_path: Path) -> None:
    rules = (
        "thresholds: {{mine: {{file: {}, key: text.language.code}}}}\n"
        "keep: [{{drop: text.length.characters < thresholds.mine.least, reason: short, when_null: keep}}]"
    )
    (tmp_path / "table.csv").write_text("code,least\ndeu_Latn,2\n")
    one = request(recipe(tmp_path, rules=rules.format("table.csv")))
    os.rename(tmp_path / "table.csv", tmp_path / "moved.csv")
    assert request(recipe(tmp_path, rules=rules.format("moved.csv"))) == one
    (tmp_path / "table.csv").write_text("code,least\ndeu_Latn,3\n")
    assert request(recipe(tmp_path, rules=rules.format("table.csv"))) != one


def test_the_request_covers_the_content_of_the_tokenizer_and_the_law(tmp_path: Path) -> None:
    mix = "{{tokenizer: {}, families: {{law: {}}}}}"
    for name, tokenizer in (("one.json", "{}"), ("same.json", "{}"), ("other.json", "{ }")):
        (tmp_path / name).write_text(tokenizer)
    one = request(recipe(tmp_path, mix.format("one.json", "a.json")), {"a.json": "law"})
    assert request(recipe(tmp_path, mix.format("same.json", "b.json")), {"b.json": "law"}) == one
    assert request(recipe(tmp_path, mix.format("other.json", "a.json")), {"a.json": "law"}) != one
    assert request(recipe(tmp_path, mix.format("one.json", "a.json")), {"a.json": "another law"}) != one


def test_the_request_covers_all_settings_except_paths(tmp_path: Path) -> None:
    one = request(recipe(tmp_path))
    assert request(recipe(tmp_path, root="elsewhere")) == one
    assert request(recipe(tmp_path), sample=Fraction(1, 100)) != one
    assert request(recipe(tmp_path, "{max_epochs: 2}")) != one
    assert request(recipe(tmp_path, "{split: {validation: 0.1}}")) != one
    assert request(recipe(tmp_path, rules="dedupe: {exact: {}}")) != one
