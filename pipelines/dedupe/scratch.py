"""What the steps of a search leave for each other: tables under fixed names, the same however often a step runs."""

import os
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

import orjson
import pyarrow as pa

from winnow.pipelines.running.blocks import decode_batch, encode_batch
from winnow.pipelines.running.worker import BEAT_SECONDS
from winnow.pipelines.store.facade import ObjectStore
from winnow.schemas.errors import StageError


def put_part(objects: ObjectStore, scratch: str, what: str, number: int, batch: pa.RecordBatch) -> None:
    """Leave one part."""
    objects.put(_path(scratch, what, number), encode_batch(batch))


def read_part(objects: ObjectStore, scratch: str, what: str, number: int) -> pa.RecordBatch:
    """One part; every one that was promised must be there."""
    try:
        return decode_batch(objects.read(_path(scratch, what, number)))
    except FileNotFoundError:
        raise StageError(f"dedupe: {what} {number} was never written; run the same command again") from None


def read_parts(objects: ObjectStore, scratch: str, what: str, count: int) -> Iterator[pa.RecordBatch]:
    """All parts, in order."""
    return (read_part(objects, scratch, what, number) for number in range(count))


@dataclass
class _Steps:
    """How many partitions of each step of a search this process is done with."""

    scratch: str
    done: Counter[str] = field(default_factory=Counter)
    told: float = 0.0


_at = _Steps("")


def beat_step(objects: ObjectStore, scratch: str, step: str) -> None:
    """Say that a partition of a step is done, at most once a second. Advisory: nothing is ever decided by it."""
    global _at
    if _at.scratch != scratch:
        _at = _Steps(scratch)
    _at.done[step] += 1
    now = time.monotonic()
    if now - _at.told >= BEAT_SECONDS:
        _at.told = now
        objects.put(f"{scratch}/beats/{os.getpid()}.json", orjson.dumps(_at.done))


def steps_done(objects: ObjectStore, scratch: str) -> Counter[str]:
    """How many partitions of each step are done, as far as it has been said."""
    done: Counter[str] = Counter()
    for info in objects.list(f"{scratch}/beats/"):
        try:
            done.update(orjson.loads(objects.read(info.path)))
        except (FileNotFoundError, orjson.JSONDecodeError):
            continue
    return done


def _path(scratch: str, what: str, number: int) -> str:
    return f"{scratch}/{what}/{number:08d}.arrow"
