"""Progress of the steps of a long job: each worker process counts its finished partitions in an object."""

import os
import time
from collections import Counter
from dataclasses import dataclass, field

import orjson

from winnow.pipelines.running.counters import PARTS, count
from winnow.pipelines.running.worker import heartbeat_seconds
from winnow.pipelines.store.facade import ObjectStore


@dataclass
class _Steps:
    """How many partitions of each step this process has finished."""

    scratch: str
    done: Counter[str] = field(default_factory=Counter)
    told: float = 0.0


_at = _Steps("")


def report_partition(objects: ObjectStore, scratch: str, step: str) -> None:
    """Reports a finished partition of a step, no more often than tasks do. Advisory: no decision depends on it."""
    global _at
    if _at.scratch != scratch:
        _at = _Steps(scratch)
    _at.done[step] += 1
    count(PARTS, 1)
    now = time.monotonic()
    if now - _at.told >= heartbeat_seconds(objects):
        _at.told = now
        objects.put(f"{scratch}/beats/{os.getpid()}.json", orjson.dumps(_at.done))


def steps_done(objects: ObjectStore, scratch: str) -> Counter[str]:
    """The number of finished partitions of each step, as far as reported."""
    done: Counter[str] = Counter()
    for info in objects.list(f"{scratch}/beats/"):
        try:
            done.update(orjson.loads(objects.read(info.path)))
        except (FileNotFoundError, orjson.JSONDecodeError):
            continue
    return done
