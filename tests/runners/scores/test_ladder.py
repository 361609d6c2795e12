"""The ready ladder: three arms of equal size on the bundled crawl, told apart by the score alone."""

import shutil
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tests.runners.scores.stores import table
from winnow.runners.demo import make_crawl
from winnow.runners.stages.publishing import Outcome
from winnow.runners.stages.recipe_run import run
from winnow.schemas.recipe import load_recipe, resolved_yaml

RECIPES = Path(__file__).parents[3] / "recipes"
pytestmark = pytest.mark.large  # it trains for ten seconds; `tests/schemas/recipe` loads its recipes
ARMS = {"top": "ladder.yaml", "bottom": "ladder-bottom.yaml", "random": "ladder-random.yaml"}


@pytest.fixture(scope="module")
def climbed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Outcome]]:
    """The demo's folder after each of the three recipes was run in it."""
    folder = tmp_path_factory.mktemp("demo")
    make_crawl(folder)
    for name in ARMS.values():
        shutil.copy(RECIPES / name, folder)
    return folder, {arm: run(folder / name, workers=1) for arm, name in ARMS.items()}


def exported(folder: Path, arm: str) -> list[str]:
    files = sorted((folder / "ladder" / arm).rglob("*.parquet"))
    return [identity for file in files for identity in pq.read_table(file, columns=["id"])["id"].to_pylist()]


def test_arms_are_of_equal_size_and_top_and_bottom_share_nothing(climbed: tuple[Path, dict[str, Outcome]]) -> None:
    folder, outcomes = climbed
    arms = {arm: exported(folder, arm) for arm in ARMS}
    scored = sum(value is not None for value in table(outcomes["top"], "score.mimic")["score"].to_pylist())
    assert {arm: len(ids) for arm, ids in arms.items()} == dict.fromkeys(ARMS, round(0.3 * scored))
    assert all(len(set(ids)) == len(ids) for ids in arms.values())
    assert not set(arms["top"]) & set(arms["bottom"])
    assert set(arms["random"]) & set(arms["top"])
    assert set(arms["random"]) & set(arms["bottom"])


def test_every_row_of_the_top_scores_above_every_row_of_the_bottom(climbed: tuple[Path, dict[str, Outcome]]) -> None:
    folder, outcomes = climbed
    ids = [identity.hex() for identity in table(outcomes["top"], "samples")["id"].to_pylist()]
    scores = dict(zip(ids, table(outcomes["top"], "score.mimic")["score"].to_pylist(), strict=True))
    top, bottom, random = ([scores[identity] for identity in exported(folder, arm)] for arm in ARMS)
    assert min(top) > max(bottom)
    assert sum(bottom) < sum(random) < sum(top)


def test_the_arms_are_of_one_store_that_is_scored_once(climbed: tuple[Path, dict[str, Outcome]]) -> None:
    folder, outcomes = climbed
    objects = [
        sorted(row.object for row in one.store.manifest(one.generation, "score.mimic")) for one in outcomes.values()
    ]
    assert objects[0] == objects[1] == objects[2]
    top, *others = (resolved_yaml(load_recipe(folder / name)) for name in ARMS.values())
    for other in others:
        differing = [one for one, line in zip(top.splitlines(), other.splitlines(), strict=True) if one != line]
        assert [line.split(":")[0].strip(" -{") for line in differing] == ["where", "parquet"]
