"""A writer that dies between any two writes of a publication: readers have the old generation or the new one.

Run again, it publishes what an undisturbed one does. Whole commands are killed so in `tests/faults/test_writes.py`.
"""

import itertools
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.pipelines.store.publishing import publish_commits
from tests.pipelines.store.test_generations import RECORD, layer_of, made
from winnow.pipelines.store import layout
from winnow.pipelines.store.gc import collect_garbage
from winnow.pipelines.store.generations import Store, create_or_open, open_store
from winnow.pipelines.store.lost_manifests import rewrite_lost_manifests
from winnow.pipelines.store.memory import MemoryStore
from winnow.pipelines.store.store_index import StoreIndex
from winnow.pipelines.store.tables import check_table
from winnow.schemas.records import GenerationRecord


class Died(BaseException):
    """The end of a process."""


@dataclass(frozen=True)
class Mortal(MemoryStore):
    """The objects of a store whose writer dies before one of its writes, and writes nothing afterwards."""

    writes: "list[str]" = field(default_factory=list)
    last: int | None = None  # how many writes it lives for

    def put(self, path: str, content: bytes | Path) -> None:
        self._live(path)
        super().put(path, content)

    def put_if_absent(self, path: str, content: bytes) -> bool:
        self._live(path)
        return super().put_if_absent(path, content)

    def delete(self, path: str) -> None:
        self._live(path)
        super().delete(path)

    def _live(self, path: str) -> None:
        if self.last is not None and len(self.writes) >= self.last:
            raise Died(path)
        self.writes.append(path)


def before(store: Store) -> None:
    """A store of two recipes; the first has read one of two tasks, and does not list a layer any more."""
    one = made(store, "crawl-a-00000", [1, 2])
    publish_commits(store, [one], {"extract.main": [layer_of(store, one, [5, 6], "x")]}, "first.yaml")
    publish_commits(store, [one], {"extract.main": [layer_of(store, one, [7, 8], "y")]}, "second.yaml")


def grow(store: Store) -> None:
    """The first recipe reads a second task."""
    tasks = [made(store, f"crawl-{name}-00000", rows) for name, rows in (("a", [1, 2]), ("b", [3]))]
    layers = [layer_of(store, task, values, "x") for task, values in zip(tasks, ([5, 6], [9]), strict=True)]
    publish_commits(store, tasks, {"extract.main": layers}, "first.yaml")


def replace_samples(store: Store) -> None:
    """The first recipe reads other rows, so what both made of the old ones goes."""
    task = made(store, "crawl-c-00000", [4])
    publish_commits(store, [task], {"extract.main": [layer_of(store, task, [5], "x")]}, "first.yaml")


def collect(store: Store) -> None:
    collect_garbage(store, keep=1)


def readable(store: Store) -> GenerationRecord:
    """The latest generation, of which every object is there."""
    record = store.require_record()
    for layer, entry in record.layers.items():
        for row in store.every_row(record, layer):
            check_table(store.objects, row.object)
            assert store.objects.exists(row.statistics)
        assert sum(one.shards for one in entry.keys.values()) == len(store.every_row(record, layer))
    assert {(task.key, task.task) for task in store.every_task(record)} >= {
        (row.key, row.task) for row in store.every_row(record, layout.SAMPLES)
    }
    return record


@pytest.mark.parametrize("publish", [grow, replace_samples, collect])
def test_a_publication_that_is_killed_between_two_writes_is_finished_by_the_next(
    publish: Callable[[Store], None], request: pytest.FixtureRequest
) -> None:
    def one_that_lives_for(writes: int | None) -> tuple[Store, GenerationRecord]:
        name = f"{request.node.name} {writes}"
        whole = create_or_open(MemoryStore(name), RECORD)
        before(whole)
        return Store(Mortal(name, last=writes, owner=whole.record.identity), whole.record), whole.require_record()

    undisturbed, old = one_that_lives_for(None)
    publish(undisturbed)
    expected = readable(undisturbed)
    for writes in itertools.count():
        store, _ = one_that_lives_for(writes)
        whole = open_store(MemoryStore(f"{request.node.name} {writes}"))
        try:
            publish(store)
        except Died:
            assert readable(whole) in (old, expected)
            publish(whole)
            assert readable(whole) == expected
        else:
            break
    assert writes > 2


def test_lost_manifests_are_written_again_whichever_write_is_the_last(request: pytest.FixtureRequest) -> None:
    for writes in itertools.count():
        name = f"{request.node.name} {writes}"
        whole = create_or_open(MemoryStore(name), RECORD)
        before(whole)
        expected = readable(whole)
        for info in list(whole.objects.list(layout.MANIFESTS)):
            whole.objects.delete(info.path)
        try:
            rewrite_lost_manifests(Store(Mortal(name, last=writes, owner=whole.record.identity), whole.record))
        except Died:
            rewrite_lost_manifests(whole)
            assert readable(whole) == expected
        else:
            break
    assert writes == 3  # the tasks, the samples and the layer


def test_a_command_that_lost_its_number_to_another_adds_to_what_that_one_published(
    request: pytest.FixtureRequest,
) -> None:
    store = create_or_open(MemoryStore(request.node.name), RECORD)
    before(store)
    held = StoreIndex.of(store)
    held.all_tasks()
    grow(store)
    task = made(store, "crawl-a-00000", [1, 2])
    publish_commits(store, [task], {"extract.main": [layer_of(store, task, [0, 0], "z")]}, "third.yaml", held)
    record = readable(store)
    assert record == held.record
    assert record.number == 4
    assert sorted(record.layers["extract.main"].keys) == ["x", "y", "z"]
