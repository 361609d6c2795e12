"""The keys of layers cover everything that their values depend on."""

import sys
from pathlib import Path

import pytest

from winnow.filters.models.code import code_identity
from winnow.filters.private.names.models import model_identity
from winnow.pipelines.binding.operators import bind_operators
from winnow.schemas.recipe import recipe_from_text

RECIPE = """
version: 1
store: {{path: store}}
sources: {{lines: {{root: lines, files: ["*.jsonl"], class: web}}}}
annotate: [{{url.blocklist: {{list: {file}}}}}]
"""


def test_a_list_of_another_name_is_another_layer_for_its_name_is_a_value(tmp_path: Path) -> None:
    for name in ("a.txt", "b.txt"):
        (tmp_path / name).write_text("example.com\n")
    keys = []
    for name in ("a.txt", "b.txt", "a.txt"):
        (bound,) = bind_operators(recipe_from_text(RECIPE.format(file=tmp_path / name)))
        keys.append(bound.key({"samples": "s"}))
    assert keys[0] == keys[2] != keys[1]


def test_other_code_of_a_users_model_is_another_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    identities = []
    for body in ("X = 1\n", "X = 2\n"):
        (tmp_path / "my_names.py").write_text(body)
        code_identity.cache_clear()
        identities.append(model_identity("my_names:X"))
    assert identities[0] != identities[1]
    assert "my_names" not in sys.modules  # nothing was run


def test_installed_packages_are_named_with_their_versions() -> None:
    assert any(part.startswith("numpy ") for part in code_identity("numpy.linalg"))
    assert code_identity("no_such_module_anywhere") == ()
