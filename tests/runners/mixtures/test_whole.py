"""A recipe to its end by one command; the same samples and bytes from other places, orders and numbers of workers."""

import contextlib
import json
import re
import shutil
import time
from pathlib import Path

import pytest

from tests.faults.winnow import await_gone, kill_group, run, start
from tests.runners.mixtures.tiny import RECIPE, Tiny, tree, winnow, write_sources
from winnow.schemas.mixture import plan_name

MIX = (
    "{unit: tokens, tokenizer: bytes, budget: 60_000, split: {validation: 0.1}, languages: {temperature: 3}, "
    "bands: {by: dedupe.near.size, rehydrate: fineweb2}}"
)
EXPORT = "{jsonl: {path: out/jsonl, shard_bytes: 32 KiB}}, {parquet: {path: out/hf, shard_bytes: 32 KiB}}"


@pytest.mark.processes
def test_one_command_makes_the_store_the_mixture_and_the_export(tiny: Tiny) -> None:
    tiny.write(MIX, EXPORT)
    tiny.run("run")
    record, _ = tiny.mix()
    assert plan_name(record.plan.to_json()) == record.plan.name
    made = tree(tiny.folder / "out")
    assert {"jsonl/card.json", "jsonl/winnow.json", "hf/README.md"} <= made.keys()
    tiny.run("run")
    assert tree(tiny.folder / "out") == made
    assert tiny.run("export").count("already finished") == 2
    assert tiny.run("audit").count("wrong") == 0


def test_what_is_wrong_with_a_mixture_or_an_export_is_said_before_anything_is_made(tmp_path: Path, tiny: Tiny) -> None:
    shutil.rmtree(tiny.folder / "store")
    for mix, export in (("{sources: {wub: 1}}", ""), ("{}", "{parquett: {path: out}}"), (None, EXPORT)):
        tiny.write(mix, export)
        assert "recipe.yaml" in tiny.complaint("run")
        assert not (tiny.folder / "store").exists()


def test_the_card_of_a_store_knows_nothing_of_mixtures(tiny: Tiny) -> None:
    rules = RECIPE + "keep: [{drop: text.length.bytes < 300, reason: short, when_null: drop}]\n"
    tiny.write(None, base=rules)
    before = tiny.run("card")
    tiny.write(MIX, EXPORT, base=rules)
    tree = re.compile("tree [0-9a-f]{32}")  # of the layers that the recipe reads, token counts among them
    assert tree.sub("", tiny.run("card")) == tree.sub("", before)


def test_rules_decide_what_is_mixed(tiny: Tiny) -> None:
    tiny.write(MIX, base=RECIPE + "keep: [{drop: text.length.bytes < 600, reason: short, when_null: drop}]\n")
    record, drawn = tiny.mix()
    sizes = tiny.values("text.length", "bytes")
    kept = {identity for identity, size in sizes.items() if size >= 600}
    assert record.plan.kept.samples == len(kept)
    assert {identity for identity, _ in drawn["train"] + drawn["validation"]} <= kept


@pytest.mark.processes
def test_an_export_does_not_tell_how_its_store_came_about(tiny: Tiny) -> None:
    tiny.write(MIX, EXPORT)
    tiny.run("export")
    first = tiny.store.require_latest()
    made = tree(tiny.folder / "out")
    shutil.rmtree(tiny.folder / "out")
    tiny.write("{}")  # lengths in no tokens at all: a layer that comes and goes
    tiny.mix()
    tiny.write(MIX, EXPORT)
    tiny.run("export")
    again = tiny.store.require_latest()
    assert again.number > first.number
    assert again.tree_hash == first.tree_hash
    assert tree(tiny.folder / "out") == made


@pytest.mark.processes
def test_an_export_does_not_tell_where_it_was_made(tiny: Tiny, tmp_path: Path) -> None:
    tiny.write(MIX, EXPORT, base=RECIPE + "keep: [{drop: text.length.bytes < 300, reason: short, when_null: drop}]\n")
    other = tmp_path / "elsewhere"
    shutil.copytree(tiny.folder, other)
    tiny.run("export")
    winnow("export", other / "recipe.yaml")
    assert tree(other / "out") == tree(tiny.folder / "out")


@pytest.mark.processes
def test_other_places_orders_and_numbers_of_workers_give_the_same_samples(tiny: Tiny, tmp_path: Path) -> None:
    """By two workers, of files whose rows lie the other way round: other files, so the plan has another name."""
    tiny.write(MIX, EXPORT)
    tiny.run("export")
    other = tmp_path / "elsewhere"
    write_sources(other, turned=True)
    shutil.copy(tiny.recipe, other)
    done = run(other, "run", "recipe.yaml", "--workers", "2")
    assert done.status == 0
    assert done.err == ""  # what workers print never reaches the terminal
    here, there = (tree(folder / "out") for folder in (tiny.folder, other))
    assert here.keys() == there.keys()
    named = {f"{name}/{file}" for name in ("jsonl", "hf") for file in ("README.md", "card.json", "winnow.json")}
    assert {path for path in here if here[path] != there[path]} == named


@pytest.mark.processes
def test_an_export_that_was_killed_goes_on(tiny: Tiny) -> None:
    tiny.write(MIX, "{jsonl: {path: out/jsonl, shard_bytes: 2 KiB}}")
    tiny.run("export")
    whole = tree(tiny.folder / "out")
    shutil.rmtree(tiny.folder / "out")
    process = start(tiny.folder, "export", "recipe.yaml", "--workers", "1")
    deadline = time.monotonic() + 120
    while len(standing(tiny.folder)) < 5 and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.01)
    assert await_gone(kill_group(process)) == []
    before = standing(tiny.folder)
    assert len(before) >= 5
    assert not (tiny.folder / "out/jsonl").exists()
    tiny.run("export")
    assert tree(tiny.folder / "out") == whole
    # What stood was not written again.
    files = {file.stat().st_ino for file in (tiny.folder / "out").rglob("*") if file.is_file()}
    assert before <= files


def standing(folder: Path) -> set[int]:
    """The files of shards that were committed, by their numbers on the disk."""
    found = set()
    for commit in folder.glob("out/.*.winnow-unfinished/*/commits/*.json"):
        with contextlib.suppress(FileNotFoundError):  # it is being finished
            for file in json.loads(commit.read_bytes())["written"]["files"]:
                found.add((commit.parents[1] / "files" / file["path"]).stat().st_ino)
    return found
