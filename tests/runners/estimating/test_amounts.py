"""What is estimated of a recipe, before, in the middle of, and after its run; and what its runs say they took."""

import gzip
import json
from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest

from tests.faults.winnow import tree_hash
from winnow.pipelines.store.local import LocalStore
from winnow.pipelines.store.location import open_store_at
from winnow.runners.commands.main import main
from winnow.runners.estimating.amounts import HERE_SECONDS, StageEstimate, estimate_of_run
from winnow.runners.estimating.contents import Contents
from winnow.runners.estimating.measured import own_rates
from winnow.runners.estimating.rates import EngineRate, Rate, Rates, read_rates, shipped_rates
from winnow.runners.estimating.run_log import PartAmounts, RunRecord, put_run, read_runs

RECIPE = """
version: 1
store: {path: store, seed: 7, shard_rows: 8, task_bytes: 1 KiB}
sources:
  lines: {root: lines, files: ["*.jsonl"], class: public, key: id}
annotate: [text.length, text.gopher]
dedupe: {exact: {}}
mix: {unit: bytes}
export: [{jsonl: {path: out}}]
"""
RATES = """
machine: a machine of tests
engines: {local: {work: 2, start_seconds: 0}, spark: {work: 1, start_seconds: 3600}}
rates:
  ingest.none: {mb_per_second: 0.001, written: 10}
  text.length: {mb_per_second: 0.01, written: 1}
  text.gopher: {mb_per_second: 0.01, written: 2}
  text.digest: {mb_per_second: 0.01, written: 0.5}
  dedupe.exact: {mb_per_second: 0.01, written: 1, shuffled: 3}
"""


@pytest.fixture
def recipe(tmp_path: Path) -> str:
    (tmp_path / "lines").mkdir()
    rows = [json.dumps({"id": str(row), "text": f"line {row}"}) for row in range(20)]
    (tmp_path / "lines" / "0.jsonl").write_text("\n".join(rows) + "\n")
    (tmp_path / "recipe.yaml").write_text(RECIPE)
    (tmp_path / "rates.yaml").write_text(RATES)
    return str(tmp_path / "recipe.yaml")


def estimated(recipe: str, capsys: pytest.CaptureFixture[str]) -> dict[str, dict[str, object]]:
    rates = str(Path(recipe).parent / "rates.yaml")
    capsys.readouterr()
    assert main(["plan", recipe, "--rates", rates, "--workers", "2", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["estimate"]
    assert (found["machine"], found["workers"]) == ("a machine of tests", 2)
    return {stage.pop("stage"): stage for stage in found["stages"]}


def test_an_engine_adds_its_overhead_and_the_start_of_the_workers_that_have_a_task() -> None:
    stage = StageEstimate("annotate.cpu", 3, 0, 0, 0, work_seconds=100.0)
    assert stage.vcpu_seconds(EngineRate("spark", work=1.5, start_seconds=10), 2) == 170.0
    assert stage.vcpu_seconds(EngineRate("spark", work=1.5, start_seconds=10), 64) == 180.0
    assert stage.seconds(EngineRate("spark", work=1.5, start_seconds=10), 64) == 60.0
    small = replace(stage, work_seconds=0.5, is_here=True)
    assert small.vcpu_seconds(EngineRate("spark", work=1.5, start_seconds=10), 64) == 0.5 + HERE_SECONDS


def test_before_a_run_every_stage_follows_from_the_listing(recipe: str, capsys: pytest.CaptureFixture[str]) -> None:
    size = (Path(recipe).parent / "lines/0.jsonl").stat().st_size
    found = estimated(recipe, capsys)
    assert list(found) == ["ingest", "annotate.cpu", "dedupe", "mix", "export", "command"]
    assert found["ingest"] | {"vcpu_hours": 0} == {
        "tasks": 1,
        "read": size,
        "shuffled": 0,
        "written": 10 * size,
        "vcpu_hours": 0,
    }
    annotate = found["annotate.cpu"]
    assert (annotate["read"], annotate["written"]) == (10 * size, 35 * size)  # three measurements of one read
    signed = 5 * size
    assert found["dedupe"] | {"vcpu_hours": 0, "tasks": 0} == {
        "tasks": 0,
        "read": signed,
        "shuffled": 3 * signed,
        "written": signed,
        "vcpu_hours": 0,
    }
    hours = found["ingest"]["vcpu_hours"]
    assert isinstance(hours, dict)
    assert hours["local"] == pytest.approx(2 * size / 1000 / 3600)
    assert hours["spark"] == pytest.approx(size / 1000 / 3600 + 1)


def test_what_stands_costs_nothing_and_what_runs_took_is_told_beside_the_estimate(
    recipe: str, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = Path(recipe).parent
    assert main(["ingest", recipe, "--workers", "1"]) == 0
    assert main(["plan", recipe]) == 1  # its rules cannot be decided yet; what is left to do was told
    printed = capsys.readouterr().out.partition("Estimate of the remaining work")[2]
    assert [line.split()[0] for line in printed.splitlines()[3:9]] == [
        "annotate.cpu",
        "dedupe",
        "mix",
        "export",
        "command",
        "total",
    ]
    assert main(["run", recipe, "--workers", "1"]) == 0
    assert estimated(recipe, capsys) == {}
    assert main(["plan", recipe]) == 0
    printed = capsys.readouterr().out
    assert "estimate  nothing to do" in printed
    assert "Estimate of the remaining" not in printed
    records = {record.stage: record for record in read_runs(open_store_at(folder / "store").objects)}
    assert set(records) == {"ingest", "annotate.cpu", "dedupe", "mix", "export"}
    assert set(records["annotate.cpu"].parts) == {"text.length", "text.gopher", "text.digest"}
    assert records["ingest"].read == (folder / "lines/0.jsonl").stat().st_size
    assert records["ingest"].written == sum(file.stat().st_size for file in (folder / "store/samples").iterdir())
    assert all(record.engine == "local" for record in records.values())
    assert {stage: record.workers for stage, record in records.items()} == dict.fromkeys(records, 1) | {"dedupe": 0}
    assert all(record.cpu_seconds is not None for record in records.values())
    assert main(["stats", recipe]) == 0
    assert "Past runs" in (printed := capsys.readouterr().out)
    assert "actual/estimate" in printed
    assert main(["stats", recipe, "--json"]) == 0
    runs = json.loads(capsys.readouterr().out)["runs"]
    assert {run["stage"] for run in runs} == set(records)
    before = tree_hash(folder)
    assert main(["gc", recipe]) == 0
    assert tree_hash(folder) == before
    assert main(["audit", recipe]) == 0


def test_rates_that_runs_had_are_a_file_of_rates(recipe: str, capsys: pytest.CaptureFixture[str]) -> None:
    folder = Path(recipe).parent
    assert main(["ingest", recipe, "--workers", "1"]) == 0
    objects = open_store_at(folder / "store").objects
    contents = Contents(1000, 3_000_000)
    parts = {"text.length": PartAmounts(3_000_000, 600_000, contents)}
    parts |= {"text.gopher": PartAmounts(3_000_000, 1_200_000, contents)}
    put_run(objects, RunRecord("annotate.cpu", "local", 1, 4, 90.0, 3_000_000, parts, cpu_seconds=60.0))
    capsys.readouterr()
    rates = str(folder / "rates.yaml")
    assert main(["stats", recipe, "--rates", rates, "--measured"]) == 0
    (folder / "mine.yaml").write_text(capsys.readouterr().out)
    assert (
        "text.length: {mb_per_second: 0.2, row_microseconds: 0, written: 0.2, shuffled: 0}"
        in (folder / "mine.yaml").read_text()
    )
    assert (
        "text.gopher: {mb_per_second: 0.2, row_microseconds: 0, written: 0.4, shuffled: 0}"
        in (folder / "mine.yaml").read_text()
    )
    assert read_rates(str(folder / "mine.yaml")).of("text.gopher") == Rate("text.gopher", 0.2, 0.4)


def test_records_of_runs_are_numbered_and_damaged_ones_are_passed_over(tmp_path: Path) -> None:
    objects = LocalStore(tmp_path)
    record = RunRecord("ingest", "spark", 8, 3, 1.5, 10, {"ingest.none": PartAmounts(10, 20, Contents(2, 30))})
    put_run(objects, record)
    put_run(objects, record)
    objects.put("runs/ingest/00000003.json", b"{")
    objects.put("runs/ingest/strange.json", b"{}")
    put_run(objects, record)
    assert [info.path for info in objects.list("runs/")][3] == "runs/ingest/00000004.json"
    assert read_runs(objects) == [record, record, record]
    assert (record.written, record.vcpu_seconds) == (20, 4.5)  # of three workers that had a task
    assert replace(record, cpu_seconds=2.5).vcpu_seconds == 2.5
    rates = Rates("", (), (Rate("ingest.none", 0.5, 3.0, row_microseconds=7.0),))
    seconds = 30 / 500_000 + 2 * 7 / 1e6
    estimated_run = estimate_of_run(record, rates)
    assert estimated_run.work_seconds == pytest.approx(seconds)
    assert replace(estimated_run, work_seconds=0) == StageEstimate("ingest", 3, 10, 0, 30, 0)


def test_time_follows_from_rows_and_texts_not_from_how_well_files_compress(
    recipe: str, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = Path(recipe).parent
    rows = "".join(json.dumps({"id": str(row), "text": "the same words, again. " * 400}) + "\n" for row in range(300))
    (folder / "rates.yaml").write_text(RATES.replace("text.length: {mb_per_second: 0.01,", "text.length: {"))
    found = []
    for name, raw in (("0.jsonl", rows.encode()), ("0.jsonl.gz", gzip.compress(rows.encode()))):
        for file in (folder / "lines").iterdir():
            file.unlink()
        (folder / "lines" / name).write_bytes(raw)
        Path(recipe).write_text(RECIPE.replace("*.jsonl", "*.jsonl*"))
        found.append(estimated(recipe, capsys))
    plain, packed = found
    assert cast(int, packed["ingest"]["read"]) < cast(int, plain["ingest"]["read"]) / 50
    for stage in ("ingest", "annotate.cpu"):
        hours = [cast("dict[str, float]", one[stage]["vcpu_hours"])["local"] for one in found]
        assert hours[1] == pytest.approx(hours[0], rel=0.1)


def test_the_rates_of_a_store_s_own_runs_are_used_where_they_did_enough(
    recipe: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["ingest", recipe, "--workers", "1"]) == 0
    objects = open_store_at(Path(recipe).parent / "store").objects
    contents = Contents(100_000, 100_000_000)
    known = shipped_rates()
    for part, times in (("text.gopher", 3.0), ("text.length", 0.001)):
        taken = known.of(part).seconds(contents) * times
        parts = {part: PartAmounts(1000, 100, contents)}
        put_run(objects, RunRecord("annotate.cpu", "local", 1, 4, 90.0, 1000, parts, cpu_seconds=taken))
    short = {"text.digest": PartAmounts(10, 1, Contents(10, 1000))}
    put_run(objects, RunRecord("annotate.cpu", "local", 1, 1, 90.0, 10, short, cpu_seconds=0.1))
    old = {"text.pii": PartAmounts(1000, 100)}
    put_run(objects, RunRecord("annotate.cpu", "local", 1, 4, 90.0, 1000, old, cpu_seconds=100.0))
    own = own_rates(read_runs(objects), known)
    assert own.of("text.gopher").mb_per_second == pytest.approx(known.of("text.gopher").mb_per_second / 3)
    assert own.of("text.gopher").row_microseconds == pytest.approx(3 * known.of("text.gopher").row_microseconds)
    assert [own.of(part) for part in ("text.digest", "text.pii")] == [
        known.of(part) for part in ("text.digest", "text.pii")
    ]
    capsys.readouterr()
    assert main(["plan", recipe, "--json"]) == 1  # its rules cannot be decided yet
