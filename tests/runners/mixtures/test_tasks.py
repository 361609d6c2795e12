"""A mixture is the same whatever decides the rows: this process, or workers that each decide one shard."""

import json
from functools import partial

import pytest

from tests.runners.mixtures.tiny import RECIPE, Tiny, tree
from winnow.pipelines.running import shard_groups
from winnow.pipelines.running.job_tasks import ROWS_HERE_VARIABLE
from winnow.runners.stages.running import engine_jobs
from winnow.runners.stages.running.engine_jobs import EngineJobs

pytestmark = pytest.mark.processes

STAGES = (
    "{unit: tokens, tokenizer: bytes, split: {validation: 0.1}, stages: {core: {budget: 20_000}, "
    "late: {budget: 9_000, where: text.length.characters > 300, bands: {by: text.length.characters, top: 0.4}}}}"
)


def decided_by_tasks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every shard is a task, and runs on the engine, however small it is."""
    monkeypatch.setattr(shard_groups, "TASK_BYTES", 1)
    monkeypatch.setattr(engine_jobs, "EngineJobs", partial(EngineJobs, here_bytes=-1))


@pytest.mark.beam
def test_workers_that_decide_a_shard_each_plan_the_same_mixture(tiny: Tiny, monkeypatch: pytest.MonkeyPatch) -> None:
    tiny.write(STAGES)
    record, drawn = tiny.mix()
    plans = tree(tiny.folder / "store/plans")
    tiny.store.objects.delete(f"plans/{record.plan.request}/plan.json")
    decided_by_tasks(monkeypatch)
    assert tiny.mix("--workers", "2") == (record, drawn)
    assert tree(tiny.folder / "store/plans") == plans


def test_tasks_that_choose_plan_and_draw_give_the_same_mixture(tiny: Tiny, monkeypatch: pytest.MonkeyPatch) -> None:
    tiny.write(STAGES, base=RECIPE.replace("representative: []", "representative: [source, longest]"))
    record, drawn = tiny.mix()
    plans = tree(tiny.folder / "store/plans")
    tiny.store.objects.delete(f"plans/{record.plan.request}/plan.json")
    decided_by_tasks(monkeypatch)
    monkeypatch.setenv(ROWS_HERE_VARIABLE, "0")
    assert tiny.mix("--workers", "2") == (record, drawn)
    assert tree(tiny.folder / "store/plans") == plans


def test_show_says_what_workers_decide_of_a_sample_with_duplicates(tiny: Tiny, monkeypatch: pytest.MonkeyPatch) -> None:
    tiny.write(base=RECIPE.replace("representative: []", "representative: [source, longest]"))
    twins = [identity for identity, row in tiny.rows.items() if row.language == "nld_Latn"]
    before = [tiny.run("show", one, "--json") for one in twins]
    assert sum(json.loads(said)["kept"] for said in before) == 1
    decided_by_tasks(monkeypatch)
    assert [tiny.run("show", one, "--json") for one in twins[:2]] == before[:2]
    monkeypatch.setenv(ROWS_HERE_VARIABLE, "0")
    assert [tiny.run("show", one, "--json") for one in twins[:2]] == before[:2]
