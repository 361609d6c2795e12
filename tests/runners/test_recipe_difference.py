"""`winnow diff`: what two recipes keep, over one store or over two of the same samples, however tasks are cut."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from rich.console import Console

from tests.faults.winnow import ended, run_here
from winnow.pipelines.rules.comparing import Comparison, ComparisonTasks
from winnow.pipelines.rules.decision_tasks import pinned_tasks
from winnow.pipelines.running import shard_groups
from winnow.pipelines.running.job_tasks import OPENING_BYTES
from winnow.runners.engines.engine import Engine
from winnow.runners.stages.opening import bound_recipe, store_of
from winnow.runners.stages.reports.recipe_difference import pinned_to_compare
from winnow.runners.stages.running.engine_jobs import EngineJobs
from winnow.runners.stages.running.stage_run import StageRun

RECIPE = """\
version: 1
store: {path: STORE, shard_rows: 8}
sources:
  lines: {root: ROOT/lines, files: ["*.jsonl"], class: public, key: id}
  pages: {root: ROOT/pages, files: ["*.jsonl"], class: web, key: id}
annotate: [text.length]
eligible:
  - {drop: text.length.characters < SHORT, reason: short, when_null: drop}
dedupe: {exact: {}, representative: [ORDER]}
keep:
  - {drop: text.length.characters > 60, reason: RULE, when_null: keep}
"""


def recipe(store: str = "store", short: int = 20, order: str = "source", rule: str = "long", root: str = ".") -> str:
    text = RECIPE.replace("STORE", store).replace("SHORT", str(short)).replace("ORDER", order)
    return text.replace("RULE", rule).replace("ROOT", root)


def write_rows(folder: Path, words: str = "word ") -> None:
    for source, first in (("lines", 0), ("pages", 20)):
        (folder / source).mkdir(parents=True)
        rows = [{"id": str(at), "text": words * (1 + (at * 7) % 15) + str(at % 9)} for at in range(first, first + 40)]
        (folder / source / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store that two recipes read."""
    folder = tmp_path_factory.mktemp("difference")
    write_rows(folder)
    (folder / "a.yaml").write_text(recipe())
    (folder / "b.yaml").write_text(recipe(short=35, order="longest", rule="lengthy"))
    (folder / "elsewhere.yaml").write_text(recipe("elsewhere", 35, "longest", "lengthy"))
    (folder / "new.yaml").write_text(recipe("new"))
    ended(run_here(folder, "run", "a.yaml", "--workers", "1"))
    return folder


def decided(folder: Path, name: str) -> dict[str, str]:
    """Why each dropped sample is dropped, as `winnow plan` lists it."""
    file = folder / f"{name}.parquet"
    ended(run_here(folder, "plan", f"{name}.yaml", "--decisions", str(file)))
    return {row["id"].hex(): row["reason"] for row in pq.read_table(file).to_pylist()}


def difference(folder: Path, *names: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(ended(run_here(folder, "diff", *names, "--json")))
    return found


@pytest.mark.parametrize("other", ["b", pytest.param("elsewhere", marks=pytest.mark.large)])
def test_it_says_what_the_lists_of_dropped_samples_say(made: Path, other: str) -> None:
    if other == "elsewhere":
        ended(run_here(made, "run", "elsewhere.yaml", "--workers", "1"))
    old, new = decided(made, "a"), decided(made, other)
    found = difference(made, "a.yaml", f"{other}.yaml", "--ids", "ids.parquet", "--samples", "3")
    lost, gained = sorted(new.keys() - old.keys()), sorted(old.keys() - new.keys())
    assert lost
    assert gained
    total = found["total"]
    assert (total["samples"], total["old"], total["new"]) == (80, 80 - len(old), 80 - len(new))
    assert [one["id"] for one in found["lost"]] == lost[:3]
    assert [one["id"] for one in found["gained"]] == gained[:3]
    rows = pq.read_table(made / "ids.parquet").to_pylist()
    assert {row["id"].hex(): (row["old_reason"], row["new_reason"]) for row in rows} == {
        one: (old.get(one), new.get(one)) for one in (*lost, *gained)
    }
    drops = {side: Counter(reasons.values()) for side, reasons in (("old", old), ("new", new))}
    assert {reason: (one["old"], one["new"]) for reason, one in found["reasons"].items()} == {
        reason: (drops["old"][reason], drops["new"][reason]) for reason in drops["old"] | drops["new"]
    }
    assert found["reasons"]["short"]["new_drops_old_keeps"] == sum(new[one] == "short" for one in lost)


def compared(folder: Path, workers: int) -> Comparison:
    console = Console(quiet=True)
    engine = Engine("local", workers)
    pinned = [pinned_to_compare(str(folder / name), engine, console) for name in ("a.yaml", "b.yaml")]
    store = store_of(bound_recipe(folder / "a.yaml"))
    jobs = EngineJobs(StageRun(console, engine, store), "diff", here_bytes=-1)
    with jobs.folder("diff") as first, jobs.folder("diff") as second:
        old, new = (pinned_tasks(one, one.layers, steps) for one, steps in zip(pinned, (first, second), strict=True))
        return ComparisonTasks(old, new, tokens=False, shown=5).run(jobs)


@pytest.mark.large
def test_tasks_of_any_size_say_the_same(made: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = compared(made, 1)
    monkeypatch.setattr(shard_groups, "TASK_BYTES", 4 * OPENING_BYTES)
    assert compared(made, 1) == whole


@pytest.mark.large
def test_several_workers_say_the_same(made: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shard_groups, "TASK_BYTES", 4 * OPENING_BYTES)
    assert compared(made, 2) == compared(made, 1)


def test_a_recipe_beside_itself_differs_in_nothing(made: Path) -> None:
    said = ended(run_here(made, "diff", "a.yaml", "a.yaml"))
    assert "80 are kept by both or by neither, 0 only by A, 0 only by B" in said
    assert "Reasons that differ" not in said


def test_what_cannot_be_compared_is_a_line(made: Path) -> None:
    for arguments, line in (
        (("new.yaml",), "new.yaml: its store new does not exist yet; run: winnow run new.yaml"),
        (("a.yaml", "--ids", "no/ids.parquet"), "--ids no/ids.parquet: its folder does not exist; create it first"),
        (("a.yaml", "--samples", "-1"), "--samples -1: expected 0 to 1,000; --ids FILE lists all of them"),
    ):
        assert ended(run_here(made, "diff", "a.yaml", *arguments), 1) == f"winnow: {line}\n"


@pytest.mark.large
def test_stores_of_other_sources_are_compared_as_far_as_they_fit(made: Path) -> None:
    pages = '  pages: {root: ./pages, files: ["*.jsonl"], class: web, key: id}\n'
    (made / "alone.yaml").write_text(recipe("alone").replace(pages, ""))
    (made / "unlike.yaml").write_text(recipe("unlike").replace(pages, "").replace("  lines:", "  rows:"))
    for name in ("alone", "unlike"):
        ended(run_here(made, "run", f"{name}.yaml", "--workers", "1"))
    found = difference(made, "a.yaml", "alone.yaml")
    assert (found["only_old"], found["only_new"], found["total"]["samples"]) == ({"pages": 40}, {}, 40)
    assert "only the store of A has 40 samples of pages" in ended(run_here(made, "diff", "a.yaml", "alone.yaml"))
    said = ended(run_here(made, "diff", "a.yaml", "unlike.yaml"), 1)
    assert said.count("\n") == 1
    assert "have no shard in common" in said


@pytest.mark.large
def test_other_samples_under_the_same_names_of_shards_are_a_line(made: Path) -> None:
    write_rows(made / "other", "text ")
    (made / "texts.yaml").write_text(recipe("texts", root="other"))
    ended(run_here(made, "run", "texts.yaml", "--workers", "1"))
    ended(run_here(made, "diff", "a.yaml", "texts.yaml"))  # ids come from names, not from texts
    file = made / "other" / "lines" / "a.jsonl"
    file.write_text(file.read_text().replace('"id": "', '"id": "x'))
    (made / "ids.yaml").write_text(recipe("ids", root="other"))
    ended(run_here(made, "run", "ids.yaml", "--workers", "1"))
    said = ended(run_here(made, "diff", "a.yaml", "ids.yaml"), 1)
    assert said.count("\n") == 1
    assert "holds other samples in the store of a.yaml than in that of ids.yaml" in said
