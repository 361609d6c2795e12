"""Work on the shards of a pinned generation, several at a time, in their order; an evaluator a thread."""

import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from typing import TypeVar

from winnow.pipelines.rules.evaluation import Evaluator
from winnow.pipelines.rules.pinning import PinnedProgram, ShardObjects

THREADS = 2

Item = TypeVar("Item")
T = TypeVar("T")


def over_shards(
    pinned: PinnedProgram, work: Callable[[ShardObjects, Evaluator], T], threads: int = THREADS
) -> Iterator[T]:
    """What the work gives for each shard, in the order of their names whatever the number of threads."""
    local = threading.local()
    with ExitStack() as opened:
        lock = threading.Lock()

        def worked(shard: ShardObjects) -> T:
            if not hasattr(local, "evaluator"):
                evaluator = Evaluator(pinned.program)
                with lock:
                    opened.push(evaluator)
                local.evaluator = evaluator
            return work(shard, local.evaluator)

        yield from in_order(worked, pinned.shards, threads)


def in_order(work: Callable[[Item], T], items: Iterable[Item], threads: int = THREADS) -> Iterator[T]:
    """What the work gives for each item, in their order; a few are done ahead, and no more are held."""
    with ThreadPoolExecutor(threads) as pool:
        ahead: deque[Future[T]] = deque()
        try:
            for item in items:
                ahead.append(pool.submit(work, item))
                if len(ahead) > 2 * threads:
                    yield ahead.popleft().result()
            while ahead:
                yield ahead.popleft().result()
        finally:
            for future in ahead:
                future.cancel()
