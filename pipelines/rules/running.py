"""Work on the shards of a pinned generation, several at a time, in their order; an evaluator a thread."""

import threading
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from typing import TypeVar

from winnow.pipelines.rules.evaluation import Evaluator
from winnow.pipelines.rules.pinning import PinnedProgram, ShardObjects

THREADS = 2

T = TypeVar("T")


def over_shards(
    pinned: PinnedProgram, work: Callable[[ShardObjects, Evaluator], T], threads: int = THREADS
) -> Iterator[T]:
    """What the work gives for each shard, in the order of their names whatever the number of threads."""
    local = threading.local()
    with ExitStack() as opened, ThreadPoolExecutor(threads) as pool:
        lock = threading.Lock()

        def worked(shard: ShardObjects) -> T:
            if not hasattr(local, "evaluator"):
                evaluator = Evaluator(pinned.program)
                with lock:
                    opened.push(evaluator)
                local.evaluator = evaluator
            return work(shard, local.evaluator)

        ahead: deque[Future[T]] = deque()
        try:
            for shard in pinned.shards:
                ahead.append(pool.submit(worked, shard))
                if len(ahead) > 2 * threads:
                    yield ahead.popleft().result()
            while ahead:
                yield ahead.popleft().result()
        finally:
            for future in ahead:
                future.cancel()
