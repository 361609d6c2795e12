"""The store is made once; each test has a copy."""

import shutil
from pathlib import Path

import pytest

from tests.made_once import made_once
from tests.runners.mixtures.tiny import RECIPE, Tiny, winnow, write_sources


@pytest.fixture(scope="session")
def made(lid_model: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the sources and their store, measured; tokens of `bytes` are counted, nothing is drawn."""
    return made_once(tmp_path_factory, "mixture", measured)


def measured(folder: Path) -> None:
    write_sources(folder)
    recipe = folder / "recipe.yaml"
    recipe.write_text(RECIPE)
    winnow("run", recipe)
    recipe.write_text(f"{RECIPE}mix: {{unit: tokens, tokenizer: bytes}}\n")
    winnow("mix", recipe, "--plan-only", "--output", folder / "plan.json")
    (folder / "plan.json").unlink()


@pytest.fixture
def tiny(made: Path, tmp_path: Path) -> Tiny:
    """A copy of it, with a recipe that mixes everything."""
    folder = tmp_path / "tiny"
    shutil.copytree(made, folder)
    return Tiny(folder)
