"""Decisions of rules that are kept in the store: those that would be made again, never those of anything else."""

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from rich.console import Console

from tests.messages import assert_told
from tests.pipelines.rules.counted import count_decisions
from winnow.pipelines.binding.bound_recipe import bind
from winnow.pipelines.query.find_sample import Place
from winnow.pipelines.query.generation import require_latest_for
from winnow.pipelines.query.recipe_rules import pinned_rules
from winnow.pipelines.rules.deciding import choose_representatives, decide, dropped_samples
from winnow.pipelines.rules.decision_tasks import decision_tasks
from winnow.pipelines.rules.kept_decisions import find_decisions
from winnow.pipelines.rules.summary import summarise_rules
from winnow.pipelines.running import shard_groups
from winnow.pipelines.running.job_tasks import OPENING_BYTES, TASK_BYTES
from winnow.pipelines.store import layout
from winnow.pipelines.store.location import open_store_at
from winnow.runners.commands.main import main
from winnow.runners.engines.engine import Engine
from winnow.runners.stages.rule_decisions import (
    DuplicateDrops,
    RuleDecisions,
    duplicate_drops,
    rule_decisions,
    write_dropped,
)
from winnow.runners.stages.running.engine_jobs import EngineJobs
from winnow.runners.stages.running.stage_run import StageRun
from winnow.schemas.recipe import load_recipe

pytestmark = pytest.mark.processes

RECIPE = """\
version: 1
store: {path: store, shard_rows: 8}
sources:
  lines: {root: lines, files: ["*.jsonl"], class: public, key: id}
  pages: {root: pages, files: ["*.jsonl"], class: web, key: id}
annotate: [text.length, {url.blocklist: {list: sites.txt}}]
thresholds:
  limits: {file: limits.csv, key: samples.source.name}
eligible:
  - {drop: text.length.characters < 12, reason: short, when_null: drop}
dedupe: {exact: {}, representative: [source, longest]}
keep:
  - {drop: text.length.characters > thresholds.limits.most, reason: long, when_null: keep}
"""
SITES = "site1.example\n"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store of several shards that a run has decided."""
    folder = tmp_path_factory.mktemp("decisions")
    for source, first in (("lines", 0), ("pages", 20)):
        (folder / source).mkdir()
        rows = [row(first + number) for number in range(40)]
        (folder / source / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "sites.txt").write_text(SITES)
    (folder / "limits.csv").write_text("key,most\nlines,45\npages,50\n")
    (folder / "recipe.yaml").write_text(RECIPE)
    assert main(["run", str(folder / "recipe.yaml"), "--workers", "1"]) == 0
    return folder


@pytest.fixture
def copy(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of it, in the working folder."""
    folder = tmp_path / "copy"
    shutil.copytree(made, folder, copy_function=os.link)
    monkeypatch.chdir(folder)
    return folder


def row(number: int) -> dict[str, str]:
    text = " ".join(["word", "limes", "pears"][: 1 + number % 3] * (1 + number % 5))
    return {"id": str(number), "text": text, "url": f"https://site{number % 4}.example/{number}"}


def asked(folder: Path) -> RuleDecisions:
    recipe = bind(load_recipe(folder / "recipe.yaml"))
    store = open_store_at(recipe.store_address)
    generation = require_latest_for(recipe, store)
    pinned = pinned_rules(recipe, store, generation)
    assert pinned is not None
    return rule_decisions(recipe, generation, pinned, Engine("local", 1))


def records(folder: Path) -> set[str]:
    return {info.path for info in open_store_at(folder / "store").objects.list(layout.RULE_DECISIONS)}


def rewrite(folder: Path, name: str, old: str, new: str) -> None:
    file = folder / name
    before = file.read_text()
    assert before.count(old) == 1
    file.unlink()  # a link to the file of the original
    file.write_text(before.replace(old, new))


def planned(capsys: pytest.CaptureFixture[str]) -> tuple[int, object, str]:
    """What rules decide, and which duplicates there are."""
    capsys.readouterr()
    status = main(["plan", "recipe.yaml", "--json"])
    printed = capsys.readouterr()
    found = json.loads(printed.out) if printed.out else {}
    assert main(["duplicates", "recipe.yaml", "--json"]) == 0
    kinds = json.loads(capsys.readouterr().out)["kinds"]
    return status, (found.get("rules"), found.get("safety"), kinds), printed.err


@pytest.mark.parametrize("shards", [1, 3, 64])
def test_what_is_kept_is_what_tasks_of_any_size_decide(
    copy: Path, shards: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = asked(copy)
    assert records(copy) == {layout.rule_decisions(found.asked.key)}
    of_a_shard = OPENING_BYTES * len(found.asked.layers)
    monkeypatch.setattr(shard_groups, "TASK_BYTES", of_a_shard * shards)
    jobs = EngineJobs(StageRun(Console(), Engine("local", 1), found.asked.pinned.store), "rules", here_bytes=-1)
    with jobs.folder("rules") as steps:
        assert find_decisions(found.asked) == decision_tasks(found.asked, steps).decided(found.asked, jobs)


def test_dropped_samples_are_listed_as_if_all_rows_were_decided_at_once(
    copy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = asked(copy)
    pinned = found.asked.pinned
    duplicates = choose_representatives(pinned)
    expected = [
        dropped_samples(pinned, shard, decisions, duplicates)
        for shard, decisions in zip(pinned.shards, decide(pinned, duplicates=duplicates), strict=True)
    ]
    for bytes_of_task in (TASK_BYTES, 2 * OPENING_BYTES * len(found.asked.layers)):
        monkeypatch.setattr(shard_groups, "TASK_BYTES", bytes_of_task)
        write_dropped(found, copy / "dropped.parquet", Engine("local", 1))
        written = pq.read_table(copy / "dropped.parquet")
        assert written.equals(pa.concat_tables(expected))
        assert 0 < written["duplicate_of"].null_count < len(written)


def test_what_is_kept_is_what_all_rows_come_to(copy: Path) -> None:
    found = asked(copy)
    pinned = found.asked.pinned
    counts, duplicates = count_decisions(pinned), choose_representatives(pinned)
    assert found.summary == summarise_rules(pinned, counts, found.asked.generation.number, duplicates)
    assert {rule.reason: rule.dropped.rows > 0 for rule in found.summary.rules} == {
        "short": True,
        "duplicate_exact": True,
        "long": True,
    }
    assert found.coverage is not None
    assert found.coverage.rows == found.summary.kept.rows


def test_commands_that_read_need_no_rows(copy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = planned(capsys)
    assert main(["stats", "recipe.yaml"]) == 0
    told = capsys.readouterr().out
    for layer in ("text.length", "url.blocklist", "dedupe.exact"):
        shutil.rmtree(copy / "store/layers" / layer)
    assert planned(capsys) == before
    assert main(["stats", "recipe.yaml"]) == 0
    assert capsys.readouterr().out == told
    assert main(["report", "recipe.yaml"]) == 0


def forget(folder: Path) -> None:
    assert main(["forget", "recipe.yaml", "--domain", "site2.example", "--reason", "asked"]) == 0


def grow(folder: Path) -> None:
    (folder / "lines" / "b.jsonl").write_text(json.dumps(row(77)) + "\n")
    assert main(["run", "recipe.yaml", "--workers", "1"]) == 0


def rename_sites(folder: Path) -> None:
    rewrite(folder, "sites.txt", "site1", "site3")
    assert main(["annotate", "recipe.yaml", "--workers", "1"]) == 0


CHANGES: dict[str, Callable[[Path], None]] = {
    "a condition": lambda folder: rewrite(folder, "recipe.yaml", "characters < 12", "characters < 15"),
    "what null means": lambda folder: rewrite(folder, "recipe.yaml", "when_null: keep", "when_null: drop"),
    "a table": lambda folder: rewrite(folder, "limits.csv", "lines,45", "lines,20"),
    "a list of sites": rename_sites,
    "the representative": lambda folder: rewrite(folder, "recipe.yaml", "[source, longest]", "[shortest]"),
    "the samples": grow,
    "what is forgotten": forget,
}
NO_CHANGES: dict[str, Callable[[Path], None]] = {
    "a reason": lambda folder: rewrite(folder, "recipe.yaml", "reason: short", "reason: brief"),
    "a line": lambda folder: rewrite(folder, "recipe.yaml", "eligible:\n", "# first\neligible:\n"),
    "an alarm": lambda folder: rewrite(folder, "recipe.yaml", "{exact: {},", "{exact: {}, guard: {max_loss: 0.9},"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_decisions_on_anything_else_are_not_read(copy: Path, change: str, capsys: pytest.CaptureFixture[str]) -> None:
    before, first = records(copy), planned(capsys)
    CHANGES[change](copy)
    found = planned(capsys)
    assert found[0] == 0, found
    assert found != first
    assert len(records(copy) - before) == 1
    shutil.rmtree(copy / "store/decisions")
    assert planned(capsys) == found


@pytest.mark.parametrize("change", NO_CHANGES)
def test_what_decides_nothing_may_change(copy: Path, change: str, capsys: pytest.CaptureFixture[str]) -> None:
    before = records(copy)
    NO_CHANGES[change](copy)
    found = planned(capsys)
    assert found[0] == 0, found
    assert records(copy) == before
    shutil.rmtree(copy / "store/decisions")
    assert planned(capsys) == found


def test_that_rules_cannot_be_decided_is_kept_too(copy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rewrite(
        copy,
        "recipe.yaml",
        "annotate: [text.length",
        "annotate: [{text.length: {where: \"samples.source.record <> '7'\"}}",
    )
    rewrite(copy, "recipe.yaml", "reason: short, when_null: drop", "reason: short, when_null: error")
    assert main(["annotate", "recipe.yaml", "--workers", "1"]) == 0
    assert main(["dedupe", "recipe.yaml", "--workers", "1"]) == 0
    status, _, said = planned(capsys)
    assert status == 1
    assert_told(said, "recipe.yaml:10", "eligible[0]", "'short'")
    shutil.rmtree(copy / "store/layers/text.length")
    rewrite(copy, "recipe.yaml", "eligible:\n", "# first\neligible:\n")
    again = planned(capsys)
    assert (again[0], again[2]) == (1, said.replace("recipe.yaml:10", "recipe.yaml:11"))
    assert main(["stats", "recipe.yaml"]) == 0
    assert "text.length.characters < 12" in capsys.readouterr().out


def test_a_damaged_record_is_made_again(copy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (path,) = records(copy)
    found, file = planned(capsys), copy / "store" / path
    whole = file.read_bytes()
    file.unlink()
    file.write_bytes(whole.replace(b'"rows":[', b'"rows":[1'))
    assert main(["audit", "--store-only", "recipe.yaml"]) == 1
    assert f"{path} is damaged" in capsys.readouterr().out
    assert planned(capsys) == found
    assert file.read_bytes() == whole


def test_garbage_is_what_was_decided_on_rows_that_are_gone(copy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = records(copy)
    rewrite(copy, "recipe.yaml", "characters < 12", "characters < 15")
    planned(capsys)
    both = records(copy)
    assert main(["gc", "recipe.yaml"]) == 0
    assert records(copy) == both > before
    grow(copy)
    latest = records(copy) - both
    assert main(["gc", "recipe.yaml", "--keep", "1"]) == 0
    assert records(copy) == latest
    forget(copy)
    assert main(["gc", "recipe.yaml"]) == 0
    assert not records(copy)


def drops_of(folder: Path, *, named: bool = True) -> DuplicateDrops:
    """What the plan drops of the first shard's rows as duplicates."""
    recipe = bind(load_recipe(folder / "recipe.yaml"))
    store = open_store_at(recipe.store_address)
    generation = require_latest_for(recipe, store)
    shard = next(iter(store.manifest(generation, layout.SAMPLES)))
    ids = store.objects.read(shard.object)
    rows = pq.read_table(pa.BufferReader(ids), columns=["id"])["id"].to_pylist()
    places = [Place(shard, row, identity.hex()) for row, identity in enumerate(rows)]
    return duplicate_drops(recipe if named else None, store, generation, places)


def test_the_rows_dropped_as_duplicates_are_named_with_what_stays(copy: Path) -> None:
    write_dropped(asked(copy), copy / "dropped.parquet", Engine("local", 1))
    listed = pq.read_table(copy / "dropped.parquet").to_pylist()
    stays = {row["id"].hex(): row["duplicate_of"].hex() for row in listed if row["duplicate_of"] is not None}
    found = drops_of(copy)
    assert found.undecided is None
    assert found.reasons
    assert set(found.reasons.values()) == {"duplicate_exact"}
    assert found.stays == {one: stays[one] for one in found.reasons}
    assert len(found.stays) < len(listed)


def test_without_a_rule_on_duplicates_none_is_dropped(copy: Path) -> None:
    rewrite(copy, "recipe.yaml", "dedupe: {exact: {}, representative: [source, longest]}\n", "")
    assert drops_of(copy) == DuplicateDrops({})
    (copy / "recipe.yaml").unlink()
    (copy / "recipe.yaml").write_text(RECIPE.partition("thresholds:")[0])
    assert drops_of(copy) == DuplicateDrops({})


def test_why_duplicates_cannot_be_decided_is_one_line(copy: Path) -> None:
    assert drops_of(copy, named=False) == DuplicateDrops(None, "that needs the recipe; give it instead of the store")
    said = "unknown column 'text.length.charactrs' (did you mean 'text.length.characters'?)"
    rewrite(copy, "recipe.yaml", "text.length.characters < 12", "text.length.charactrs < 12")
    assert drops_of(copy) == DuplicateDrops(None, f"{copy}/recipe.yaml:10: eligible[0]: {said}")
    rewrite(copy, "recipe.yaml", "text.length.characters >", "text.length.charactrs >")
    more = f"{copy}/recipe.yaml:10: eligible[0]: {said} (and 1 more; see winnow plan)"
    assert drops_of(copy) == DuplicateDrops(None, more)
