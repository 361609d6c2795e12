"""`winnow score --tasks K/N`: traces in slices, with weights that one of them makes."""

import os
import shutil
from pathlib import Path

import pytest
from rich.console import Console

from tests.messages import assert_refused
from tests.pipelines.store.commits import commits_of
from tests.runners.scores.stores import ONE, make_store, scored, write
from winnow.pipelines.binding.bound_recipe import bind
from winnow.pipelines.store.leases.lease import Share
from winnow.pipelines.store.local import LocalStore
from winnow.runners.stages.scoring import score_slice
from winnow.runners.stages.slices import Slice, SliceDone
from winnow.schemas.errors import StoreError
from winnow.schemas.recipe import Recipe


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store that nothing is scored in."""
    folder = tmp_path_factory.mktemp("whole")
    make_store(folder)
    return folder


def sliced(recipe: Recipe, number: int, of: int) -> SliceDone:
    with open(os.devnull, "w") as silent:
        return score_slice(bind(recipe), Slice(number, of), ONE, Console(file=silent))


def test_slices_of_a_trace_give_the_scores_of_an_unsliced_run(folder: Path, tmp_path: Path) -> None:
    recipe = write(folder)
    first, second = sliced(recipe, 2, 2), sliced(recipe, 1, 2)
    assert first.tasks + second.tasks == first.all
    objects = LocalStore(folder / "store")
    traces = commits_of(objects, "trace.mimic")
    assert len(traces) == first.all
    assert commits_of(objects, "score.mimic") == []
    outcome = scored(recipe)
    assert commits_of(objects, "trace.mimic") == traces
    other = tmp_path / "other"
    shutil.copytree(folder, other, ignore=shutil.ignore_patterns("store"))
    make = write(other)
    shutil.rmtree(other / "web")
    shutil.rmtree(other / "books")
    make_store(other)
    assert scored(make).generation.tree_hash == outcome.generation.tree_hash


def test_one_slice_makes_the_weights_and_another_that_needs_them_is_told_so(folder: Path) -> None:
    recipe = write(folder)
    with Share(LocalStore(folder / "store"), "weights.mimic"):
        with assert_refused(StoreError, "same work", "weights.mimic"):
            sliced(recipe, 1, 2)
        assert not (folder / "store/weights").exists() or not list((folder / "store/weights").rglob("*.safetensors"))
    sliced(recipe, 1, 2)
    with Share(LocalStore(folder / "store"), "weights.mimic"):  # they stand: nobody asks for the right to make them
        sliced(recipe, 2, 2)
