"""The keys of layers cover everything that their values depend on."""

import os
import re
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from winnow.filters.extraction.extract_main import MainConfig
from winnow.filters.extractors import find_extractor
from winnow.filters.models.code import code_identity
from winnow.filters.private.names import model_identity
from winnow.pipelines.binding.bound_recipe import bind
from winnow.pipelines.binding.operators import plain_config
from winnow.pipelines.ingest.planning.context import BoundExtractor
from winnow.schemas.errors import RecipeError
from winnow.schemas.recipe import recipe_from_text
from winnow.schemas.recipe.checks import LATER

RECIPE = """
version: 1
store: {{path: store}}
sources: {{lines: {{root: lines, files: ["*.jsonl"], class: web}}}}
annotate: [{{url.blocklist: {{list: {file}}}}}]
"""


def test_the_name_of_a_list_is_part_of_the_key(tmp_path: Path) -> None:
    for name in ("a.txt", "b.txt"):
        (tmp_path / name).write_text("example.com\n")
    keys = []
    for name in ("a.txt", "b.txt", "a.txt"):
        (bound,) = bind(recipe_from_text(RECIPE.format(file=tmp_path / name))).operators
        keys.append(bound.key({"samples": "s"}))
    assert keys[0] == keys[2] != keys[1]


def test_the_code_of_a_users_model_is_part_of_its_identity(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    identities = []
    for body in ("X = 1\n", "X = 2\n"):
        (tmp_path / "my_names.py").write_text(body)
        code_identity.cache_clear()
        identities.append(model_identity("my_names:X"))
    assert identities[0] != identities[1]
    assert "my_names" not in sys.modules  # nothing was run


def test_an_installed_package_is_identified_by_its_version() -> None:
    assert any(part.startswith("numpy ") for part in code_identity("numpy.linalg"))
    assert code_identity("no_such_module_anywhere") == ()


def test_what_writes_a_column_that_another_operator_reads_is_named() -> None:
    recipe = RECIPE.replace("[{{url.blocklist: {{list: {file}}}}}]", "[text.fineweb2]")
    line = "reads text.language.code, which no layer of this recipe has; add `text.language` to 'annotate'"
    with pytest.raises(RecipeError, match=re.escape(line)):
        _ = bind(recipe_from_text(recipe.format())).operators


def test_the_setting_of_an_extractor_that_writes_a_column_is_named() -> None:
    recipe = RECIPE.replace("[{{url.blocklist: {{list: {file}}}}}]", "[page.repeated_parts]")
    recipe += "extract: {{main: {{}}}}\ntext: extract.main.text\n"
    line = "extract.main.left_out, which no layer of this recipe has; write `extract: {main: {probabilities: true}}`"
    with pytest.raises(RecipeError, match=re.escape(line)):
        _ = bind(recipe_from_text(recipe.format())).operators


def test_a_setting_that_came_later_leaves_the_keys_of_layers_as_they_were() -> None:
    extractor = find_extractor("main")
    keys = [BoundExtractor(extractor, MainConfig(probabilities=asked), None).key("s") for asked in (False, True)]
    assert keys[0] == "ec9cce1a33e09599"  # that of version 5, before there was the setting
    assert keys[1] != keys[0]


def test_binding_an_operator_with_an_asset_or_a_file_imports_no_other_operator(tmp_path: Path) -> None:
    (tmp_path / "own.txt").write_text("example.com\n")
    code = (
        "import sys\n"
        "from winnow.pipelines.binding.bound_recipe import bind\n"
        "from winnow.schemas.recipe import load_recipe\n"
        "from winnow.schemas.errors import RecipeError\n"
        "for name in ('ut1-adult', 'own.txt'):\n"
        "    try: bind(load_recipe(f'{name}.yaml')).operators\n"
        "    except RecipeError as error: print(error)\n"
        "print([name for name in sys.modules if name.startswith('winnow.filters.text.')])"
    )
    for name in ("ut1-adult", "own.txt"):
        (tmp_path / f"{name}.yaml").write_text(RECIPE.format(file=name))
    env = {**os.environ, "WINNOW_ASSETS": str(tmp_path / "none")}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path, env=env, check=True
    )
    missing, imported = done.stdout.splitlines()
    assert "asset 'ut1-adult' is missing" in missing
    assert imported == "[]"


def test_a_setting_that_came_later_changes_no_key_until_it_is_used() -> None:
    @dataclass(frozen=True)
    class Inner:
        first: int = 1
        new: int = field(default=2, metadata=LATER)

    @dataclass(frozen=True)
    class Config:
        path: str = "a"
        inner: Inner = Inner()
        new: str = field(default="", metadata=LATER)

    assert plain_config(Config(), {"a": "digest"}) == {"path": "digest", "inner": {"first": 1}}
    changed = plain_config(Config(inner=Inner(new=3), new="b"), {})
    assert changed == {"path": "a", "inner": {"first": 1, "new": 3}, "new": "b"}
