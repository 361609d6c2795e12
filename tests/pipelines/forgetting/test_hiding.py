"""Hiding never waits: objects that no stored scan covers are scanned when needed, and stored scans stay valid."""

from uuid import uuid4

import pytest

from tests.messages import assert_refused
from tests.pipelines.rules.stores import Shard, make_store
from winnow.pipelines.forgetting.effects import effect_of
from winnow.pipelines.forgetting.outputs import affected, register
from winnow.pipelines.forgetting.requests import parse_selector, selectors_of
from winnow.pipelines.forgetting.scanning import NO_IDS, scan_store
from winnow.pipelines.store import layout
from winnow.pipelines.store.hiding.hidden_rows import hidden_rows
from winnow.pipelines.store.hiding.scans import load_hiding, load_tombstones, put_tombstone
from winnow.pipelines.store.integrity.damage import DamagedError, MissingError
from winnow.pipelines.store.memory import MemoryStore
from winnow.schemas.errors import StoreError
from winnow.schemas.identity import content_name


@pytest.fixture
def objects() -> MemoryStore:
    return MemoryStore(uuid4().hex)


def hide(objects: MemoryStore, *domains: str, reason: str = "") -> tuple[str, bool]:
    return put_tombstone(objects, selectors_of(parse_selector("domain", name) for name in domains).tombstone(reason))


def test_a_look_says_what_a_look_at_the_rows_says(objects: MemoryStore) -> None:
    store, generation = make_store(objects, {"a": Shard("x", 5), "b": Shard("x", 3), "c": Shard("y", 2)})
    assert hidden_rows(store, generation) == {}
    name, new = hide(objects, "b.example", "c.example")
    assert new
    assert hide(objects, "c.example", "b.example") == (name, False), "one tombstone, whatever the order"
    for _ in range(2):
        found = hidden_rows(store, generation)
        assert {shard: rows.rows.tolist() for shard, rows in found.items()} == {"b": [0, 1, 2], "c": [0, 1]}
        assert {shard: rows.pending.tolist() for shard, rows in found.items()} == {"b": [0, 1, 2], "c": [0, 1]}
        scan_store(store, store.require_record())
    scans = [info.path for info in objects.list(layout.HIDDEN)]
    assert len(scans) == 1, "what is covered is not scanned again"
    hide(objects, "a.example")
    assert set(hidden_rows(store, generation)) == {"a", "b", "c"}


def test_what_rows_say_of_themselves_is_enough_without_a_look(objects: MemoryStore) -> None:
    """A stored scan saves time and nothing else: a store without scans hides the same."""
    store, generation = make_store(objects, {"a": Shard("x", 2), "b": Shard("x", 1)})
    hide(objects, "a.example")
    scan_store(store, store.require_record())
    for info in list(objects.list(layout.HIDDEN)):
        objects.delete(info.path)
    assert set(hidden_rows(store, generation)) == {"a"}
    read = [batch for row in store.manifest(generation, "samples") for batch in store.batches(row, ["url"])]
    assert [batch["url"].to_pylist() for batch in read] == [[None, None], ["https://b.example/0"]]


def test_a_lost_tombstone_is_noticed_by_whoever_reads_rows(objects: MemoryStore) -> None:
    store, generation = make_store(objects, {"a": Shard("x", 2), "b": Shard("x", 1)})
    names = [hide(objects, domain)[0] for domain in ("a.example", "b.example")]
    scan_store(store, store.require_record())
    for count, name in enumerate(names, 1):
        objects.delete(layout.tombstone(name))
        said = rf"tombstones/{min(names[:count])}\.json is missing; run 'winnow forget' again with the same request$"
        with pytest.raises(MissingError, match=said):
            [batch for row in store.manifest(generation, "samples") for batch in store.batches(row, ["url"])]
    for domain in ("a.example", "b.example"):
        hide(objects, domain)
    assert set(hidden_rows(store, generation)) == {"a", "b"}


def test_the_effect_of_selectors_before_they_are_recorded(objects: MemoryStore) -> None:
    store, _ = make_store(objects, {"a": Shard("x", 2)})
    make_store(objects, {"a": Shard("x", 2), "b": Shard("y", 1)})
    effect = effect_of(
        store, selectors_of([parse_selector("domain", "b.example"), parse_selector("url", "http://a.example/1")])
    )
    assert (effect.rows, effect.sources, effect.generations) == (2, {"x": 1, "y": 1}, (1, 2))
    assert not load_hiding(objects)


def test_outputs_are_listed_while_they_are_there(objects: MemoryStore) -> None:
    assert register(objects, "export", "s3://bucket/mixture", 3)
    assert register(objects, "report", "/nowhere/report.html", 3)
    assert [one.output.path for one in affected(objects, NO_IDS)] == ["s3://bucket/mixture"]


def test_a_damaged_tombstone_is_named(objects: MemoryStore) -> None:
    path = layout.tombstone(hide(objects, "a.example")[0])
    objects.put(path, objects.read(path).replace(b'"version":1', b'"version":3'))
    with assert_refused(DamagedError, f"{path} is damaged"):
        load_tombstones(objects)


def test_a_tombstone_of_another_version_is_named(objects: MemoryStore) -> None:
    objects.put(layout.tombstone(content_name(b"{}")), b"{}")
    with pytest.raises(StoreError, match=r"memory://.*/tombstones/.*\.json: not a Tombstone"):
        load_tombstones(objects)
