"""Reruns, replays, other worker counts, sinks that fail, disks that fill, sources and recipes that change."""

import gzip
import json
import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from rich.console import Console

from tests.faults.crawl import write_crawl, write_recipe
from tests.faults.winnow import assert_clean, run, run_here, tree_hash
from tests.small_disks import small_disk_at
from winnow.pipelines.binding.bound_recipe import bind
from winnow.pipelines.store import layout
from winnow.pipelines.store.generations import open_store
from winnow.pipelines.store.local import LocalStore
from winnow.runners.engines.engine import Engine
from winnow.runners.stages import store_stages as stages
from winnow.schemas.errors import StageError, WinnowError
from winnow.schemas.recipe import load_recipe

pytestmark = pytest.mark.processes

ONE = Engine("local", 1)


@pytest.fixture
def crawl(tmp_path: Path) -> Path:
    write_crawl(tmp_path, archives=2, pages=20, lines=2_000)
    write_recipe(tmp_path, "main")
    return tmp_path


def ingest(folder: Path, engine: Engine = ONE, recipe: str = "recipe.yaml", *, replace: bool = False) -> str:
    """The tree hash after an in-process run."""
    quiet = Console(file=open(os.devnull, "w"))  # noqa: SIM115  closed with the process
    return stages.run_all(bind(load_recipe(folder / recipe)), engine, quiet, replace=replace).generation.tree_hash


def elsewhere(crawl: Path, tmp_path: Path, name: str) -> Path:
    folder = tmp_path / name
    for part in ("crawl", "lines"):
        shutil.copytree(crawl / part, folder / part)
    write_recipe(folder, "main")
    return folder


@pytest.mark.beam
def test_one_worker_two_workers_replays_and_a_moved_checkout_give_one_tree(crawl: Path, tmp_path: Path) -> None:
    expected = ingest(crawl)
    repeat = Engine("local", 1, ("--direct_runner_bundle_repeat=2",))
    assert ingest(elsewhere(crawl, tmp_path, "repeat"), repeat) == expected
    assert ingest(elsewhere(crawl, tmp_path, "two"), Engine("local", 2)) == expected
    assert ingest(elsewhere(crawl, tmp_path, "portable"), Engine("portable")) == expected
    assert_clean(tmp_path / "two")


def test_a_second_run_does_nothing(crawl: Path) -> None:
    ingest(crawl)
    before = {info.path: info.version for info in LocalStore(crawl / "store").list() if "lease" not in info.path}
    ingest(crawl)
    after = {info.path: info.version for info in LocalStore(crawl / "store").list() if "lease" not in info.path}
    assert after == before


def test_a_layer_made_later_equals_one_made_in_the_same_read(crawl: Path, tmp_path: Path) -> None:
    expected = ingest(crawl)
    late = elsewhere(crawl, tmp_path, "late")
    write_recipe(late, name="without.yaml")
    ingest(late, recipe="without.yaml")
    assert ingest(late) == expected


def test_a_changed_recipe_redoes_only_what_depends_on_it(crawl: Path) -> None:
    ingest(crawl)
    store = open_store(LocalStore(crawl / "store"))
    first = store.require_latest()
    recipe = crawl / "recipe.yaml"
    recipe.write_text(recipe.read_text().replace("main: {}", "main: {max_bytes: 4096}"))
    ingest(crawl)
    second = store.require_latest()
    assert second.layers["samples"] == first.layers["samples"]
    assert second.layers["extract.main"].keys != first.layers["extract.main"].keys
    recipe.write_text(recipe.read_text().replace("class: public", "class: books"))
    ingest(crawl)
    third = store.require_latest()
    assert third.layers["samples"].keys["crawl"] == first.layers["samples"].keys["crawl"]
    assert third.layers["samples"].keys["lines"] != first.layers["samples"].keys["lines"]
    objects = {row.object for row in store.manifest(second, "samples") if row.source == "crawl"}
    assert objects <= {row.object for row in store.manifest(third, "samples")}


def test_rows_do_not_depend_on_where_the_source_lies_or_in_what_order_it_came(crawl: Path, tmp_path: Path) -> None:
    """A store that grew file by file holds the same rows as one that was made at once."""
    ingest(crawl)
    grown = elsewhere(crawl, tmp_path, "grown")
    (grown / "crawl" / "1.warc.gz").rename(grown / "later")
    ingest(grown)
    (grown / "later").rename(grown / "crawl" / "1.warc.gz")
    ingest(grown)
    assert_clean(grown)

    def rows(folder: Path) -> dict[str, str]:
        store = open_store(LocalStore(folder / "store"))
        shards = store.manifest(store.require_latest(), "samples")
        return {
            row["id"].hex(): str(row) for shard in shards for batch in store.batches(shard) for row in batch.to_pylist()
        }

    assert rows(grown) == rows(crawl)


@dataclass(frozen=True)
class FailingStore(LocalStore):
    """A disk on which one put fails, before or after it took effect; afterwards it works."""

    part: str = ""
    after: bool = False
    left: Path = Path()

    def put(self, path: str, content: bytes | Path) -> None:
        self._fail(path, before=True)
        super().put(path, content)
        self._fail(path, before=False)

    def put_if_absent(self, path: str, content: bytes) -> bool:
        self._fail(path, before=True)
        done = super().put_if_absent(path, content)
        self._fail(path, before=False)
        return done

    def _fail(self, path: str, *, before: bool) -> None:
        if path.startswith(self.part) and before != self.after and self.left.exists():
            self.left.unlink()
            raise OSError(5, "Input/output error", path)


AFTER = pytest.param(True, id="after the put", marks=pytest.mark.large)


@pytest.mark.parametrize("after", [pytest.param(False, id="before the put"), AFTER])
@pytest.mark.parametrize(
    "part",
    [
        "samples/",
        pytest.param("layers/", marks=pytest.mark.large),
        pytest.param("quarantine/", marks=pytest.mark.large),
        pytest.param("stats/", marks=pytest.mark.large),
        pytest.param("commits/samples", marks=pytest.mark.beam),  # a worker's error, as Beam's runner reports it
        "layers/text.length",
        pytest.param("commits/layers", marks=pytest.mark.large),
        "commits/sets",
        "manifests/",
        "generations/",
        pytest.param("intake/", marks=pytest.mark.large),
        pytest.param("tasks/", marks=pytest.mark.large),
    ],
)
def test_a_sink_that_fails_once_fails_the_run_and_the_rerun_is_whole(
    crawl: Path, monkeypatch: pytest.MonkeyPatch, part: str, after: bool
) -> None:
    left = crawl / "fail-once"
    left.touch()
    failing = FailingStore(crawl / "store", part, after, left)
    with monkeypatch.context() as patched:
        patched.setattr(stages, "open_location", lambda _: failing)
        with pytest.raises((StageError, OSError), match="Input/output error"):
            ingest(crawl)
    assert not left.exists()
    ingest(crawl)
    assert_clean(crawl)
    assert list((crawl / "store" / ".tmp").iterdir()) == []


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    with small_disk_at(tmp_path / "disk", megabytes=16) as disk:
        yield disk


def test_a_full_disk_is_one_clear_line_and_a_rerun_continues(small_disk: Path, tmp_path: Path) -> None:
    write_crawl(tmp_path / "in", archives=2, pages=20)
    recipe = write_recipe(tmp_path / "in", "main")
    recipe.write_text(recipe.read_text().replace("path: store", f"path: {small_disk}/store"))
    filler = small_disk / "filler"
    filler.write_bytes(b"0" * 16_300_000)
    failed = run(tmp_path / "in", "ingest", "recipe.yaml", "--workers", "1")
    assert failed.status == 1
    assert "No space left on device" in failed.err
    assert failed.err.count("\n") == 1
    assert not (small_disk / "store" / "generations").exists()
    filler.unlink()
    assert run_here(tmp_path / "in", "ingest", "recipe.yaml", "--workers", "1").status == 0
    assert_clean(tmp_path / "in")
    assert list((small_disk / "store" / ".tmp").iterdir()) == []


def test_a_missing_source_is_one_clear_line(crawl: Path) -> None:
    shutil.rmtree(crawl / "crawl")
    failed = run_here(crawl, "ingest", "recipe.yaml")
    assert failed.status == 1
    assert failed.err.startswith("winnow: recipe.yaml:")
    assert "sources.crawl.root: no folder" in failed.err
    assert failed.err.count("\n") == 1
    assert not (crawl / "store" / "generations").exists()


@pytest.mark.beam
def test_a_file_that_goes_between_listing_and_reading_fails_its_task_alone(
    crawl: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def look_then_lose(*arguments: object) -> object:
        plans = look(*arguments)  # type: ignore[arg-type]
        (crawl / "crawl" / "1.warc.gz").rename(crawl / "gone")
        return plans

    look = stages.plan_sources  # type: ignore[attr-defined]  # the driver's own step, under test
    with monkeypatch.context() as patched:
        patched.setattr(stages, "plan_sources", look_then_lose)
        with pytest.raises(WinnowError, match=r"1\.warc\.gz: the file was listed but is now missing"):
            ingest(crawl)
    (crawl / "gone").rename(crawl / "crawl" / "1.warc.gz")
    ingest(crawl)
    assert_clean(crawl)


def test_a_changed_source_is_refused_until_it_is_replaced(crawl: Path) -> None:
    before = ingest(crawl)
    archive = crawl / "crawl" / "1.warc.gz"
    raw = archive.read_bytes()
    archive.write_bytes(raw[: len(raw) // 2])
    with pytest.raises(WinnowError, match=r"1\.warc\.gz changed since it was ingested; run with --replace"):
        ingest(crawl)
    assert tree_hash(crawl) == before
    assert ingest(crawl, replace=True) != before
    assert_clean(crawl)


def test_a_touched_or_copied_source_is_the_same_source(crawl: Path) -> None:
    before = ingest(crawl)
    for path in (crawl / "crawl").iterdir():
        os.utime(path, ns=(1, 1))
    assert ingest(crawl) == before


def test_a_source_changed_in_place_to_the_same_length_is_noticed(crawl: Path) -> None:
    ingest(crawl)
    lines = crawl / "lines" / "a.jsonl"
    raw = bytearray(lines.read_bytes())
    raw[len(raw) // 2] ^= 1
    lines.write_bytes(raw)
    with pytest.raises(WinnowError, match=r"a\.jsonl changed since it was ingested"):
        ingest(crawl)


def test_a_stale_layer_is_never_read(crawl: Path) -> None:
    """The layer of an older configuration stays in the store and no generation with the new one names it."""
    ingest(crawl)
    recipe = crawl / "recipe.yaml"
    recipe.write_text(recipe.read_text().replace("main: {}", "main: {max_bytes: 4096}"))
    ingest(crawl)
    store = open_store(LocalStore(crawl / "store"))
    now = store.require_latest()
    (key,) = set(now.layers["extract.main"].keys.values()) - {now.layers["extract.main"].keys["lines"]}
    rows = [row for row in store.manifest(now, "extract.main") if row.source == "crawl"]
    assert {row.object.split("/")[2] for row in rows} == {key}
    assert len(list((crawl / "store" / "layers" / "extract.main").iterdir())) == 4


def test_a_store_on_object_semantics_gives_the_same_tree(crawl: Path) -> None:
    expected = ingest(crawl)
    recipe = crawl / "recipe.yaml"
    recipe.write_text(recipe.read_text().replace("path: store", f"path: memory://{crawl.name}"))
    assert ingest(crawl) == expected


def test_json_output_is_one_object(crawl: Path) -> None:
    ingest(crawl)
    summary = json.loads(run_here(crawl, "stats", "recipe.yaml", "--json").out)
    assert [source["name"] for source in summary["sources"]] == ["crawl", "lines"]


def test_a_commit_whose_object_is_gone_is_done_again(crawl: Path) -> None:
    """As after a late writer whose object was collected before it put its commit."""
    expected = ingest(crawl)
    store = open_store(LocalStore(crawl / "store"))
    row = store.manifest(store.require_latest(), layout.SAMPLES)[0]
    store.objects.delete(row.object)
    assert ingest(crawl) == expected
    assert_clean(crawl)


def test_a_key_that_repeats_across_the_parts_of_a_file_is_found_whatever_ran_before(crawl: Path) -> None:
    """Ten ids of `lines` stand twice, in different parts: the file is read whole, once and for all."""
    recipe = crawl / "recipe.yaml"
    recipe.write_text(recipe.read_text().replace(", key: id", ""))
    ingest(crawl)
    store = open_store(LocalStore(crawl / "store"))
    lines = [task for task in store.tasks(store.require_latest()) if task.source == "lines"]
    assert len(lines) > 1
    assert sum(task.kept for task in lines) == 2_000
    write_recipe(crawl, "main")
    ingest(crawl)
    (whole,) = [task for task in store.tasks(store.require_latest()) if task.source == "lines"]
    assert whole.quarantined_by_reason == {"duplicate_id": 10}
    assert_clean(crawl)


def test_an_archive_inside_an_archive_does_not_deceive_the_parts(crawl: Path) -> None:
    """A stored .warc.gz in the payload looks like members to a part that begins inside it."""
    inner = (crawl / "crawl" / "0.warc.gz").read_bytes() * 4
    block = b"HTTP/1.1 200 OK\r\nContent-Type: application/gzip\r\n\r\n" + inner
    head = (
        b"WARC/1.0\r\nWARC-Type: response\r\nWARC-Record-ID: <urn:x:outer>\r\n"
        b"WARC-Target-URI: https://a.example/inner.warc.gz\r\nContent-Length: %d\r\n\r\n" % len(block)
    )
    outer = gzip.compress(head + block + b"\r\n\r\n", 0, mtime=0)  # level 0: stored
    (crawl / "crawl" / "2.warc.gz").write_bytes(outer)
    recipe = crawl / "recipe.yaml"
    recipe.write_text(recipe.read_text().replace("task_bytes: 256 KiB", "task_bytes: 16 KiB"))
    ingest(crawl)
    store = open_store(LocalStore(crawl / "store"))
    (task,) = [task for task in store.tasks(store.require_latest()) if task.inputs[0].path == "2.warc.gz"]
    assert (task.records, task.kept) == (1, 1)
    assert_clean(crawl)
