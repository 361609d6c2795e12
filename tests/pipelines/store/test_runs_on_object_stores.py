"""Whole runs whose store, and whose sources, are on object stores: the same tree as on a disk."""

import os
from pathlib import Path

import pytest
from rich.console import Console

from tests.faults.crawl import write_crawl
from tests.faults.winnow import run
from tests.pipelines.store.conftest import point_to
from tests.pipelines.store.servers import BUCKET, Server
from winnow.pipelines.binding.bound_recipe import bind
from winnow.pipelines.store.location import open_location, open_store_at
from winnow.runners.engines.engine import Engine
from winnow.runners.stages.recipe_run import run_recipe
from winnow.schemas.recipe import load_recipe

RECIPE = """
version: 1
store: {{path: "{store}", seed: 7, task_bytes: 64 KiB}}
sources:
  crawl: {{root: "{sources}/crawl", files: ["*.warc.gz"], class: web}}
  lines: {{root: "{sources}/lines", files: ["*.jsonl"], class: public, key: id}}
extract: {{main: {{}}}}
text: coalesce(extract.main.text, samples.text)
annotate: [text.length]
dedupe: {{exact: {{}}, near: {{preset: fineweb}}}}
score:
  mimic: {{task: next_byte, buckets: 4096, reference: {{train_on: "samples.source.name = 'lines'"}}}}
"""


@pytest.fixture(scope="module")
def crawl(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A small crawl, and the tree of its store on a disk."""
    folder = tmp_path_factory.mktemp("crawl")
    write_crawl(folder, archives=2, pages=12, lines=400)
    recipe = folder / "disk.yaml"
    recipe.write_text(RECIPE.format(store="store", sources="."))
    with open(os.devnull, "w") as quiet:
        whole = run_recipe(bind(load_recipe(recipe)), Engine("local", 1), Console(file=quiet))
    return folder, whole.outcome.generation.tree_hash


@pytest.mark.parametrize(
    ("kind", "workers"),
    [
        pytest.param("moto", 2, marks=pytest.mark.large),
        pytest.param("versitygw", 1, marks=pytest.mark.engines),
        pytest.param("fake_gcs", 2, marks=pytest.mark.engines),
    ],
)
def test_a_run_gives_the_same_tree_as_on_a_disk(
    crawl: tuple[Path, str],
    kind: str,
    workers: int,
    request: pytest.FixtureRequest,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    folder, expected = crawl
    server: Server = request.getfixturevalue(kind)
    point_to(monkeypatch, server.environment)
    base = f"{server.scheme}://{BUCKET}/run-{workers}"
    sources = open_location(f"{base}/sources")
    for file in (*folder.glob("crawl/*"), *folder.glob("lines/*")):
        sources.put(file.relative_to(folder).as_posix(), file)
    (tmp_path / "recipe.yaml").write_text(RECIPE.format(store=f"{base}/store", sources=f"{base}/sources"))
    done = run(tmp_path, "run", "recipe.yaml", "--workers", str(workers))
    assert done.status == 0, done.err
    assert f"report  {base}/store/report.html" in done.out
    store = open_store_at(f"{base}/store")
    assert store.require_latest().tree_hash == expected
    assert store.objects.read("report.html").startswith(b"<!")
    for command in ("audit", "gc") if kind == "versitygw" else ():
        done = run(tmp_path, command, "recipe.yaml")
        assert done.status == 0, done.out + done.err
    assert [file.name for file in tmp_path.iterdir()] == ["recipe.yaml"]
