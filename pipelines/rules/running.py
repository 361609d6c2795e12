"""Work on the shards of a pinned generation, several at a time, in their order; an evaluator a thread."""

import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import TypeVar

from winnow.pipelines.rules.evaluation import Evaluator
from winnow.pipelines.rules.pinning import PinnedProgram, ShardObjects
from winnow.pipelines.store.together import in_order, tables_at_once

THREADS = 2  # where no network is waited for

T = TypeVar("T")


def over_shards(
    pinned: PinnedProgram, work: Callable[[ShardObjects, Evaluator], T], threads: int | None = None
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

        most = THREADS if pinned.wide else tables_at_once(pinned.store.objects, THREADS)
        yield from in_order(worked, pinned.shards, threads or most)
