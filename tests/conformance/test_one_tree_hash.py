"""Conformance: the demo recipe gives one tree hash and the same exports, byte for byte, on every engine and store.

What the in-memory runner makes is what every other way is held against. An engine that is not here is skipped, and its
skip says how to get it: `make engines` gets all of them.
"""

import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.conformance.ways import WAYS, Way, sealed
from tests.faults.winnow import run
from winnow.pipelines.store.location import open_location, open_store_at

pytestmark = pytest.mark.engines


@dataclass(frozen=True)
class Made:
    """What a run leaves: the tree hash of its store, and every file of its exports."""

    tree_hash: str
    exports: dict[str, bytes]


@pytest.fixture(scope="session")
def crawl(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The bundled crawl with its recipe, not run."""
    folder = tmp_path_factory.mktemp("conformance") / "demo"
    done = run(folder.parent, "demo", "--into", str(folder), "--workers", "1")
    assert done.status == 0, done.err
    return folder


@pytest.fixture(scope="session")
def expected(crawl: Path) -> Made:
    return made_in(str(crawl / "store"), str(crawl / "mixture"))


@pytest.mark.parametrize(
    "way",
    [pytest.param(way, id=way.name, marks=[pytest.mark.conformance] if way.one_of_a_kind else []) for way in WAYS],
)
def test_the_demo_has_one_tree_hash(way: Way, crawl: Path, expected: Made, tmp_path: Path) -> None:
    folder = tmp_path / "demo"
    shutil.copytree(crawl, folder, ignore=shutil.ignore_patterns("store", "mixture", ".mixture*"))
    with way.ready(tmp_path) as setting:
        recipe = (folder / "demo.yaml").read_text()
        if setting.root:
            recipe = recipe.replace("path: store,", f"path: '{setting.root}/store',")
            recipe = recipe.replace("path: mixture/", f"path: {setting.root}/mixture/")
            (folder / "demo.yaml").write_text(recipe)
        root = setting.root or str(folder)
        done = run(folder, "run", "demo.yaml", *setting.arguments, env=setting.environment, seconds=900)
        assert done.status == 0, done.out + done.err
        with setting.reached():
            made = made_in(f"{root}/store", f"{root}/mixture")
        again = run(folder, "run", "demo.yaml", *setting.arguments, env=setting.environment, seconds=600)
        assert again.status == 0, again.out + again.err
    assert made.tree_hash == expected.tree_hash
    assert made.exports.keys() == expected.exports.keys()
    assert [path for path in made.exports if made.exports[path] != expected.exports[path]] == []


def made_in(store: str, mixture: str) -> Made:
    objects = open_location(mixture)
    exports = {one.path: objects.read(one.path) for one in objects.list() if not sealed(one.path)}
    return Made(open_store_at(store).require_latest().tree_hash, exports)
