"""Weights are made where workers of other machines are: the driver reads them from the store."""

import io
from collections.abc import Iterator
from pathlib import Path

import pytest
from rich.console import Console

from tests.runners.engines.commands import boot_pool
from tests.runners.scores.stores import ONE
from tests.runners.scores.test_planted_check import labelled
from winnow.pipelines.binding.bound_recipe import BoundRecipe, bind
from winnow.pipelines.score import weights
from winnow.pipelines.store import layout
from winnow.runners.engines.engine import Engine
from winnow.runners.stages.scoring import score
from winnow.schemas.errors import WinnowError
from winnow.schemas.recipe import load_recipe

pytestmark = pytest.mark.processes


@pytest.fixture(scope="module")
def elsewhere(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    """An engine whose workers are processes of a pool."""
    folder = tmp_path_factory.mktemp("pool")
    with boot_pool(folder) as (port, _):
        yield Engine("portable", 1, ("--environment_type=EXTERNAL", f"--environment_config=localhost:{port}"))


def scored(recipe: BoundRecipe, engine: Engine) -> tuple[list[str], str]:
    """What is told of weights, and the hash of what is published."""
    said = io.StringIO()
    outcome = score(recipe, engine, Console(markup=False, soft_wrap=True, file=said, width=400))
    told = [line for line in said.getvalue().splitlines() if "training the" in line or "others" in line]
    return told, outcome.generation.tree_hash


def train_nothing(*_: object) -> None:
    raise AssertionError("a driver trained")


def test_a_worker_makes_the_weights_and_tries_them(
    tmp_path: Path, elsewhere: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    here, there = (labelled(tmp_path, name, 64, 600, shuffled=True) for name in ("here", "there"))
    expected = scored(here, ONE)
    assert len(expected[0]) == 4
    monkeypatch.setattr(weights, "_train", train_nothing)
    assert scored(there, elsewhere) == expected
    assert [path for path in (tmp_path / "there-store" / layout.SCRATCH).rglob("*") if path.is_file()] == []


def test_what_it_refuses_is_said_as_the_driver_says_it(tmp_path: Path, elsewhere: Engine) -> None:
    labelled(tmp_path, "texts", 64, 60, shuffled=True)
    file = tmp_path / "texts.yaml"
    file.write_text(
        file.read_text().replace(
            "train_on: \"samples.source.name = 'books'\"", "train_on: \"samples.source.name = 'nobody'\""
        )
    )
    said = []
    for engine in (ONE, elsewhere):
        with pytest.raises(WinnowError) as refused:
            scored(bind(load_recipe(file)), engine)
        said.append(str(refused.value))
    assert "nothing to train the reference on" in said[0]
    assert said[1].endswith(f": {said[0]}")  # after the host
