"""SIGKILL at random logged times over every stage, of the parent alone and of the whole group; then run again."""

import random
import shutil
import time
from collections import Counter
from pathlib import Path

import pytest

from tests.faults.crawl import write_crawl, write_recipe
from tests.faults.winnow import assert_clean, await_gone, kill_group, kill_parent_alone, run, start, tree_hash
from tests.made_once import made_once
from tests.pipelines.store.commits import commits_of
from winnow.pipelines.store.local import LocalStore

pytestmark = pytest.mark.processes

STAGES = {"ingest": "samples", "extract.main": "extract.main", "annotate.cpu": "text.again"}
ROUNDS = 2
PATIENCE_SECONDS = 60.0


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """The crawl, and the tree hash of a run that nothing disturbed."""
    folder = made_once(tmp_path_factory, "kills-whole", undisturbed)
    return folder, tree_hash(folder)


def undisturbed(folder: Path) -> None:
    write_crawl(folder)
    write_recipe(folder, "main")
    done = run(folder, "run", "recipe.yaml", "--workers", "2")
    assert done.status == 0, done.err
    assert_clean(folder)


def before(stage: str, source: Path, places: pytest.TempPathFactory) -> Path:
    """The crawl, with a store without the stage's layer, so that the stage has everything to do."""

    def make(folder: Path) -> None:
        for name in ("crawl", "lines"):
            shutil.copytree(source / name, folder / name)
        write_recipe(folder, "main")
        if stage != "ingest":
            without = write_recipe(folder, *(() if stage == "extract.main" else ("main",)), name="without.yaml")
            assert run(folder, "ingest", without.name, "--workers", "2").status == 0

    return made_once(places, f"kills-before-{stage}", make)


def commits(folder: Path, layer: str) -> int:
    return len(commits_of(LocalStore(folder / "store"), layer))


@pytest.mark.large
@pytest.mark.parametrize("kill", [kill_parent_alone, kill_group], ids=["parent alone", "whole group"])
@pytest.mark.parametrize("stage", list(STAGES))
def test_a_killed_run_is_finished_by_the_next(  # type: ignore[no-untyped-def]
    whole, tmp_path, tmp_path_factory, stage, kill
) -> None:
    """Same tree hash, clean audit, nobody left; and at least one kill hit the stage while it ran."""
    source, expected = whole
    seed = f"{stage} {kill.__name__}"
    random_source = random.Random(seed)
    hits: Counter[str] = Counter()
    unfinished = before(stage, source, tmp_path_factory)
    for number in range(ROUNDS):
        folder = tmp_path / str(number)
        shutil.copytree(unfinished, folder)
        process = start(folder, "run", "recipe.yaml", "--workers", "2")
        target = random_source.randrange(0, 6)  # commits to wait for, so that kills spread over the stage
        pause = random_source.uniform(0, 0.5)
        layer = STAGES[stage]
        deadline = time.monotonic() + PATIENCE_SECONDS
        while process.poll() is None and time.monotonic() < deadline:
            started = any((folder / "store" / "tasks" / stage).glob("*"))
            if started and commits(folder, layer) >= target:
                break
            time.sleep(0.01)
        time.sleep(pause)
        running = process.poll() is None
        members = kill(process)
        done = commits(folder, layer)
        hit = running and any((folder / "store" / "tasks" / stage).glob("*"))
        hits["hit" if hit else "missed"] += 1
        print(f"{seed}: round {number}, after {target} commits and {pause:.2f} s, {done} committed, hit: {hit}")
        assert await_gone(members) == []
        again = run(folder, "run", "recipe.yaml", "--workers", "2")
        assert again.status == 0, again.err
        assert tree_hash(folder) == expected
        assert_clean(folder)
    assert hits["hit"], f"{stage} was never hit: {hits}"
