"""What is lost of generations before the latest: `audit` names it, and who needs it says how to do without them."""

from collections.abc import Callable
from dataclasses import replace
from uuid import uuid4

import pytest

from tests.messages import assert_told, assert_told_each
from tests.pipelines.rules.stores import Shard, make_store
from winnow.pipelines.audit.files import FilesCheck
from winnow.pipelines.audit.findings import Findings
from winnow.pipelines.audit.older_generations import check_older_generations
from winnow.pipelines.forgetting.effects import effect_of
from winnow.pipelines.forgetting.purging import purge
from winnow.pipelines.forgetting.requests import parse_selector, selectors_of
from winnow.pipelines.forgetting.rewriting import CleanTask, RewritingContext
from winnow.pipelines.running.job_tasks import HERE, TaskFolder
from winnow.pipelines.store.gc import collect_garbage
from winnow.pipelines.store.generations import Store
from winnow.pipelines.store.hiding.scans import put_tombstone
from winnow.pipelines.store.integrity.damage import MissingError
from winnow.pipelines.store.memory import MemoryStore
from winnow.schemas.records import ObjectRecord

REMEDY = "the latest generation does without it: run 'winnow gc --keep 1 STORE', which drops the older ones"
SELECTORS = selectors_of([parse_selector("domain", "a.example")])


def first_manifest(store: Store) -> str:
    return store.generation_record(1).layers["samples"].manifest


def first_sample(store: Store) -> str:
    latest = {row.object for row in store.every_row(store.require_record(), "samples")}
    return next(
        row.object for row in store.every_row(store.generation_record(1), "samples") if row.object not in latest
    )


@pytest.mark.parametrize("find", [first_manifest, first_sample])
def test_what_only_an_older_generation_needs(find: Callable[[Store], str]) -> None:
    objects = MemoryStore(uuid4().hex)
    make_store(objects, {"a": Shard("x", 2), "b": Shard("y", 1)})
    store, _ = make_store(objects, {"a": Shard("x", 3), "b": Shard("y", 1)})
    assert store.generation_numbers() == [1, 2]
    put_tombstone(objects, SELECTORS.tombstone(""))
    assert problems(store) == []
    lost = find(store)
    objects.delete(lost)
    assert_told_each(problems(store), (str(objects.root), str(lost), "1 names", str(REMEDY)))
    commands: list[Callable[[], object]] = [lambda: effect_of(store, SELECTORS), lambda: purge(store, dry_run=True)]
    if find is first_manifest:  # `gc` reads no rows
        commands.append(lambda: collect_garbage(store))
    for command in commands:
        with pytest.raises(MissingError) as said:
            command()
        assert str(said.value) == f"{objects.root}: {lost} is missing; {REMEDY}"
    collect_garbage(store, keep=1)
    assert problems(store) == []
    assert effect_of(store, SELECTORS).rows == 3


@pytest.mark.parametrize("find", [first_manifest, first_sample])
def test_damage_to_what_only_an_older_generation_needs(find: Callable[[Store], str]) -> None:
    objects = MemoryStore(uuid4().hex)
    make_store(objects, {"a": Shard("x", 2), "b": Shard("y", 1)})
    store, _ = make_store(objects, {"a": Shard("x", 3), "b": Shard("y", 1)})
    older, latest = find(store), store.require_record().layers["samples"].manifest
    objects.put(older, b"PAR1")
    assert damage(store, older).endswith(f"; {REMEDY}")
    collect_garbage(store, keep=1)
    assert not objects.exists(older)
    objects.put(latest, b"PAR1")
    assert_told(damage(store, latest), "'winnow ingest RECIPE'", "commits")


@pytest.mark.parametrize(
    ("older", "remedy"), [(True, REMEDY), (False, "run 'winnow ingest RECIPE', which makes it again")]
)
def test_lost_quarantined_ranges_whose_record_may_be_forgotten(older: bool, remedy: str) -> None:
    objects = MemoryStore(uuid4().hex)
    store, _ = make_store(objects, {"a": Shard("x", 2)})
    put_tombstone(objects, selectors_of([parse_selector("id", "00" * 16)]).tombstone(""))
    (task,) = store.every_task(store.require_record())
    lost = "quarantine/a.0000000000000000.parquet"
    quoting = replace(task, quarantine=ObjectRecord(lost, 1, 1, ""))
    with pytest.raises(MissingError) as said:
        RewritingContext(store, dry_run=True).clean(CleanTask((quoting,), (older,), {}))
    assert str(said.value) == f"{objects.root}: {lost} is missing; {remedy}"


def damage(store: Store, path: str) -> str:
    """What the check of all files says of one."""
    findings = Findings()
    with HERE.folder("audit") as steps:
        tasks = TaskFolder(steps)
        check = FilesCheck(store, store.require_record(), findings)
        check.plan(tasks)
        tasks.run(HERE, "Checks")
        check.conclude(tasks)
    (line,) = (one for one in findings.problems if f" {path} " in one)
    return line


def problems(store: Store) -> list[str]:
    findings = Findings()
    check_older_generations(store, store.require_record(), findings)
    return findings.problems
