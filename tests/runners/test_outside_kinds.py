"""Searching for a kind of duplicates that an installed third-party package adds."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

from tests.examples.installed import installed
from tests.faults.winnow import assert_clean, ended, run, run_here, tree_hash
from tests.messages import assert_told
from winnow.pipelines.store.generations import open_store
from winnow.pipelines.store.location import open_location

RECIPE = """
version: 1
store: {path: store, seed: 7, shard_rows: SHARD_ROWS, task_bytes: 1 KiB}
sources:
  lines: {root: ../lines, files: ["*.jsonl"], class: public, key: id}
dedupe: {letters: SETTINGS, exact: {}, representative: [id]}
"""
TEXTS = {
    "listen": "listen to the radio",
    "silent": "silent to the radio",
    "tinsel": "tinsel to the radio",
    "inlets": "inlets to the radios",  # one letter more
    "copy": "listen to the radio",
    "other": "something else altogether",
    "none": "1234",
    "same": "5678",
}
ONE = ("--workers", "1")


@pytest.fixture(scope="module", autouse=True)
def letters(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The package, which adds the kind `letters` and the operator that it compares."""
    with installed("winnow_letters", tmp_path_factory.mktemp("packages")) as site:
        yield site


@pytest.fixture(scope="module")
def lines(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a source beside those of recipes."""
    folder = tmp_path_factory.mktemp("letters")
    (folder / "lines").mkdir()
    rows = [json.dumps({"id": name, "text": text}) for name, text in TEXTS.items()]
    (folder / "lines" / "all.jsonl").write_text("\n".join(rows) + "\n")
    return folder


def recipe_in(folder: Path, settings: str = "{}", shard_rows: int = 3) -> Path:
    folder.mkdir()
    text = RECIPE.replace("SETTINGS", settings).replace("SHARD_ROWS", str(shard_rows))
    (folder / "recipe.yaml").write_text(text)
    return folder


@pytest.fixture(scope="module")
def searched(lines: Path) -> Path:
    """A store that was searched for the kind."""
    folder = recipe_in(lines / "searched")
    said = ended(run_here(folder, "run", "recipe.yaml", *ONE))
    assert "dedupe  the letters of 4 different texts were compared" in said
    return folder


def layer(folder: Path) -> dict[str, dict[str, object]]:
    store = open_store(open_location(str(folder / "store")))
    generation = store.require_latest()
    samples, found = (
        pa.Table.from_batches([batch for row in store.manifest(generation, name) for batch in store.batches(row)])
        for name in ("samples", "dedupe.letters")
    )
    names = [source["record"] for source in samples["source"].to_pylist()]
    return dict(zip(names, found.to_pylist(), strict=True))


def test_its_layer_has_clusters_and_its_own_columns(searched: Path) -> None:
    found = layer(searched)
    alike = {name for name, row in found.items() if row["cluster"] == found["listen"]["cluster"]}
    assert alike == {"listen", "silent", "tinsel", "inlets", "copy"}
    assert {name: (found[name]["size"], found[name]["sets"]) for name in alike} == dict.fromkeys(alike, (5, 2))
    assert found["inlets"]["likeness"] == 0.5  # one letter apart
    assert found["silent"]["likeness"] == 1
    assert (found["other"]["status"], found["other"]["size"], found["other"]["likeness"]) == ("unmatched", 1, None)
    assert_clean(searched)


def test_plan_report_and_lists_say_its_words(searched: Path) -> None:
    plan = ended(run_here(searched, "plan", "recipe.yaml"))
    assert re.search(r"^dedupe +duplicate_letters +4 ", plan, re.MULTILINE), plan
    listed = json.loads(ended(run_here(searched, "duplicates", "recipe.yaml", "--kind", "letters", "--json")))
    largest = listed["kinds"]["letters"]["largest"][0]
    assert (largest["rows"], largest["sets"], largest["lowest_similarity"]) == (5, 2, 0.5)
    shown = ended(run_here(searched, "duplicates", "show", "recipe.yaml", largest["cluster"]))
    assert "letters: cluster" in shown
    assert_told(shown, "5 rows", "2")
    ended(run_here(searched, "report", "recipe.yaml", "--output", "report"))
    page = "".join(one.read_text() for one in searched.rglob("*.html"))
    assert_told(page, "same letters")
    assert "letters: largest clusters" in page


def test_its_settings_are_checked_and_decide_its_key(lines: Path, searched: Path) -> None:
    wrong = recipe_in(lines / "wrong", "{most_apart: many}")
    assert "recipe.yaml:6: dedupe.letters.most_apart: expected an integer" in run_here(wrong, "plan", "recipe.yaml").err
    unknown = recipe_in(lines / "unknown", "{}")
    (unknown / "recipe.yaml").write_text((unknown / "recipe.yaml").read_text().replace("letters:", "leters:"))
    assert_told(run_here(unknown, "plan", "recipe.yaml").err, "'leters'", "'letters'")
    alarmed = (searched / "recipe.yaml").read_text().replace("{letters: {}", "{letters: {max_cluster: 2}")
    (searched / "other.yaml").write_text(alarmed.replace("max_cluster: 2", "most_apart: 0"))
    planned = ended(run_here(searched, "plan", "other.yaml"), 1)
    assert "run winnow dedupe" in planned or "dedupe.letters" in planned


@pytest.mark.processes
def test_other_shards_and_workers_give_the_same_layer(lines: Path, searched: Path) -> None:
    other = recipe_in(lines / "workers", shard_rows=3)
    ended(run(other, "run", "recipe.yaml", "--workers", "2"))
    assert tree_hash(other) == tree_hash(searched)
    one = recipe_in(lines / "one", shard_rows=64)
    ended(run_here(one, "run", "recipe.yaml", *ONE))
    assert layer(one) == layer(searched)
