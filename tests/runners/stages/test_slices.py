"""`--tasks K/N`: slices cover everything once, and the store comes out as without them."""

import json
import os
import shutil
import time
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.faults.winnow import assert_clean, await_gone, kill_group, run, start, tree_hash
from tests.messages import assert_refused, assert_told, assert_told_each
from winnow.pipelines.store.generations import open_store
from winnow.pipelines.store.leases.lease import Lease, Share
from winnow.pipelines.store.local import LocalStore
from winnow.runners.commands.main import main
from winnow.runners.stages.slices import Slice, parse_slice
from winnow.schemas.errors import WinnowError

RECIPE = """
version: 1
store: {path: store, seed: 7, shard_rows: 8, task_bytes: 1 KiB, row_group_rows: 4}
sources:
  lines: {root: lines, files: ["*.jsonl"], class: public, key: id}
  more: {root: more, files: ["*.jsonl"], class: web, key: id}
annotate: [text.length]
"""
ONE = ("--workers", "1")


@pytest.fixture(scope="module")
def unsliced(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A recipe with its store, ingested and measured without slices."""
    folder = tmp_path_factory.mktemp("unsliced")
    for source, files in (("lines", 5), ("more", 2)):
        (folder / source).mkdir()
        for part in range(files):
            rows = [json.dumps({"id": f"{part}-{row}", "text": f"line {row} of {part}"}) for row in range(20)]
            (folder / source / f"{part}.jsonl").write_text("\n".join(rows) + "\n")
    (folder / "recipe.yaml").write_text(RECIPE)
    assert main(["run", str(folder / "recipe.yaml"), *ONE]) == 0
    return folder


def sources_of(folder: Path, into: Path) -> str:
    """The same recipe and sources without a store; returns the recipe."""
    shutil.copytree(folder, into, ignore=shutil.ignore_patterns("store"), dirs_exist_ok=True)
    return str(into / "recipe.yaml")


@given(st.sets(st.text(max_size=3), max_size=40), st.integers(1, 12))
def test_slices_have_every_task_once_and_differ_by_one_at_most(names: set[str], of: int) -> None:
    parts = [Slice(number, of).take(names) for number in range(1, of + 1)]
    assert Counter(name for part in parts for name in part) == Counter(names)
    assert max(map(len, parts)) - min(map(len, parts)) <= 1


@pytest.mark.parametrize("text", ["0/16", "17/16", "a/b", "3", "/", "1/0", "-1/4", "1/2/3", "٣/٤", "1e1/16", ""])
def test_what_is_no_slice_is_one_line(text: str) -> None:
    with assert_refused(WinnowError, "--tasks", "K/N", "1", "3/16"):
        parse_slice(text)


def test_a_slice_is_written_as_its_number_of_their_number() -> None:
    assert parse_slice("3/16") == Slice(3, 16)
    assert parse_slice("1/1") == Slice(1, 1)


def test_a_bad_slice_ends_the_command(unsliced: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for stage in ("ingest", "annotate", "score"):
        assert main([stage, str(unsliced / "recipe.yaml"), "--tasks", "17/16"]) == 1
    assert_told_each(capsys.readouterr().err.splitlines(), *3 * [("--tasks 17/16", "3/16")])


def test_slices_in_any_order_give_the_store_of_an_unsliced_run(
    unsliced: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    recipe = sources_of(unsliced, tmp_path)
    for part in ("3/3", "1/3", "2/3", "1/3"):
        assert main(["ingest", recipe, *ONE, "--tasks", part]) == 0
        assert not list((tmp_path / "store").glob("generations/*"))
    assert len(list((tmp_path / "store").glob("intake/*/*"))) == 2
    printed = capsys.readouterr().out
    assert_told(printed, "3/3", "2 of 7", "winnow ingest", str(recipe))
    assert main(["ingest", recipe, *ONE]) == 0
    assert "tasks  " not in capsys.readouterr().out  # nothing was left to do
    for part in ("2/3", "3/3", "1/3"):
        assert main(["annotate", recipe, *ONE, "--tasks", part]) == 0
    assert open_store(LocalStore(tmp_path / "store")).generation_numbers() == [1]
    assert main(["annotate", recipe, *ONE]) == 0
    assert "annotate.cpu" not in capsys.readouterr().out.partition("slice 1/3")[2]
    assert tree_hash(tmp_path) == tree_hash(unsliced)
    assert_clean(tmp_path)


@pytest.mark.large
def test_three_slices_at_once_of_which_one_is_killed_and_run_again(unsliced: Path, tmp_path: Path) -> None:
    sources_of(unsliced, tmp_path)
    stages = (("ingest", "ingest"), ("annotate", "annotate"))
    for stage, share in stages:
        slices = [start(tmp_path, stage, "recipe.yaml", *ONE, "--tasks", f"{number}/3") for number in (1, 2, 3)]
        record = tmp_path / "store/shares" / f"{share}.2-of-3" / "00000001.json"
        while not record.exists():
            assert slices[1].poll() is None
            time.sleep(0.01)
        members = kill_group(slices[1])
        assert [slices[0].wait(200), slices[2].wait(200)] == [0, 0]
        assert not await_gone(members)
        again = run(tmp_path, stage, "recipe.yaml", *ONE, "--tasks", "2/3")
        assert again.status == 0, again.err
        assert main([stage, str(tmp_path / "recipe.yaml"), *ONE]) == 0
        assert not (tmp_path / "store/shares").exists()
    assert tree_hash(tmp_path) == tree_hash(unsliced)
    assert_clean(tmp_path)


def test_a_slice_and_a_writer_of_the_whole_store_keep_each_other_out(
    unsliced: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(unsliced, tmp_path / "copy")
    recipe, objects = str(tmp_path / "copy/recipe.yaml"), LocalStore(tmp_path / "copy/store")
    with Share(objects, "annotate.3-of-16"):
        for command in (["annotate", recipe], ["ingest", recipe], ["gc", recipe], ["gc", "--purge", recipe]):
            assert main(command) == 1
            error = capsys.readouterr().err
            assert f"process {os.getpid()} on " in error
            assert_told(error, "annotate.3-of-16", "--wait")
        assert main(["annotate", recipe, *ONE, "--tasks", "3/16"]) == 1
        assert_told(capsys.readouterr().err, "same work", "annotate.3-of-16")
        assert main(["annotate", recipe, *ONE, "--tasks", "4/16"]) == 0
    with Lease(objects):
        assert main(["annotate", recipe, *ONE, "--tasks", "3/16"]) == 1
        assert_told(capsys.readouterr().err, "whole store")
    objects.put("purge.json", b"{}")
    assert main(["annotate", recipe, *ONE, "--tasks", "3/16"]) == 1
    assert_told(capsys.readouterr().err, "completed before slices")
