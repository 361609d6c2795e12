"""Changes to a store during a search, and searches that were stopped."""

import io
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from rich.console import Console

from tests.messages import assert_refused, assert_told
from tests.pipelines.dedupe.search import Row, changed, prose, search, write_pages
from tests.pipelines.store.commits import commits_of
from winnow.filters.duplicates.kind import AskedKind, find_kind
from winnow.filters.duplicates.kinds.exact import ExactConfig
from winnow.filters.duplicates.kinds.near import NearConfig, near_settings
from winnow.pipelines.binding.bound_recipe import bind
from winnow.pipelines.dedupe.groups import GROUP_SUMMARIES, group_digests, put_members, send_digests
from winnow.pipelines.dedupe.search import CoveredShard, Search, put_shards
from winnow.pipelines.running.blocks import AddressedBlock
from winnow.pipelines.store import layout
from winnow.pipelines.store.gc import collect_garbage
from winnow.pipelines.store.generations import Store, create_or_open
from winnow.pipelines.store.hiding.scans import put_tombstone
from winnow.pipelines.store.leases.lease import Lease, this_process
from winnow.pipelines.store.manifests.tasks import TaskCommits
from winnow.pipelines.store.memory import MemoryStore
from winnow.pipelines.store.state import StoreState
from winnow.pipelines.store.store_index import StoreIndex
from winnow.runners.engines.backend import Build
from winnow.runners.engines.engine import Engine
from winnow.runners.stages.deduplication import HERE_VARIABLE, find_duplicates, report
from winnow.runners.stages.publishing import Outcome
from winnow.runners.stages.running.stage_run import StageRun
from winnow.runners.stages.store_stages import dedupe
from winnow.schemas.errors import StageError
from winnow.schemas.recipe import load_recipe
from winnow.schemas.records import StoreRecord, to_json
from winnow.schemas.tombstones import Selectors

OTHER_SEARCH = "scratch/dedupe/another/near/members/00000000.arrow"


@dataclass(frozen=True, slots=True)
class Interrupted(Engine):
    """An engine that calls `event` before the second pipeline: rows are compared, layers not yet written."""

    event: Callable[[], object] = field(default=bool)
    runs: list[Build] = field(default_factory=list)

    def run(
        self, build: Build, marks: Path | None = None, *, stage: str = "pipeline", tasks: int | None = None
    ) -> None:
        self.runs.append(build)
        if len(self.runs) == 2:
            self.event()
        Engine.run(self, build, marks, stage=stage, tasks=tasks)


def copies() -> list[Row]:
    """Four copies of a text, a similar one, and one without a match."""
    rows: list[Row] = [{"id": str(copy), "text": " ".join(prose(1))} for copy in range(4)]
    rows.append({"id": "like", "text": " ".join(changed(prose(1), 0.004, 1))})
    return [*rows, {"id": "alone", "text": " ".join(prose(2))}]


def ids(store: Store) -> list[bytes]:
    """Return the ids of the first text's copies, ascending."""
    manifest = store.manifest(store.require_latest(), "samples")
    rows = [row for one in manifest for batch in store.batches(one) for row in batch.to_pylist()]
    return sorted(row["id"] for row in rows if row["text"] == " ".join(prose(1)))


def forget(store: Store, identity: bytes) -> None:
    put_tombstone(store.objects, Selectors(id=frozenset([identity])).tombstone("asked for"))


def delete_layers(store: Store) -> None:
    """Delete the layers of all finished searches."""
    for path in [info.path for info in store.objects.list("layers/dedupe.")] + commits_of(store.objects, "dedupe.near"):
        store.objects.delete(path)


def search_again(folder: Path, event: Callable[[], object]) -> Outcome:
    """Repeat the search on the engine, with an event between its pipelines."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(HERE_VARIABLE, "0")
        recipe = bind(load_recipe(folder / "recipe.yaml"))
        return dedupe(recipe, Interrupted("local", 1, event=event), Console(quiet=True))


def near_objects(outcome: Outcome) -> list[str]:
    return [row.object for row in outcome.store.manifest(outcome.generation, "dedupe.near")]


def test_a_row_forgotten_during_a_search_stays_in_its_layers_until_the_next_search(tmp_path: Path) -> None:
    write_pages(tmp_path, {"a": copies()})
    first = search(tmp_path)
    row = ids(first.store)[0]
    delete_layers(first.store)
    assert near_objects(search_again(tmp_path, lambda: forget(first.store, row))) == near_objects(first)
    last = dedupe(bind(load_recipe(tmp_path / "recipe.yaml")), Engine("local", 1), Console(quiet=True))
    assert near_objects(last) != near_objects(first)  # the key includes the tombstone, so the search runs again


def exact_search(outcome: Outcome) -> Search:
    """Return a search for equal texts over a store."""
    store, layer = outcome.store, "text.digest"
    shards = [
        CoveredShard(row.shard, row.source, row.rows, {"samples": row.samples, layer: row.object})
        for row in store.manifest(outcome.generation, layer)
    ]
    kinds = {"exact": AskedKind(find_kind("exact"), ExactConfig())}
    return Search(store, put_shards(store.objects, shards), "scratch/dedupe/test", kinds)


def batches(blocks: Iterable[AddressedBlock]) -> list[pa.RecordBatch]:
    return [block.batch for block in blocks]


def test_all_steps_of_a_search_see_the_same_forgotten_rows(tmp_path: Path) -> None:
    write_pages(tmp_path, {"a": copies()})
    searching = exact_search(search(tmp_path, "{exact: {}}"))
    sent = batches(send_digests(0, searching, "exact", 1))
    least, second, *_ = ids(searching.store)
    forget(searching.store, least)
    summaries = batches(group_digests(searching, "exact", 0, sent))
    ((shard, members),) = put_members(searching, "exact", 0, summaries)
    assert (shard, members["size"].to_pylist()) == (0, [4] * 4)
    assert sorted(members["matched"].to_pylist()) == [least, least, least, second]


@pytest.mark.parametrize("wrong", ["node", "here"])
def test_summaries_of_rows_that_a_shard_does_not_have_are_refused(tmp_path: Path, wrong: str) -> None:
    write_pages(tmp_path, {"a": copies()})
    searching = exact_search(search(tmp_path, "{exact: {}}"))
    (summaries,) = batches(group_digests(searching, "exact", 0, batches(send_digests(0, searching, "exact", 1))))
    columns = [pc.add(summaries[name], 1) if name == wrong else summaries[name] for name in GROUP_SUMMARIES.names]
    with assert_refused(StageError, "dedupe:", "changed while"):
        list(put_members(searching, "exact", 0, [pa.RecordBatch.from_arrays(columns, schema=GROUP_SUMMARIES)]))


def test_the_next_search_and_gc_delete_the_scratch_files_of_a_stopped_search(
    tmp_path: Path,
) -> None:
    write_pages(tmp_path, {"a": copies()})
    outcome = search(tmp_path)
    objects = outcome.store.objects
    objects.put(OTHER_SEARCH, b"of a search that was stopped")
    assert not search(tmp_path).new
    assert not list(objects.list("scratch/"))
    objects.put(OTHER_SEARCH, b"of a search that was stopped")
    with Lease(objects):
        assert collect_garbage(outcome.store, dry_run=True).bytes >= len(b"of a search that was stopped")
        assert objects.exists(OTHER_SEARCH)
        collect_garbage(outcome.store)
    assert not list(objects.list("scratch/"))


@pytest.mark.parametrize("missing", [True, False], ids=["compares", "has nothing to compare"])
def test_a_search_that_lost_its_lease_deletes_no_files_of_other_searches(tmp_path: Path, missing: bool) -> None:
    write_pages(tmp_path, {"a": copies()})
    outcome = search(tmp_path)
    objects = outcome.store.objects

    def taken_over() -> None:
        lease = max(info.path for info in objects.list(layout.LEASES) if info.path.endswith(".json"))
        number = int(lease.removeprefix(layout.LEASES).removesuffix(".json")) + 1
        objects.put(f"{layout.LEASES}{number:08d}.json", to_json(replace(this_process(), process=1, started="1")))
        objects.put(OTHER_SEARCH, b"of a search that runs")
        objects.put("verdicts/of-another/shard.0.arrow", b"of a search that runs")

    if missing:
        delete_layers(outcome.store)
        with assert_refused(StageError, "process 1", "over while"):
            search_again(tmp_path, taken_over)
    else:
        taken_over()
        run = StageRun(Console(quiet=True), Engine("local", 1), outcome.store)
        with pytest.raises(StageError, match="took over"):
            find_duplicates(
                run,
                bind(load_recipe(tmp_path / "recipe.yaml")),
                StoreState.of(StoreIndex.of(outcome.store), TaskCommits.of(()), {}),
            )
    assert objects.exists(OTHER_SEARCH)
    assert objects.exists("verdicts/of-another/shard.0.arrow")


@pytest.fixture
def searching() -> Search:
    """A search over no shards."""
    objects = MemoryStore("interrupted")
    store = create_or_open(objects, StoreRecord("test", 7, 1024, 1 << 20, 1024, 1 << 20, 1 << 20))
    asked = AskedKind(find_kind("near"), near_settings(NearConfig(max_bucket=1000)))
    return Search(store, put_shards(objects, []), "scratch/dedupe/test", {"near": asked})


def test_large_buckets_are_counted_and_the_message_explains_it(searching: Search) -> None:
    searching.count("near", {"buckets": 3, "hot_buckets": 0, "hot_rows": 0}, "bands-00000000")
    searching.count("near", {"buckets": 2, "hot_buckets": 1, "hot_rows": 1200}, "bands-00000001")
    assert searching.counted("near")["hot_rows"] == 1200
    shown = io.StringIO()
    report(Console(markup=False, soft_wrap=True, file=shown), searching)
    assert_told(shown.getvalue(), "1 of 5", "1,000 rows", "(1,200", "max_bucket", "32 rows", whole=True)


def test_too_many_shards_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("winnow.pipelines.dedupe.search.SHARD_BITS", 2)
    one = CoveredShard("one", "pages", 1, {})
    assert put_shards(MemoryStore("few shards"), [one] * 3)
    with assert_refused(StageError, "dedupe:", "3 shards"):
        put_shards(MemoryStore("many shards"), [one] * 4)
