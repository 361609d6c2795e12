"""What `audit`, `forget` and `gc --purge` find and write in tasks is the same, whatever runs the tasks."""

import io
import os
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest
from rich.console import Console

from tests.messages import assert_told
from tests.runners.forgetting.crawl import HOST, write_crawl, write_recipe
from tests.runners.forgetting.files import contents, holders
from winnow.pipelines.audit import Findings, audit_store
from winnow.pipelines.binding.bound_recipe import bind
from winnow.pipelines.forgetting.effects import Effect, effect_of
from winnow.pipelines.forgetting.purging import Purged, purge
from winnow.pipelines.forgetting.requests import parse_selector, selectors_of
from winnow.pipelines.running import job_tasks
from winnow.pipelines.running.job_tasks import HERE, Jobs
from winnow.pipelines.store import layout
from winnow.pipelines.store.generations import Store
from winnow.pipelines.store.integrity.damage import remedy
from winnow.pipelines.store.layers import LayerWriter, put_statistics
from winnow.pipelines.store.location import open_store_at
from winnow.pipelines.store.manifests.tasks import TaskCommits
from winnow.pipelines.store.publishing import publish_rewritten
from winnow.pipelines.store.tables import read_table
from winnow.runners.commands.main import main
from winnow.runners.engines.engine import Engine
from winnow.runners.stages.running.engine_jobs import EngineJobs
from winnow.runners.stages.running.stage_run import StageRun
from winnow.schemas.recipe import load_recipe
from winnow.schemas.rows.samples import SAMPLES
from winnow.schemas.statistics import SAMPLES_STATISTICS

pytestmark = pytest.mark.processes


def engine_jobs(store: Store, workers: int) -> Jobs:
    """Every job on the engine, however small it is."""
    return EngineJobs(StageRun(Console(file=io.StringIO()), Engine("local", workers), store), "test", here_bytes=-1)


RUNNERS: dict[str, Callable[[Store], Jobs]] = {
    "here": lambda _: HERE,
    "one worker": lambda store: engine_jobs(store, 1),
    "two workers": lambda store: engine_jobs(store, 2),
}


IN_THIS_PROCESS = {name: RUNNERS[name] for name in ("here", "one worker")}
"""Where it is not the processes that could make a difference."""


@pytest.fixture(autouse=True)
def _many_small_tasks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(job_tasks, "TASK_ITEMS", 2)


@pytest.fixture(scope="module")
def forgotten(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store in which tombstones hide rows, one of which was purged before."""
    folder = tmp_path_factory.mktemp("forgotten")
    write_crawl(folder)
    write_recipe(folder, annotate="text.gopher")
    recipe = str(folder / "recipe.yaml")
    assert main(["run", recipe, "--workers", "1"]) == 0
    assert main(["forget", recipe, "--url", "http://5.example"]) == 0
    assert main(["gc", recipe, "--purge", "--workers", "1"]) == 0
    assert main(["forget", recipe, "--domain", HOST]) == 0
    return folder


def copied(forgotten: Path, folder: Path) -> Path:
    shutil.copytree(forgotten, folder)
    return folder


def audited(folder: Path, jobs: Callable[[Store], Jobs]) -> Findings:
    store, recipe = open_store_at(folder / "store"), bind(load_recipe(folder / "recipe.yaml"))
    return audit_store(store, recipe, recipe.ingest(store), jobs=jobs(store))


def damage(folder: Path) -> dict[str, str]:
    """Files of several kinds, one of them gone; what the audit must say of each."""
    store = open_store_at(folder / "store")
    generation = store.require_latest()
    rows = [store.manifest(generation, layer)[-1] for layer in ("samples", "text.gopher", "extract.main")]
    lost = folder / "store" / rows[2].object
    lost.unlink()
    said = {rows[2].object: "is missing"}
    for path in (rows[0].object, rows[1].object, rows[0].statistics):
        raw = bytearray((folder / "store" / path).read_bytes())
        raw[len(raw) // 3] ^= 16
        (folder / "store" / path).write_bytes(raw)
        said[path] = "is damaged"
    return said


def test_an_audit_finds_the_same_in_the_same_order(forgotten: Path, tmp_path: Path) -> None:
    whole = {name: audited(forgotten, jobs) for name, jobs in IN_THIS_PROCESS.items()}
    assert whole["here"].problems == []
    assert len(whole["here"].proved) > 5
    assert whole == dict.fromkeys(IN_THIS_PROCESS, whole["here"])
    broken = copied(forgotten, tmp_path / "broken")
    said = damage(broken)
    found = {name: audited(broken, jobs) for name, jobs in RUNNERS.items()}
    assert found == dict.fromkeys(RUNNERS, found["here"])
    problems = found["here"].problems
    assert len(problems) == len(set(problems))
    for path, what in said.items():
        (line,) = [line for line in problems if f"{path} {what}" in line]
        assert line.endswith(remedy(path))
        assert "\n" not in line


def test_a_damaged_generation_leaves_every_file_to_be_checked_by_itself(forgotten: Path, tmp_path: Path) -> None:
    broken = copied(forgotten, tmp_path / "broken")
    damage(broken)
    generation = broken / "store" / layout.generation(open_store_at(broken / "store").require_latest().number)
    generation.write_bytes(generation.read_bytes().replace(b'"parent":', b'"parent": '))
    found = {name: audited(broken, jobs) for name, jobs in IN_THIS_PROCESS.items()}
    assert found == dict.fromkeys(IN_THIS_PROCESS, found["here"])
    assert sum("is damaged" in line for line in found["here"].problems) == 4


def test_a_request_finds_the_same_rows(forgotten: Path) -> None:
    store = open_store_at(forgotten / "store")
    wanted = selectors_of(parse_selector("domain", name) for name in (HOST, "7.example", "none.example"))
    found: dict[str, Effect] = {name: effect_of(store, wanted, jobs(store), ids=True) for name, jobs in RUNNERS.items()}
    here = found["here"]
    assert here.rows > 1
    assert here.ids is not None
    assert len(here.ids) == here.rows
    for other in found.values():
        assert other.ids is not None
        assert other.ids.tolist() == here.ids.tolist()
        assert replace(other, ids=None, scans=()) == replace(here, ids=None, scans=())
        assert [(one.object, one.found.rows.tolist()) for one in other.scans] == [
            (one.object, one.found.rows.tolist()) for one in here.scans
        ]


def test_a_purge_writes_the_same_store(forgotten: Path, tmp_path: Path) -> None:
    done: dict[str, Purged] = {}
    stores = {}
    for name, jobs in RUNNERS.items():
        folder = copied(forgotten, tmp_path / name)
        store = open_store_at(folder / "store")
        foreseen = purge(store, 2, dry_run=True)
        done[name] = purge(store, 2, jobs=jobs(store))
        assert (foreseen.rows, foreseen.objects) == (done[name].rows, done[name].objects)
        assert holders(folder / "store") == []
        stores[name] = contents(folder / "store")
    assert done == dict.fromkeys(RUNNERS, done["here"])
    assert stores == dict.fromkeys(RUNNERS, stores["here"])
    assert done["here"].rows


def test_rows_that_share_an_id_or_have_another_source_are_found(
    forgotten: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The rows of one shard get the ids of another's; every record agrees with that."""
    monkeypatch.setattr("winnow.pipelines.audit.identities.partitions_for", lambda _: 3)
    folder = copied(forgotten, tmp_path / "copied")
    store = open_store_at(folder / "store")
    record = store.require_record()
    tasks = store.every_task(record)
    shards = [(task, shard) for task in tasks for shard in task.shards]
    (_, giving), (task, taking) = sorted(shards, key=lambda one: one[1].shard)[:2]
    ids = read_table(store.objects, giving.object.path, ["id"])["id"]
    table = read_table(store.objects, taking.object.path)
    count = min(len(ids), table.num_rows)
    column = pa.concat_arrays([*ids.slice(0, count).chunks, *table["id"].slice(count).chunks])
    table = table.set_column(0, SAMPLES.field("id"), column)
    with LayerWriter(store, SAMPLES, SAMPLES_STATISTICS) as writer:
        for batch in table.combine_chunks().to_batches():
            writer.write(batch)
        written = writer.finish(layout.SAMPLES, task.key, taking.shard)
    statistics = put_statistics(store, taking.shard, [written])
    shard = replace(taking, object=written.part.object, statistics=statistics)
    changed = replace(task, shards=tuple(shard if one == taking else one for one in task.shards))
    publish_rewritten(store, TaskCommits.of(changed if one == task else one for one in tasks), [])
    found = {name: audited(folder, jobs) for name, jobs in IN_THIS_PROCESS.items()}
    assert found == dict.fromkeys(IN_THIS_PROCESS, found["here"])
    problems = found["here"].problems
    assert_told("\n".join(problems), str(count), "row 0")
    shared = [line for line in problems if "rows share the id" in line]
    assert shared == [f"2 rows share the id {one.hex()}" for one in sorted(ids.to_pylist()[:count])[:10]]


@pytest.mark.parametrize("command", [["audit"], ["forget", "--domain", HOST], ["gc", "--purge", "--dry-run"]])
def test_commands_take_runners_workers_and_flags_for_beam(
    forgotten: Path, command: list[str], capfd: pytest.CaptureFixture[str]
) -> None:
    name, *more = command
    recipe = str(forgotten / "recipe.yaml")
    assert main([name, recipe, *more, "--workers", "2", "--runner", "local", "--", "--job_name=x"]) == 0
    assert main([name, recipe, *more, "--runner", "lokal"]) == 1
    assert main([name, recipe, *more, "--", "--no_such_flag=1"]) == 1
    said = capfd.readouterr().err
    assert "winnow: unknown runner 'lokal'" in said
    assert "no_such_flag" in said
    assert os.linesep * 2 not in said
