import itertools
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.messages import assert_refused
from tests.pipelines.store.test_generations import RECORD
from winnow.pipelines.ingest.planning.task_sizes import ByAmount, SizedFile, pack
from winnow.pipelines.running.ledger.intake import (
    Deal,
    IntakePlan,
    freeze,
    plan_intake,
    read_intake,
    reject_changed,
    replace_changed,
    require_tasks,
)
from winnow.pipelines.running.ledger.listings import ListedFiles, Listing, list_source, matches
from winnow.pipelines.store import layout
from winnow.pipelines.store.facade import ObjectInfo
from winnow.pipelines.store.generations import Store, create_or_open
from winnow.pipelines.store.integrity.damage import DamagedError, MissingError
from winnow.pipelines.store.location import open_location
from winnow.pipelines.store.memory import MemoryStore
from winnow.schemas.errors import SourceError
from winnow.schemas.records import FilePart

TASK_BYTES = 100
PATH = layout.intake("crawl", 1)
ANY = ("**",)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return create_or_open(MemoryStore(str(tmp_path)), RECORD)


def listing(**sizes: int) -> Listing:
    return Listing("crawl", ListedFiles.of(ObjectInfo(name, size, f"v{size}") for name, size in sorted(sizes.items())))


def deal(splittable: Sequence[str]) -> Deal:
    """Tasks of a hundred bytes."""

    def by_size(files: Sequence[ObjectInfo]) -> list[tuple[FilePart, ...]]:
        sized = [SizedFile(info.path, info.size, info.size, info.path in splittable) for info in files]
        return pack(sized, ByAmount(TASK_BYTES))

    return by_size


def seen(store: Store, found: Listing, splittable: Sequence[str] = (), patterns: Sequence[str] = ANY) -> IntakePlan:
    return plan_intake(store, found, patterns, deal(splittable))


def ranges(result: IntakePlan) -> list[list[tuple[str, int, int]]]:
    return [[(file.part.path, file.part.start, file.part.end) for file in task.files] for task in result.tasks]


def test_a_large_file_becomes_many_tasks_that_cover_it(store: Store) -> None:
    parts = sorted(part for task in ranges(seen(store, listing(big=950), ["big"])) for part in task)
    assert parts[0][1] == 0
    assert parts[-1][2] == 950
    assert len(parts) == 10
    assert all(left[2] == right[1] for left, right in itertools.pairwise(parts))


def test_a_large_file_that_cannot_be_split_is_one_task(store: Store) -> None:
    assert ranges(seen(store, listing(big=950))) == [[("big", 0, 950)]]


def test_small_files_become_few_tasks(store: Store) -> None:
    packed = seen(store, listing(a=40, b=40, c=40, d=40, e=40))
    assert sorted(len(task.files) for task in packed.tasks) == [1, 2, 2]


def test_nothing_is_dealt_twice(store: Store) -> None:
    def refuse(files: Sequence[ObjectInfo]) -> list[tuple[FilePart, ...]]:
        raise AssertionError(files)

    first = seen(store, listing(a=40, b=950), ["b"])
    freeze(store, "crawl", first)
    assert plan_intake(store, listing(a=40, b=950), ANY, refuse).tasks == first.tasks


def test_a_crawl_grows_without_renaming_a_task(store: Store) -> None:
    first = seen(store, listing(b=40, d=40))
    freeze(store, "crawl", first)
    second = seen(store, listing(a=40, b=40, c=40, d=40))
    assert {task.name for task in first.tasks} < {task.name for task in second.tasks}
    assert [[file.part.path for file in task.files] for task in second.added] == [["a", "c"]]


def test_a_second_look_finds_the_frozen_tasks_even_if_files_came_in_between(store: Store) -> None:
    first = seen(store, listing(a=40, b=40, c=40))
    freeze(store, "crawl", first)
    assert seen(store, listing(a=40, b=40, c=40)).tasks == first.tasks
    freeze(store, "crawl", seen(store, listing(a=40, b=40, c=40)))
    assert len(list(store.objects.list("intake/"))) == 1


def test_names_do_not_depend_on_time_or_order(store: Store) -> None:
    names = [task.name for task in seen(store, listing(a=40, b=40)).tasks]
    touched = Listing("crawl", ListedFiles.of([ObjectInfo("b", 40, "later"), ObjectInfo("a", 40, "later")]))
    assert [task.name for task in seen(store, touched).tasks] == names


def test_a_changed_file_is_found_and_refused(store: Store) -> None:
    freeze(store, "crawl", seen(store, listing(a=40, b=40)))
    changed = seen(store, listing(a=41, b=40)).changed
    assert changed == ("a",)
    with assert_refused(SourceError, "changed since", "--replace"):
        reject_changed("crawl", changed)


def test_a_replaced_file_gets_tasks_of_another_name(store: Store) -> None:
    first = seen(store, listing(a=40, b=300), ["b"])
    freeze(store, "crawl", first)
    now = listing(a=40, b=200)
    renewed = replace_changed(store, seen(store, now, ["b"]), now, deal(["b"]), ["b"])
    assert [name for name in renewed.retired if "-b-" in name] == list(renewed.retired)
    assert sorted(part for task in ranges(renewed) for part in task) == [("a", 0, 40), ("b", 0, 100), ("b", 100, 200)]
    assert not {task.name for task in first.tasks if "-b-" in task.name} & {task.name for task in renewed.tasks}
    freeze(store, "crawl", renewed)
    assert seen(store, now, ["b"]).tasks == renewed.tasks
    assert seen(store, now, ["b"]).changed == ()


def test_a_lost_record_is_noticed(store: Store) -> None:
    """Planned anew, its tasks would have names of older content, or pack other files together."""
    freeze(store, "crawl", seen(store, listing(b=40, d=40)))
    freeze(store, "crawl", seen(store, listing(a=40, b=40, c=40, d=40)))
    now = listing(a=40, b=40, c=40, d=40)
    committed = {task.name for task in seen(store, now).tasks}
    require_tasks(store, "crawl", committed)
    last = store.objects.read(layout.intake("crawl", 2))
    store.objects.delete(layout.intake("crawl", 2))
    with assert_refused(MissingError, "intake/crawl/00000002.parquet", "put back"):
        require_tasks(store, "crawl", committed)
    with pytest.raises(MissingError, match=r"intake/crawl/00000002\.parquet is missing"):
        plan_intake(store, now, ANY, deal(()), committed)
    store.objects.put(layout.intake("crawl", 2), last)
    store.objects.delete(layout.intake("crawl", 1))
    with pytest.raises(MissingError, match=r"intake/crawl/00000001\.parquet is missing"):
        seen(store, now)


@given(st.data())
def test_any_bit_of_a_record_that_flips_is_noticed(data: st.DataObject) -> None:
    objects = MemoryStore("damaged-intake")
    objects.delete(PATH)
    store = create_or_open(objects, RECORD)
    freeze(store, "crawl", seen(store, listing(a=40, b=300), ["b"]))
    raw = bytearray(objects.read(PATH))
    raw[data.draw(st.integers(0, len(raw) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    objects.put(PATH, bytes(raw))
    with pytest.raises(DamagedError, match=f"^memory://damaged-intake: {PATH} is damaged: .*$"):
        read_intake(objects, RECORD, PATH)


@pytest.mark.parametrize("size", [0, 4, 100, -1])
def test_a_cut_record_is_noticed(store: Store, size: int) -> None:
    freeze(store, "crawl", seen(store, listing(a=40)))
    store.objects.put(PATH, store.objects.read(PATH)[:size])
    with pytest.raises(DamagedError, match=f"{PATH} is damaged: "):
        seen(store, listing(a=40))


def test_a_record_of_another_store_or_place_is_noticed(store: Store) -> None:
    other = create_or_open(MemoryStore("another"), replace(RECORD, task_bytes=TASK_BYTES))
    freeze(other, "crawl", seen(other, listing(a=40)))
    store.objects.put(PATH, other.objects.read(PATH))
    with assert_refused(DamagedError, "checksum"):
        seen(store, listing(a=40))
    store.objects.delete(PATH)
    freeze(store, "lines", seen(store, replace(listing(a=40), source="lines")))
    store.objects.put(PATH, store.objects.read(layout.intake("lines", 1)))
    with assert_refused(DamagedError, "checksum"):
        seen(store, listing(a=40))


def test_a_file_that_is_gone_keeps_its_task(store: Store) -> None:
    first = seen(store, listing(a=40, b=90))
    freeze(store, "crawl", first)
    later = seen(store, listing(b=90))
    assert later.vanished == ("a",)
    assert later.tasks == first.tasks


def test_a_file_that_no_pattern_matches_any_more_leaves_with_its_batch(store: Store) -> None:
    freeze(store, "crawl", seen(store, listing(a=40, b=40)))
    narrowed = seen(store, listing(b=40), patterns=("b",))
    assert [[file.part.path for file in task.files] for task in narrowed.tasks] == [["b"]]
    assert len(narrowed.retired) == 1


@pytest.mark.parametrize(
    ("pattern", "path", "expected"),
    [
        ("*.gz", "a.gz", True),
        ("*.gz", "x/a.gz", False),
        ("**/*.gz", "x/y/a.gz", True),
        ("**/*.gz", "a.gz", True),
        ("x/**", "x/y/z", True),
        ("a?c", "abc", True),
        ("a?c", "a/c", False),
        ("a.c", "abc", False),
        ("[ab]", "[ab]", True),
        ("*.gz", "._a.gz", False),  # as macOS leaves beside a.gz
        ("**/*.gz", "x/.cache/a.gz", False),
        ("**/*.gz", ".cache/x/a.gz", False),
        ("x/**", "x/.git/y", False),
        ("**", "x/y/z", True),
        ("**", "x/.y", False),
        ("?a", ".a", False),
        (".*", ".a", True),
        (".cache/**/*.gz", ".cache/x/a.gz", True),
        ("a*", "a.gz", True),
        ("a**", "ab/c", True),
    ],
)
def test_patterns(pattern: str, path: str, expected: bool) -> None:
    assert matches(path, [pattern]) is expected


def test_a_source_without_files_says_where_it_looked(store: Store) -> None:
    with assert_refused(SourceError, "sources.crawl.files", "memory://", "*.gz"):
        list_source("crawl", store.objects, ["*.gz"])


@pytest.mark.parametrize(
    ("patterns", "files"),
    [
        (["x.gz"], ["x.gz"]),
        (["x*", "a*"], ["a.gz", "x.gz", "xy.gz"]),
        (["a/b/*.gz", "a/x.gz"], ["a/b/x.gz", "a/x.gz"]),
        (["**/x.gz"], ["a/b/x.gz", "a/x.gz", "other/x.gz", "x.gz"]),
        *(([pattern], []) for pattern in ("../other/*.gz", "./x.gz", "/x.gz", "a//x*", "link/*.gz")),
    ],
)
def test_only_what_may_match_is_listed(tmp_path: Path, patterns: list[str], files: list[str]) -> None:
    root = tmp_path / "root"
    for path in ("x.gz", "xy.gz", "a/x.gz", "a/b/x.gz", "a.gz", ".x.gz", "other/x.gz", "../other/x.gz"):
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).touch()
    (root / "link").symlink_to(root / "a")
    objects = open_location(str(root))
    if files:
        assert [one.path for one in list_source("crawl", objects, patterns).files] == files
    else:
        with pytest.raises(SourceError):
            list_source("crawl", objects, patterns)


def test_patterns_that_match_nothing_beside_others_are_named(tmp_path: Path) -> None:
    (tmp_path / "a.gz").touch()
    listing = list_source("crawl", open_location(str(tmp_path)), ["*.zst", "*.gz", "a.*"])
    assert (len(listing.files), listing.unmatched) == (1, ("*.zst",))


def test_a_file_that_a_killed_fetch_left_without_its_rows_is_not_read(tmp_path: Path) -> None:
    for path in ("warc/a.warc.gz", "warc/b.warc.gz", "log/a.parquet", "robots/a.warc.gz"):
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_bytes(b"x")
    listing = list_source("news", open_location(str(tmp_path)), ["warc/*.warc.gz"], fetched_by="winnow fetch r.yaml")
    assert [one.path for one in listing.files] == ["warc/a.warc.gz"]
    (tmp_path / "log/a.parquet").unlink()
    with pytest.raises(SourceError, match="winnow fetch"):
        list_source("news", open_location(str(tmp_path)), ["warc/*.warc.gz"], fetched_by="winnow fetch r.yaml")
