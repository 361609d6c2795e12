import itertools
from collections.abc import Sequence
from pathlib import Path

import pytest

from winnow.pipelines.running.ledger.intake import (
    FILES_PER_TASK,
    Listing,
    Look,
    freeze,
    list_source,
    look,
    matches,
    reject_changed,
    replace_changed,
)
from winnow.pipelines.store.facade import ObjectInfo, ObjectStore
from winnow.pipelines.store.memory import MemoryStore
from winnow.schemas.errors import SourceError

TASK_BYTES = 100
ANY = ("**",)


@pytest.fixture
def objects(tmp_path: Path) -> MemoryStore:
    return MemoryStore(str(tmp_path))


def listing(**sizes: int) -> Listing:
    return Listing("crawl", tuple(ObjectInfo(name, size, f"v{size}") for name, size in sorted(sizes.items())))


def seen(objects: ObjectStore, found: Listing, splittable: Sequence[str] = (), patterns: Sequence[str] = ANY) -> Look:
    return look(objects, found, patterns, TASK_BYTES, {info.path: info.path in splittable for info in found.files})


def ranges(result: Look) -> list[list[tuple[str, int, int]]]:
    return [[(file.part.path, file.part.start, file.part.end) for file in task.files] for task in result.tasks]


def test_a_large_file_becomes_many_tasks_that_cover_it(objects: ObjectStore) -> None:
    parts = sorted(part for task in ranges(seen(objects, listing(big=950), ["big"])) for part in task)
    assert parts[0][1] == 0
    assert parts[-1][2] == 950
    assert len(parts) == 10
    assert all(left[2] == right[1] for left, right in itertools.pairwise(parts))


def test_a_large_file_that_cannot_be_split_is_one_task(objects: ObjectStore) -> None:
    assert ranges(seen(objects, listing(big=950))) == [[("big", 0, 950)]]


def test_ten_thousand_small_files_become_few_tasks(objects: ObjectStore) -> None:
    small = Listing("crawl", tuple(ObjectInfo(f"{number:05d}", 0, "v") for number in range(25_000)))
    assert [len(task.files) for task in seen(objects, small).tasks].count(FILES_PER_TASK) == 2
    packed = seen(objects, listing(a=40, b=40, c=40, d=40, e=40))
    assert sorted(len(task.files) for task in packed.tasks) == [1, 2, 2]


def test_a_crawl_grows_without_renaming_a_task(objects: ObjectStore) -> None:
    first = seen(objects, listing(b=40, d=40))
    freeze(objects, "crawl", first)
    second = seen(objects, listing(a=40, b=40, c=40, d=40))
    assert {task.name for task in first.tasks} < {task.name for task in second.tasks}
    assert [[file.part.path for file in task.files] for task in second.added] == [["a", "c"]]


def test_a_second_look_finds_the_frozen_tasks_even_if_files_came_in_between(objects: ObjectStore) -> None:
    first = seen(objects, listing(a=40, b=40, c=40))
    freeze(objects, "crawl", first)
    assert seen(objects, listing(a=40, b=40, c=40)).tasks == first.tasks
    freeze(objects, "crawl", seen(objects, listing(a=40, b=40, c=40)))
    assert len(list(objects.list("intake/"))) == 1


def test_names_do_not_depend_on_time_or_order(objects: ObjectStore) -> None:
    names = [task.name for task in seen(objects, listing(a=40, b=40)).tasks]
    touched = Listing("crawl", (ObjectInfo("b", 40, "later"), ObjectInfo("a", 40, "later")))
    assert [task.name for task in seen(objects, touched).tasks] == names


def test_a_changed_file_is_found_and_refused(objects: ObjectStore) -> None:
    freeze(objects, "crawl", seen(objects, listing(a=40, b=40)))
    changed = seen(objects, listing(a=41, b=40)).changed
    assert changed == ("a",)
    with pytest.raises(SourceError, match="a changed since it was ingested; run with --replace"):
        reject_changed("crawl", changed)


def test_a_replaced_file_gets_tasks_of_another_name(objects: ObjectStore) -> None:
    first = seen(objects, listing(a=40, b=300), ["b"])
    freeze(objects, "crawl", first)
    now = listing(a=40, b=200)
    splittable = {"a": False, "b": True}
    renewed = replace_changed(objects, seen(objects, now, ["b"]), now, TASK_BYTES, splittable, ["b"])
    assert [name for name in renewed.retired if "-b-" in name] == list(renewed.retired)
    assert sorted(part for task in ranges(renewed) for part in task) == [("a", 0, 40), ("b", 0, 100), ("b", 100, 200)]
    assert not {task.name for task in first.tasks if "-b-" in task.name} & {task.name for task in renewed.tasks}
    freeze(objects, "crawl", renewed)
    assert seen(objects, now, ["b"]).tasks == renewed.tasks
    assert seen(objects, now, ["b"]).changed == ()


def test_a_file_that_is_gone_keeps_its_task(objects: ObjectStore) -> None:
    first = seen(objects, listing(a=40, b=90))
    freeze(objects, "crawl", first)
    later = seen(objects, listing(b=90))
    assert later.vanished == ("a",)
    assert later.tasks == first.tasks


def test_a_file_that_no_pattern_matches_any_more_leaves_with_its_batch(objects: ObjectStore) -> None:
    freeze(objects, "crawl", seen(objects, listing(a=40, b=40)))
    narrowed = seen(objects, listing(b=40), patterns=("b",))
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
    ],
)
def test_patterns(pattern: str, path: str, expected: bool) -> None:
    assert matches(path, [pattern]) is expected


def test_a_source_without_files_says_where_it_looked(objects: ObjectStore) -> None:
    with pytest.raises(SourceError, match=r"source 'crawl': no file under memory://.* matches \*\.gz"):
        list_source("crawl", objects, ["*.gz"])
