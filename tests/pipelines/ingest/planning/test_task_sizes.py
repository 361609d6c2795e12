"""Shards of the promised size, whatever the files of a source look like: at a 32,768th of the usual size."""

import gzip
import hashlib
import json
import os
import random
from collections.abc import Callable, Iterator
from math import ceil
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from tests.pipelines.ingest.made_archives import Capture, warc_record
from winnow.pipelines.audit import audit_generation
from winnow.pipelines.binding.bound_recipe import bind
from winnow.pipelines.binding.sources import bind_source, store_record
from winnow.pipelines.ingest.planning.stage import SourcePlan, plan_sources
from winnow.pipelines.ingest.planning.task_sizes import FILES_PER_TASK, ByAmount, ByShards, SizedFile, TaskSizer, pack
from winnow.pipelines.running.ledger.intake import plan_intake
from winnow.pipelines.running.ledger.listings import ListedFiles, Listing
from winnow.pipelines.store.facade import ObjectInfo
from winnow.pipelines.store.generations import Store, create_or_open
from winnow.pipelines.store.memory import MemoryStore
from winnow.runners.engines.engine import Engine
from winnow.runners.stages import store_stages as stages
from winnow.schemas.errors import SourceError
from winnow.schemas.recipe import load_recipe
from winnow.schemas.records import FilePart, Generation

pytestmark = pytest.mark.processes

SHARD = 8 << 10
FULL = 1000  # bytes that fill a shard, where nothing is read
RECIPE = """
version: 1
store: {path: store, shard_bytes: 8 KiB%s}
sources: {crawl: {root: crawl, files: ["**"], class: web}}
"""


def text(number: int) -> str:
    """About 400 bytes that compress as prose does."""
    words = hashlib.blake2b(str(number).encode(), digest_size=60).digest()
    return f"{number} " + " ".join(f"word{byte}" for byte in words)


def lines(first: int, count: int) -> bytes:
    return b"".join(json.dumps({"text": text(number)}).encode() + b"\n" for number in range(first, first + count))


def pages(first: int, count: int) -> Iterator[bytes]:
    """Members of a WARC: pages with five times as much markup as text."""
    for number in range(first, first + count):
        links = "".join(f"<li><a href='/{number}/{link * 7919}' class='item-{link}'></a></li>" for link in range(40))
        html = f"<html><body><script>{links}</script><ul>{links}</ul><p>{text(number)}</p></body></html>"
        record = warc_record(Capture(f"https://site.example/{number}", html.encode()), number)
        yield gzip.compress(record, 6, mtime=0)


def many_archives(folder: Path) -> None:
    for number in range(60):
        (folder / f"{number:03d}.warc.gz").write_bytes(b"".join(pages(15 * number, 15)))


def one_archive(folder: Path) -> None:
    (folder / "a.warc.gz").write_bytes(b"".join(pages(0, 800)))


def gzip_members(folder: Path) -> None:
    (folder / "a.jsonl.gz").write_bytes(b"".join(gzip.compress(lines(at, 10), mtime=0) for at in range(0, 1000, 10)))


def zstd_frames(folder: Path) -> None:
    """Frames that begin inside lines, as parallel compressors write them."""
    whole = lines(0, 1000)
    frames = (zstandard.compress(whole[at : at + 4_999]) for at in range(0, len(whole), 4_999))
    (folder / "a.jsonl.zst").write_bytes(b"".join(frames))


def plain_lines(folder: Path) -> None:
    for number in range(3):
        (folder / f"{number}.jsonl").write_bytes(lines(1000 * number, 300))


def tables(folder: Path) -> None:
    for number in range(10):
        texts = pa.table({"text": [text(100 * number + row) for row in range(100)]})
        pq.write_table(texts, folder / f"{number}.parquet", row_group_size=10, compression="zstd")


def documents(folder: Path) -> None:
    for number in range(800):
        (folder / f"{number:04d}.txt").write_text(text(number))


SOURCES: list[Callable[[Path], None]] = [
    many_archives,
    one_archive,
    gzip_members,
    zstd_frames,
    plain_lines,
    tables,
    documents,
]


def crawl(folder: Path, write: Callable[[Path], object], more: str = "") -> Path:
    (folder / "crawl").mkdir(parents=True)
    write(folder / "crawl")
    (folder / "recipe.yaml").write_text(RECIPE % more)
    return folder


def ingested(folder: Path, *, replace: bool = False) -> tuple[Store, Generation]:
    recipe = bind(load_recipe(folder / "recipe.yaml"))
    with open(os.devnull, "w") as nowhere:
        outcome = stages.ingest(recipe, Engine("local", 1), Console(file=nowhere), replace=replace)
    return outcome.store, outcome.generation


def planned(folder: Path) -> SourcePlan:
    """What `winnow plan` would say of the source, before there is a store."""
    recipe = bind(load_recipe(folder / "recipe.yaml"))
    store = create_or_open(MemoryStore(str(folder)), store_record(recipe.config))
    return plan_sources(recipe.ingest(store), {"crawl": ["**"]})[0]


def rows_of(store: Store, generation: Generation) -> dict[str, int]:
    return {row.shard: row.rows for row in store.manifest(generation, "samples")}


def problems(folder: Path, store: Store, generation: Generation) -> list[str]:
    return audit_generation(store, generation, bind(load_recipe(folder / "recipe.yaml")).ingest(store)).problems


@pytest.mark.parametrize("write", SOURCES, ids=lambda write: write.__name__)
def test_shards_are_filled_and_every_byte_is_accounted_for(tmp_path: Path, write: Callable[[Path], None]) -> None:
    store, generation = ingested(crawl(tmp_path, write))
    rows = rows_of(store, generation)
    in_a_full_one = SHARD // len(text(1000).encode())
    assert max(rows.values()) <= in_a_full_one + 1  # the first numbers are shorter
    assert len(rows) > 20
    assert sum(rows.values()) / len(rows) > 0.78 * in_a_full_one
    assert problems(tmp_path, store, generation) == []


def test_what_fills_a_few_shards_is_read_by_32_tasks(tmp_path: Path) -> None:
    """A machine's cores have something to do, and there are not many more shards than cores."""
    crawl(tmp_path, lambda folder: (folder / "a.jsonl").write_bytes(lines(0, 75)))
    assert len(planned(tmp_path).intake.tasks) == 32
    (tmp_path / "crawl" / "a.jsonl").write_bytes(lines(0, 20))  # little enough to be cut without an estimate
    assert len(planned(tmp_path).intake.tasks) == 32


@pytest.mark.parametrize(
    ("name", "size", "tasks"),
    [
        ("a.jsonl", 100_000_000, 32),
        ("a.jsonl", 500_000_000, 32),
        ("a.jsonl", 12_000_000, 4),
        ("a.jsonl", 3_000_000, 1),
        ("a.csv", 100_000_000, 1),  # cannot be cut
    ],
)
def test_a_hundred_megabytes_keep_32_cores_busy_and_three_are_one_task(
    tmp_path: Path, name: str, size: int, tasks: int
) -> None:
    crawl(tmp_path, lambda _: None)
    recipe = tmp_path / "recipe.yaml"
    recipe.write_text(recipe.read_text().replace(", shard_bytes: 8 KiB", ""))
    config = load_recipe(recipe)
    deal = TaskSizer(bind_source(config, config.source("crawl")), store_record(config))
    assert len(deal([ObjectInfo(name, size, "1")])) == tasks


def test_a_file_that_cannot_be_cut_is_one_task_of_several_shards(tmp_path: Path) -> None:
    store, generation = ingested(
        crawl(tmp_path, lambda folder: (folder / "a.jsonl.gz").write_bytes(gzip.compress(lines(0, 200))))
    )
    names = list(rows_of(store, generation))
    assert [name.rpartition("-")[2] for name in names] == [f"{number:04d}" for number in range(12)]
    assert len({name.rpartition("-")[0] for name in names}) == 1
    assert problems(tmp_path, store, generation) == []


def test_a_crawl_grows_without_renaming_or_reading_again_what_there_is(tmp_path: Path) -> None:
    archives = dict.fromkeys(range(0, 60, 2))
    crawl(
        tmp_path,
        lambda folder: [
            (folder / f"{number:03d}.warc.gz").write_bytes(b"".join(pages(15 * number, 15))) for number in archives
        ],
    )
    store, first = ingested(tmp_path)
    before = {row.shard: row.object for row in store.manifest(first, "samples")}
    many_archives(tmp_path / "crawl")
    store, second = ingested(tmp_path)
    after = {row.shard: row.object for row in store.manifest(second, "samples")}
    assert before.items() < after.items()
    assert sum(rows_of(store, second).values()) == 60 * 15
    assert problems(tmp_path, store, second) == []


def test_the_order_in_which_files_are_listed_does_not_matter(tmp_path: Path) -> None:
    crawl(tmp_path, many_archives)
    recipe = bind(load_recipe(tmp_path / "recipe.yaml"))
    deal = TaskSizer(bind_source(recipe.config, recipe.config.source("crawl")), store_record(recipe.config))
    listed = planned(tmp_path).listing.files
    store = create_or_open(MemoryStore("empty"), store_record(recipe.config))
    found = plan_intake(store, Listing("crawl", ListedFiles.of(listed)), ["**"], deal)
    assert plan_intake(store, Listing("crawl", ListedFiles.of(listed[::-1])), ["**"], deal) == found
    assert len(found.tasks) > 20


def test_task_bytes_fix_the_size_of_tasks(tmp_path: Path) -> None:
    crawl(tmp_path, gzip_members, more=", task_bytes: 4 KiB")
    size = (tmp_path / "crawl" / "a.jsonl.gz").stat().st_size
    assert len(planned(tmp_path).intake.tasks) == -(-size // 4096)


def test_compressed_lines_that_do_not_fit_together_are_read_whole(tmp_path: Path) -> None:
    def damaged(folder: Path) -> None:
        gzip_members(folder)
        raw = bytearray((folder / "a.jsonl.gz").read_bytes())
        raw[len(raw) // 2] ^= 0xFF
        (folder / "a.jsonl.gz").write_bytes(raw)

    store, generation = ingested(crawl(tmp_path, damaged))
    tasks = store.tasks(generation)
    assert len(tasks) == 1
    assert tasks[0].quarantined_by_reason["corrupt_member"] == 1
    assert 450 < tasks[0].kept < 550
    assert problems(tmp_path, store, generation) == []


def test_a_key_that_repeats_in_another_part_is_found(tmp_path: Path) -> None:
    def repeating(folder: Path) -> None:
        rows = [json.dumps({"key": str(number % 990), "text": text(number)}) for number in range(1000)]
        packed = ("\n".join(rows[at : at + 10]) + "\n" for at in range(0, 1000, 10))
        (folder / "a.jsonl.gz").write_bytes(b"".join(gzip.compress(some.encode(), mtime=0) for some in packed))

    crawl(tmp_path, repeating)
    recipe = (tmp_path / "recipe.yaml").read_text().replace("class: web", "class: web, key: key")
    (tmp_path / "recipe.yaml").write_text(recipe)
    assert len(planned(tmp_path).intake.tasks) > 5
    store, generation = ingested(tmp_path)
    assert sum(task.quarantined_by_reason.get("duplicate_id", 0) for task in store.tasks(generation)) == 10
    assert problems(tmp_path, store, generation) == []


def test_a_changed_archive_is_refused_and_replaced_on_request(tmp_path: Path) -> None:
    store, first = ingested(crawl(tmp_path, one_archive))
    (tmp_path / "crawl" / "a.warc.gz").write_bytes(b"".join(pages(5000, 700)))
    with pytest.raises(SourceError, match=r"a\.warc\.gz changed since it was ingested; run with --replace"):
        ingested(tmp_path)
    store, second = ingested(tmp_path, replace=True)
    assert sum(rows_of(store, second).values()) == 700
    assert not rows_of(store, second).keys() & rows_of(store, first).keys()
    assert problems(tmp_path, store, second) == []


def file(path: str, size: int, splittable: bool = True) -> SizedFile:
    return SizedFile(path, size, size / FULL, splittable)


def in_bytes(path: str, size: int, splittable: bool = True) -> SizedFile:
    return SizedFile(path, size, size, splittable)


def ranges(tasks: list[tuple[FilePart, ...]]) -> list[list[tuple[str, int, int]]]:
    return [[(part.path, part.start, part.end) for part in task] for task in tasks]


def shards_of(task: tuple[FilePart, ...]) -> float:
    """How many shards a task fills."""
    return sum(part.end - part.start for part in task) / FULL


def fill(tasks: list[tuple[FilePart, ...]], noise: float = 0.0) -> float:
    """How full the shards become if each task holds what was estimated, give or take the noise."""
    drawn = random.Random(7)
    held = [shards_of(task) * drawn.uniform(1 - noise, 1 + noise) for task in tasks]
    return sum(held) / sum(ceil(one) for one in held)


RULES = st.one_of(
    st.floats(0.05, 0.875).map(ByAmount),
    st.tuples(st.integers(1, 4), st.floats(0, 1)).map(
        lambda drawn: ByShards(drawn[0], drawn[0] + drawn[1] * (4 - drawn[0]))
    ),
)


@given(
    sizes=st.lists(st.tuples(st.integers(0, 9 * FULL), st.booleans()), min_size=1, max_size=30),
    rule=RULES,
    order=st.randoms(use_true_random=False),
)
def test_tasks_cover_every_byte_once_and_in_any_order(
    sizes: list[tuple[int, bool]], rule: ByAmount | ByShards, order: random.Random
) -> None:
    files = [file(f"{number:03d}", *one) for number, one in enumerate(sizes)]
    tasks = pack(files, rule)
    parts = sorted((part for task in tasks for part in task), key=lambda part: (part.path, part.start))
    for one in files:
        mine = [(part.start, part.end) for part in parts if part.path == one.path]
        assert [start for start, _ in mine] == [0, *(end for _, end in mine[:-1])]
        assert mine[-1][1] == one.size
        assert len(mine) == 1 or one.splittable
    assert all(len(task) == 1 or all(part.whole for part in task) for task in tasks)
    shuffled = order.sample(files, len(files))
    assert pack(shuffled, rule) == tasks


def test_small_files_are_packed_up_to_an_amount_and_large_ones_cut() -> None:
    files = [in_bytes("a", 40), in_bytes("b", 40), in_bytes("c", 250), in_bytes("d", 250, False), in_bytes("e", 40)]
    assert ranges(pack(files, ByAmount(100))) == [
        [("c", 0, 83)],
        [("c", 83, 166)],
        [("c", 166, 250)],
        [("d", 0, 250)],
        [("a", 0, 40), ("b", 0, 40)],
        [("e", 0, 40)],
    ]


def test_empty_files_are_packed_by_their_number() -> None:
    assert [len(task) for task in pack([in_bytes(f"{n:05d}", 0) for n in range(25_000)], ByAmount(100))] == [
        FILES_PER_TASK,
        FILES_PER_TASK,
        5_000,
    ]


@pytest.mark.parametrize("goal", [1, 2, 4])
@pytest.mark.parametrize(
    "size", [3, 90, 330, 450, 600, 700, 800, 900, 1_000, 1_100, 1_300, 1_700, 2_600, 3_900, 40_000]
)
def test_files_of_one_size_fill_their_shards(size: int, goal: int) -> None:
    files = [file(f"{number:05d}", size) for number in range(min(4_000, max(1, 400_000 // size)))]
    tasks = pack(files, ByShards(goal, 4))
    assert fill(tasks) > 0.77
    assert fill(tasks, noise=0.1) > 0.75  # what a sample of the files says of their text is not exact
    assert max(shards_of(task) for task in tasks) <= 4


def test_files_of_all_sizes_fill_their_shards() -> None:
    drawn = random.Random(3)
    files = [file(f"{number:05d}", int(drawn.lognormvariate(6, 1.5)) + 1) for number in range(5_000)]
    assert fill(pack(files, ByShards(1, 4))) > 0.8
    assert fill(pack(files, ByShards(4, 4))) > 0.8
    # Where files of one source differ in how much text they hold, tasks of many shards are the better.
    assert fill(pack(files, ByShards(1, 4)), noise=0.4) > 0.65
    assert fill(pack(files, ByShards(4, 4)), noise=0.4) > 0.8
