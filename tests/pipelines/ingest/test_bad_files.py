"""One file may never stop the others: every format, damaged in every way, beside good files."""

from pathlib import Path
from random import Random
from typing import TypeAlias

import pytest

from tests.faults.winnow import run_here
from tests.pipelines.ingest.bad_files import ODD, damaged, seeds
from winnow.pipelines.store.location import open_store_at

RECIPE = """
version: 1
store: {path: store, seed: 7, task_bytes: 64KiB}
sources:
  archives: {root: archives, files: ["*"], class: web}
  tables: {root: tables, files: ["*"], class: web, on_schema_mismatch: quarantine}
  tars: {root: tars, files: ["*"], class: web}
  pages: {root: pages, files: ["*"], class: web}
  album: {root: album, files: ["*"], class: web, format: image_folder}
  films: {root: films, files: ["*"], class: web, format: video_folder}
extract: {main: {}}
text: coalesce(extract.main.text, samples.text)
"""

Rows: TypeAlias = set[tuple[str, str, str, str | None]]


def ingested(folder: Path, files: dict[str, dict[str, bytes]]) -> Rows:
    """What the store holds of good files when these are beside them; everything is accounted for."""
    for place, good in seeds().items():
        (folder / place).mkdir(parents=True)
        for ending, raw in (*good.items(), *files.get(place, {}).items()):
            (folder / place / (f"good{ending}" if ending in good else ending)).write_bytes(raw)
    (folder / "recipe.yaml").write_text(RECIPE)
    done = run_here(folder, "ingest", "recipe.yaml", "--workers", "1", "--quiet")
    assert done.status == 0, done.err
    audit = run_here(folder, "audit", "recipe.yaml")
    assert audit.status == 0, audit.out + audit.err
    store = open_store_at(folder / "store")
    rows: Rows = set()
    for shard in store.manifest(store.require_latest(), "samples"):
        for batch in store.batches(shard, ["source", "text"]):
            for origin, text in zip(batch["source"].to_pylist(), batch["text"].to_pylist(), strict=True):
                if origin["path"].startswith("good"):
                    rows.add((origin["name"], origin["path"], origin["record"], text))
    return rows


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Rows:
    """What the store holds of good files alone."""
    rows = ingested(tmp_path_factory.mktemp("good"), {})
    assert {(place, f"good{ending}") for place, files in seeds().items() for ending in files} <= {
        (name, path) for name, path, _, _ in rows
    }
    return rows


def round_of(seed: int, of_each: int) -> dict[str, dict[str, bytes]]:
    """Damaged copies of every seed, by their names."""
    random = Random(seed)
    return {
        place: {
            f"{number:03d}{ending}": damaged(random, ending, raw)
            for ending, raw in files.items()
            for number in range(of_each if place != "films" else 1)
        }
        for place, files in seeds().items()
    }


def test_files_that_once_stopped_everything(tmp_path: Path, whole: Rows) -> None:
    assert ingested(tmp_path, ODD) == whole


def test_a_bad_file_costs_no_other(tmp_path: Path, whole: Rows) -> None:
    assert ingested(tmp_path, round_of(0, 3)) == whole


@pytest.mark.large
@pytest.mark.parametrize("seed", range(1, 21))
def test_bad_files_cost_no_others(tmp_path: Path, whole: Rows, seed: int) -> None:
    assert ingested(tmp_path, round_of(seed, 10)) == whole
