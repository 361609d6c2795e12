"""Annotate from the command line, with the operators of an installed third-party package."""

import json
import re
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

from tests.examples.installed import installed
from tests.faults.winnow import assert_clean, ended, run, run_here, tree_hash
from tests.pipelines.store.commits import commits_of
from winnow.pipelines.store.generations import open_store
from winnow.pipelines.store.local import LocalStore
from winnow.pipelines.store.location import open_location

RECIPE = """
version: 1
store: {path: store, seed: 7, shard_rows: 8, task_bytes: 1 KiB, row_group_rows: 3}
sources:
  lines: {root: lines, files: ["*.jsonl"], class: public, key: id}
annotate:
"""
TEXTS = [f"Line {number} is WRITTEN here" for number in range(30)] + ["1234", "ÄÖÜ", "שלום", "a\u0000b"]
ONE = ("--workers", "1")  # where their number is not the matter


@pytest.fixture(scope="module")
def shouting(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Where pip installed the package; found by this process, and by those that it starts."""
    with installed("winnow_shouting", tmp_path_factory.mktemp("packages")) as site:
        yield site


def write(folder: Path, *entries: str, name: str = "recipe.yaml") -> None:
    (folder / "lines").mkdir(exist_ok=True)
    for part in range(3):
        rows = [json.dumps({"id": f"{part}-{row}", "text": text}) for row, text in enumerate(TEXTS)]
        (folder / "lines" / f"{part}.jsonl").write_text("\n".join(rows) + "\n")
    (folder / name).write_text(RECIPE + "".join(f"  - {entry}\n" for entry in entries))


def table(folder: Path, layer: str) -> pa.Table:
    store = open_store(open_location(str(folder / "store")))
    generation = store.require_latest()
    batches = [batch for row in store.manifest(generation, layer) for batch in store.batches(row)]
    return pa.Table.from_batches(batches)


def commits(folder: Path, layer: str) -> set[str]:
    return set(commits_of(LocalStore(folder / "store"), layer))


@pytest.mark.processes
def test_operators_of_a_package_are_found_listed_and_run(tmp_path: Path, shouting: Path) -> None:
    listed = ended(run(tmp_path, "operators"))
    assert "text.shouting" in listed
    shown = ended(run_here(tmp_path, "operators", "text.shouting"))
    assert "capitals" in shown
    assert "least_letters: 1" in shown
    write(tmp_path, "text.twice", "{text.shouting: {where: \"samples.text not like '%7%'\"}}")
    ended(run_here(tmp_path, "run", "recipe.yaml", *ONE))
    assert_clean(tmp_path)
    ours, samples, twice = (table(tmp_path, name) for name in ("text.shouting", "samples", "text.twice"))
    found = dict(zip(samples["text"].to_pylist(), ours.to_pylist(), strict=True))
    assert found["Line 1 is WRITTEN here"] == {"status": "ok", "capitals": 8 / 17}
    assert found["Line 7 is WRITTEN here"] == {"status": "not_selected", "capitals": None}
    assert found["1234"] == {"status": "few_letters", "capitals": None}
    assert found["ÄÖÜ"] == {"status": "ok", "capitals": 1.0}
    second = dict(zip(samples["text"].to_pylist(), twice.to_pylist(), strict=True))
    assert second["ÄÖÜ"] == {"status": "ok", "twice": 2.0}
    assert second["1234"] == {"status": "no_input", "twice": None}


@pytest.mark.large
def test_an_operator_of_a_package_brings_its_asset(tmp_path: Path, shouting: Path) -> None:
    shelf = tmp_path / "shelf"
    shelf.mkdir()
    with zipfile.ZipFile(shelf / "acronym_list-1.0-py3-none-any.whl", "w") as wheel:
        wheel.writestr("acronym_list/words.txt", "NASA\nNATO\n")
        wheel.writestr(
            "acronym_list-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: acronym-list\nVersion: 1.0\n"
        )
        wheel.writestr("acronym_list-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
        wheel.writestr("acronym_list-1.0.dist-info/RECORD", "")
    cache = str(tmp_path / "cache")
    env = {"WINNOW_ASSETS": cache, "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(shelf)}
    shown = ended(run(tmp_path, "assets", env=env))
    assert re.search(r"^acronyms +missing .*\(acronym-list==1.0\)$", shown, re.MULTILINE)
    write(tmp_path, "text.acronyms")
    assert "run: winnow assets fetch acronyms" in run(tmp_path, "run", "recipe.yaml", *ONE, env=env).err
    ended(run(tmp_path, "assets", "fetch", "acronyms", env=env))
    (tmp_path / "lines" / "more.jsonl").write_text('{"id": "new", "text": "NASA and NATO"}\n')
    ended(run(tmp_path, "run", "recipe.yaml", *ONE, env=env))
    assert sorted(table(tmp_path, "text.acronyms")["acronyms"].to_pylist())[-2:] == [0, 2]
    assert_clean(tmp_path)


@pytest.mark.processes
def test_the_values_are_the_same_for_any_number_of_workers(tmp_path: Path, shouting: Path) -> None:
    hashes = set()
    for workers in ("1", "2"):
        folder = tmp_path / workers
        folder.mkdir()
        write(folder, "text.shouting", "text.twice")
        ended(run_here(folder, "run", "recipe.yaml", "--workers", workers))
        hashes.add(tree_hash(folder))
    assert len(hashes) == 1


def test_a_rerun_changes_nothing_and_a_changed_setting_only_what_depends_on_it(tmp_path: Path, shouting: Path) -> None:
    write(tmp_path, "text.shouting", "text.twice", "{text.shouting: {as: text.loud}}")
    ended(run_here(tmp_path, "run", "recipe.yaml", *ONE))
    before = {layer: commits(tmp_path, layer) for layer in ("text.shouting", "text.twice", "text.loud", "samples")}
    first = tree_hash(tmp_path)
    ended(run_here(tmp_path, "annotate", "recipe.yaml", *ONE))
    assert tree_hash(tmp_path) == first
    assert {layer: commits(tmp_path, layer) for layer in before} == before
    write(tmp_path, "{text.shouting: {least_letters: 2}}", "text.twice", "{text.shouting: {as: text.loud}}")
    ended(run_here(tmp_path, "annotate", "recipe.yaml", *ONE))
    after = {layer: commits(tmp_path, layer) for layer in before}
    shards = len(before["text.loud"])
    assert {layer: len(after[layer] - before[layer]) for layer in before} == {
        "text.shouting": shards,
        "text.twice": shards,
        "text.loud": 0,
        "samples": 0,
    }
    assert_clean(tmp_path)


def test_ingest_keeps_measurements_of_unchanged_rows_and_none_that_are_not_whole(
    tmp_path: Path, shouting: Path
) -> None:
    write(tmp_path, "text.shouting")
    ended(run_here(tmp_path, "run", "recipe.yaml", *ONE))
    before = tree_hash(tmp_path)
    ended(run_here(tmp_path, "ingest", "recipe.yaml", *ONE))
    assert tree_hash(tmp_path) == before
    (tmp_path / "lines" / "more.jsonl").write_text('{"id": "new", "text": "NEW"}\n')
    ended(run_here(tmp_path, "ingest", "recipe.yaml", *ONE))
    store = open_store(open_location(str(tmp_path / "store")))
    assert "text.shouting" not in store.require_latest().layers
    ended(run_here(tmp_path, "annotate", "recipe.yaml", *ONE))
    assert table(tmp_path, "text.shouting").num_rows == table(tmp_path, "samples").num_rows == 3 * len(TEXTS) + 1
    assert_clean(tmp_path)


def test_a_layers_object_that_is_gone_is_made_again(tmp_path: Path, shouting: Path) -> None:
    write(tmp_path, "text.shouting", "text.twice")
    ended(run_here(tmp_path, "run", "recipe.yaml", *ONE))
    before = tree_hash(tmp_path)
    lost = sorted((tmp_path / "store" / "layers" / "text.shouting").glob("*/*.parquet"))[1]
    lost.unlink()
    assert run_here(tmp_path, "audit", "recipe.yaml").status == 1
    ended(run_here(tmp_path, "annotate", "recipe.yaml", *ONE))
    assert lost.exists()
    assert tree_hash(tmp_path) == before
    assert_clean(tmp_path)


@pytest.mark.processes
def test_a_row_that_kills_a_measurement_is_left_out_of_it_and_stays_a_sample(tmp_path: Path, shouting: Path) -> None:
    write(tmp_path, "{text.shouting: {deadly: Line 7 is}}")
    ended(run_here(tmp_path, "run", "recipe.yaml", "--workers", "2"))
    statuses = dict(
        zip(
            table(tmp_path, "samples")["text"].to_pylist(),
            table(tmp_path, "text.shouting")["status"].to_pylist(),
            strict=True,
        )
    )
    assert {text for text, status in statuses.items() if status == "left_out"} == {"Line 7 is WRITTEN here"}
    assert_clean(tmp_path)


WRONG = [
    ("text.shoutin", "recipe.yaml:7: annotate[0].text.shoutin: unknown operator 'text.shoutin' (did you mean"),
    ("{text.shouting: {least: 2}}", "recipe.yaml:7: annotate[0].text.shouting: unknown key 'least'"),
    ("text.twice", "annotate[0].text.twice: text.twice reads text.shouting.capitals, which no layer"),
    (
        "{text.shouting: {where: samples.txt is null}}",
        "unknown column 'samples.txt' (did you mean 'samples.text'",
    ),
    ("{text.shouting: {where: samples.text > 3 + 'x'}}", "annotate[0].text.shouting.where: does not fit"),
    ("{text.shouting: {where: text.shouting.capitals > 0}}", "unknown column 'text.shouting.capitals'"),
    ("{text.shouting: {preset: gofer@datatrove}}", "unknown preset 'gofer@datatrove'"),
    ("shouting", "annotate[0]: 'shouting' is not a dotted name"),
    ("{text.shouting: {as: samples.text}}", "writes the layer 'samples.text', which is reserved"),
    ("{text.shouting: {as: extract.main}}", "writes the layer 'extract.main', which is reserved"),
    ("{text.shouting: {as: text.language}}", "'as' names text.language, which is an operator"),
    ("{text.gopher: {words: klingon}}", "recipe.yaml:7: annotate[0].text.gopher: unknown style of words 'klingon'"),
    ("{text.classifier: {}}", "annotate[0].text.classifier: text.classifier: `model` is not set"),
    ("{text.classifier: {model: lines/0.jsonl}}", "annotate[0].text.classifier: "),
    ("{text.classifier: {model: nowhere.ftz}}", "nowhere.ftz: no such file"),
    ("text.length\nkeep:\n  - text.length.bytes < 3", "recipe.yaml:9: keep[0]: expected a mapping, found the text"),
    (
        "text.length\nkeep: [{drop: text.length.bytes < 'a', reason: r, when_null: keep}]",
        "recipe.yaml:8: keep[0]: compares text.length.bytes, a number (int64), with the text 'a'",
    ),
]
EACH = """
import contextlib, io, json, os, sys
from winnow.runners.commands.main import main

for folder in sys.argv[1:]:
    os.chdir(folder)
    said = io.StringIO()
    with contextlib.redirect_stderr(said):
        status = main(["run", "recipe.yaml"])
    print(json.dumps([status, said.getvalue()]))
"""


def test_what_is_wrong_is_said_before_anything_is_read(tmp_path: Path, shouting: Path) -> None:
    """One process for them all: it starts in a second, and says what is wrong at once."""
    folders = [tmp_path / str(number) for number in range(len(WRONG))]
    for folder, (entry, _) in zip(folders, WRONG, strict=True):
        folder.mkdir()
        write(folder, entry)
    said = subprocess.run(
        [sys.executable, "-c", EACH, *map(str, folders)],
        capture_output=True,
        text=True,
        check=True,
    )
    assert said.stderr == ""
    ends = [line for line in said.stdout.splitlines() if line.startswith("[")]
    for folder, (entry, complaint), line in zip(folders, WRONG, ends, strict=True):
        status, error = json.loads(line)
        assert (status, "Traceback" in error) == (1, False), entry
        assert complaint in error, entry
        assert not (folder / "store").exists(), entry


def test_a_store_that_was_never_ingested_says_so(tmp_path: Path, shouting: Path) -> None:
    write(tmp_path, "text.shouting")
    done = run_here(tmp_path, "annotate", "recipe.yaml")
    assert done.status == 1
    assert "no store here" in done.err
