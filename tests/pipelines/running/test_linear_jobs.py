"""Every step of a job, relays included, is within the progress, and its errors name the machine."""

import json
from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import apache_beam as beam
import numpy as np
import pyarrow as pa
import pytest

from tests.inline_engine import InlineRunner
from winnow.pipelines.assets.node_files import OPTION, Node, this_node
from winnow.pipelines.running.blocks import AddressedBlock
from winnow.pipelines.running.exchange import Route, addressed_blocks
from winnow.pipelines.running.job_steps import Batches, JobSteps
from winnow.pipelines.running.linear_jobs import ExchangeStep, LinearJob, StoreStep
from winnow.pipelines.running.on_node import host_name
from winnow.pipelines.running.step_progress import steps_done
from winnow.pipelines.store.memory import MemoryStore
from winnow.schemas.errors import StageError

TASKS, PARTITIONS = 3, 7
ROUTE = Route(TASKS, PARTITIONS, most_straight=1)


def numbers(_: int) -> pa.RecordBatch:
    return pa.RecordBatch.from_pydict({"n": np.arange(PARTITIONS)})


def send(task: int, wrong: str = "") -> Iterator[AddressedBlock]:
    """A row for each partition."""
    if wrong == "task":
        raise StageError("the disk is gone")
    everyone = [(numbers(task), np.arange(PARTITIONS))]
    if wrong == "relay":  # rows that say nothing of their partition
        yield from addressed_blocks(f"place-{task:08d}", everyone, PARTITIONS)
    else:
        yield from ROUTE.send(task, everyone)


def pass_on(partition: int, batches: Batches, wrong: str = "") -> Iterator[AddressedBlock]:
    for batch in batches:
        assert batch["n"].to_pylist() == [partition]
    if wrong == "consumer":
        raise StageError("the disk is gone")
    yield AddressedBlock(partition, f"p{partition}", 0, numbers(partition))


def store(partition: int, batches: Batches) -> Iterator[int]:
    assert len(list(batches)) == 1
    yield partition


def job(steps: JobSteps, wrong: str = "") -> LinearJob:
    between = ExchangeStep("Between", PARTITIONS, partial(pass_on, wrong=wrong), ROUTE)
    last = StoreStep("Last", PARTITIONS, store)
    return LinearJob(steps, "Send", TASKS, partial(send, wrong=wrong), (between,), last)


def run(built: LinearJob) -> None:
    with beam.Pipeline(runner=InlineRunner()) as pipeline:
        built.build(pipeline)


def test_all_parts_of_a_job_are_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("winnow.pipelines.running.step_progress.heartbeat_seconds", lambda _: 0)
    steps = JobSteps(MemoryStore("parts"), "parts")
    built = job(steps)
    run(built)
    assert list(built.parts) == ["Send", "Relays.Between", "Between", "Last"]
    assert dict(steps_done(steps.objects, steps.scratch)) == built.parts
    straight = replace(built.between[0], route=Route(TASKS, PARTITIONS))
    assert list(replace(built, between=(straight,)).parts) == ["Send", "Between", "Last"]


@pytest.mark.parametrize("wrong", ["task", "relay", "consumer"])
def test_an_error_of_any_step_names_the_machine(monkeypatch: pytest.MonkeyPatch, wrong: str) -> None:
    monkeypatch.setenv("PIPELINE_OPTIONS", json.dumps({f"beam:option:{OPTION}:v1": Node("store").to_option()}))
    this_node.cache_clear()
    try:
        with pytest.raises(Exception, match=f"{host_name()}: ") as found:
            run(job(JobSteps(MemoryStore(wrong), "errors"), wrong))
        assert str(found.value).count(host_name()) == 1
    finally:
        this_node.cache_clear()
