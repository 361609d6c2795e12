"""What happens to a store while a search runs or after one was stopped, and what becomes of the search."""

import io
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from rich.console import Console

from tests.pipelines.dedupe.search import Row, changed, prose, search, write_pages
from winnow.pipelines.binding.bound_recipe import bind
from winnow.pipelines.binding.duplicates import near_settings
from winnow.pipelines.dedupe.covered import CoveredShard, Search, put_shards
from winnow.pipelines.dedupe.groups import TOLD, group_digests, keep_members, send_digests
from winnow.pipelines.dedupe.outcomes import count_buckets
from winnow.pipelines.running.blocks import AddressedBlock
from winnow.pipelines.store import layout
from winnow.pipelines.store.gc import collect_garbage
from winnow.pipelines.store.generations import Store, create_or_open
from winnow.pipelines.store.hiding.looks import put_tombstone
from winnow.pipelines.store.lease import Lease, this_process
from winnow.pipelines.store.memory import MemoryStore
from winnow.pipelines.store.state import StoreState
from winnow.runners.engines.backend import Build
from winnow.runners.engines.engine import Engine
from winnow.runners.stages.deduplication import find_duplicates, report_large_buckets
from winnow.runners.stages.stage_run import StageRun
from winnow.runners.stages.store_stages import Outcome, dedupe
from winnow.schemas.errors import StageError
from winnow.schemas.recipe import NearConfig, load_recipe
from winnow.schemas.records import StoreRecord, to_json
from winnow.schemas.tombstones import Selectors

OTHERS = "scratch/dedupe/another/near/members/00000000.arrow"


@dataclass(frozen=True, slots=True)
class Interrupted(Engine):
    """Something happens before its second pipeline: when rows are compared, and layers are not yet written."""

    event: Callable[[], object] = field(default=bool)
    runs: list[Build] = field(default_factory=list)

    def run(self, build: Build, marks: Path | None = None, *, stage: str = "pipeline") -> None:
        self.runs.append(build)
        if len(self.runs) == 2:
            self.event()
        Engine.run(self, build, marks, stage=stage)


def copies() -> list[Row]:
    """A text four times, one that is like it, and one alone."""
    rows: list[Row] = [{"id": str(copy), "text": " ".join(prose(1))} for copy in range(4)]
    rows.append({"id": "like", "text": " ".join(changed(prose(1), 0.004, 1))})
    return [*rows, {"id": "alone", "text": " ".join(prose(2))}]


def ids(store: Store) -> list[bytes]:
    """Of the first text's copies, ascending."""
    manifest = store.manifest(store.require_latest(), "samples")
    rows = [row for one in manifest for batch in store.batches(one) for row in batch.to_pylist()]
    return sorted(row["id"] for row in rows if row["text"] == " ".join(prose(1)))


def forget(store: Store, identity: bytes) -> None:
    put_tombstone(store.objects, Selectors(id=frozenset([identity])).tombstone("asked for"))


def forget_search(store: Store) -> None:
    """As if no search had ever been finished."""
    for prefix in ("commits/dedupe.", "layers/dedupe."):
        for info in list(store.objects.list(prefix)):
            store.objects.delete(info.path)


def again(folder: Path, event: Callable[[], object]) -> Outcome:
    """The search that was forgotten, once more."""
    return dedupe(bind(load_recipe(folder / "recipe.yaml")), Interrupted("local", 1, event=event), Console(quiet=True))


def near_objects(outcome: Outcome) -> list[str]:
    return [row.object for row in outcome.store.manifest(outcome.generation, "dedupe.near")]


def test_a_row_forgotten_while_a_search_runs_stays_in_layers_whose_key_does_not_name_it(tmp_path: Path) -> None:
    write_pages(tmp_path, {"a": copies()})
    first = search(tmp_path)
    row = ids(first.store)[0]
    forget_search(first.store)
    assert near_objects(again(tmp_path, lambda: forget(first.store, row))) == near_objects(first)
    last = dedupe(bind(load_recipe(tmp_path / "recipe.yaml")), Engine("local", 1), Console(quiet=True))
    assert near_objects(last) != near_objects(first)  # its key names it: it is searched again


def searched(outcome: Outcome) -> Search:
    """A search for equal texts over what a store holds."""
    store, layer = outcome.store, "text.digest"
    shards = [
        CoveredShard(row.shard, row.source, row.rows, {"samples": row.samples, layer: row.object})
        for row in store.manifest(outcome.generation, layer)
    ]
    return Search(store, put_shards(store.objects, shards), "scratch/dedupe/test", {"exact": layer})


def batches(blocks: Iterable[AddressedBlock]) -> list[pa.RecordBatch]:
    return [block.batch for block in blocks]


def test_the_steps_of_a_search_agree_on_what_is_forgotten(tmp_path: Path) -> None:
    write_pages(tmp_path, {"a": copies()})
    made = searched(search(tmp_path, "{exact: {}}"))
    sent = batches(send_digests(made, "exact", 0, 1))
    least, second, *_ = ids(made.store)
    forget(made.store, least)
    told = batches(group_digests(made, "exact", 0, sent))
    ((shard, members),) = keep_members(made, "exact", 0, told)
    assert (shard, members["size"].to_pylist()) == (0, [4] * 4)
    assert sorted(members["matched"].to_pylist()) == [least, least, least, second]


@pytest.mark.parametrize("wrong", ["row", "here"])
def test_what_is_told_of_rows_that_a_shard_has_not_is_refused(tmp_path: Path, wrong: str) -> None:
    write_pages(tmp_path, {"a": copies()})
    made = searched(search(tmp_path, "{exact: {}}"))
    (told,) = batches(group_digests(made, "exact", 0, batches(send_digests(made, "exact", 0, 1))))
    columns = [pc.add(told[name], 1) if name == wrong else told[name] for name in TOLD.names]
    with pytest.raises(StageError, match=r"dedupe: shard .* changed while it was searched; run the same command again"):
        list(keep_members(made, "exact", 0, [pa.RecordBatch.from_arrays(columns, schema=TOLD)]))


def test_what_a_stopped_search_left_goes_with_the_next_one_even_if_nothing_is_lacking_and_with_garbage(
    tmp_path: Path,
) -> None:
    write_pages(tmp_path, {"a": copies()})
    outcome = search(tmp_path)
    objects = outcome.store.objects
    objects.put(OTHERS, b"of a search that was stopped")
    assert not search(tmp_path).new
    assert not list(objects.list("scratch/"))
    objects.put(OTHERS, b"of a search that was stopped")
    with Lease(objects):
        assert collect_garbage(outcome.store, dry_run=True).bytes >= len(b"of a search that was stopped")
        assert objects.exists(OTHERS)
        collect_garbage(outcome.store)
    assert not list(objects.list("scratch/"))


@pytest.mark.parametrize("lacking", [True, False], ids=["compares", "has nothing to compare"])
def test_a_search_whose_store_was_taken_over_drops_nothing_of_the_other_ones(tmp_path: Path, lacking: bool) -> None:
    write_pages(tmp_path, {"a": copies()})
    outcome = search(tmp_path)
    objects = outcome.store.objects

    def taken_over() -> None:
        lease = max(info.path for info in objects.list(layout.LEASES) if info.path.endswith(".json"))
        number = int(lease.removeprefix(layout.LEASES).removesuffix(".json")) + 1
        objects.put(f"{layout.LEASES}{number:08d}.json", to_json(replace(this_process(), process=1, started="1")))
        objects.put(OTHERS, b"of a search that runs")
        objects.put("verdicts/of-another/shard.0.arrow", b"of a search that runs")

    if lacking:
        forget_search(outcome.store)
        with pytest.raises(StageError, match=r"process 1 on .* took over this store while this process was suspended"):
            again(tmp_path, taken_over)
    else:
        taken_over()
        run = StageRun(Console(quiet=True), Engine("local", 1), outcome.store)
        with pytest.raises(StageError, match="took over this store"):
            find_duplicates(run, bind(load_recipe(tmp_path / "recipe.yaml")), StoreState([], {}))
    assert objects.exists(OTHERS)
    assert objects.exists("verdicts/of-another/shard.0.arrow")


@pytest.fixture
def made() -> Search:
    """A search of nothing."""
    objects = MemoryStore("interrupted")
    store = create_or_open(objects, StoreRecord("test", 7, 1024, 1 << 20, 1024, 1 << 20, 1 << 20))
    return Search(
        store, put_shards(objects, []), "scratch/dedupe/test", {}, near=near_settings(NearConfig(max_bucket=1000))
    )


def test_large_buckets_are_counted_and_it_is_said_that_counting_is_all(made: Search) -> None:
    made.store.objects.put(
        f"{made.scratch}/near/buckets/00000000.json", b'{"buckets": 5, "hot_buckets": 1, "hot_rows": 1200}'
    )
    assert count_buckets(made).hot_rows == 1200
    shown = io.StringIO()
    report_large_buckets(Console(file=shown), made)
    assert shown.getvalue() == (
        "dedupe  1 of 5 buckets hold more than 1,000 rows (1,200 in total); max_bucket only counts them; in buckets "
        "of more than "
        "32 rows, each row is compared only with its neighbours\n"
    )


def test_one_shard_more_than_is_said_to_be_the_most_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("winnow.pipelines.dedupe.covered.SHARD_BITS", 2)
    one = CoveredShard("one", "pages", 1, {})
    assert put_shards(MemoryStore("few shards"), [one] * 3)
    with pytest.raises(StageError, match=r"^dedupe: 4 shards; at most 3 can be searched at once$"):
        put_shards(MemoryStore("many shards"), [one] * 4)
