"""Calls a function for each shard of a pinned generation, in several threads with one evaluator each."""

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from typing import TypeVar

from winnow.pipelines.rules.evaluation import Evaluator
from winnow.pipelines.rules.pinning import PinnedProgram, ShardObjects
from winnow.pipelines.store.concurrency import map_in_order, table_threads

THREADS = 2  # for local stores, where threads do not wait for the network

T = TypeVar("T")
Item = TypeVar("Item")


def map_shards(
    pinned: PinnedProgram, work: Callable[[ShardObjects, Evaluator], T], threads: int | None = None
) -> Iterator[T]:
    """Yield the result of `work` for each shard, in the order of their names for any number of threads."""
    return map_with_evaluators(pinned, work, pinned.shards, threads)


def map_with_evaluators(
    pinned: PinnedProgram, work: Callable[[Item, Evaluator], T], items: Iterable[Item], threads: int | None = None
) -> Iterator[T]:
    """Yield the result of `work` for each item, in their order for any number of threads."""
    local = threading.local()
    with ExitStack() as opened:
        lock = threading.Lock()

        def work_on(item: Item) -> T:
            if not hasattr(local, "evaluator"):
                evaluator = Evaluator(pinned.program)
                with lock:
                    opened.push(evaluator)
                local.evaluator = evaluator
            return work(item, local.evaluator)

        most = THREADS if pinned.wide else table_threads(pinned.store.objects, THREADS)
        yield from map_in_order(work_on, items, threads or most)
