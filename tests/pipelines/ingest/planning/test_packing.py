import random
from math import ceil

import pytest
from hypothesis import given
from hypothesis import strategies as st

from winnow.pipelines.ingest.planning.packing import FILES_PER_TASK, ByAmount, ByShards, SizedFile, pack
from winnow.schemas.records import FilePart

SHARD = 1000  # bytes that fill one, in these tests


def file(path: str, size: int, splittable: bool = True) -> SizedFile:
    return SizedFile(path, size, size / SHARD, splittable)


def in_bytes(path: str, size: int, splittable: bool = True) -> SizedFile:
    return SizedFile(path, size, size, splittable)


def ranges(tasks: list[tuple[FilePart, ...]]) -> list[list[tuple[str, int, int]]]:
    return [[(part.path, part.start, part.end) for part in task] for task in tasks]


def shards_of(task: tuple[FilePart, ...]) -> float:
    """How many shards a task fills."""
    return sum(part.end - part.start for part in task) / SHARD


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
    sizes=st.lists(st.tuples(st.integers(0, 9 * SHARD), st.booleans()), min_size=1, max_size=30),
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
