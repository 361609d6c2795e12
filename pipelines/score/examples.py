"""Rows of a store as examples to train on: those that a condition means, the ones with the smallest hashes.

So what is trained on depends on the store's seed and the rows' ids alone, and a store that grew gives most of it again.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from winnow.pipelines.binding.scores import MEDIA, BoundScore, Condition
from winnow.pipelines.media.score_inputs import BYTES, ROWS, Inputs
from winnow.pipelines.query.columns import Column, read_aligned
from winnow.pipelines.query.conditions import selected_rows
from winnow.pipelines.query.picked_rows import read_picked
from winnow.pipelines.running.ledger.strikes import Position, poisoned
from winnow.pipelines.running.shard_rows import text_of
from winnow.pipelines.score.gathering import Gathered
from winnow.pipelines.store import layout
from winnow.pipelines.store.generations import Store
from winnow.pipelines.store.hiding.looks import load_hiding
from winnow.schemas.errors import ScoreError
from winnow.schemas.uint128 import words_of
from winnow.scoring.mixture.orders import draw_order, key_of
from winnow.scoring.tasks.protocol import IMAGE, NO_INPUT, OK, TEXT, Encoded, Measure, Task

LEFT_OUT = "left_out"  # a row that has killed workers

_ROWS = 8192
_TEXT_BYTES = 16 << 20  # of texts that are examples at once; a larger one is one alone
DECODED = 64 << 20  # bytes of images' pixels at once
_ID = Column(layout.SAMPLES, "id")
_PLACE = tuple(Column(layout.SAMPLES, leaf) for leaf in ("source.path", "source.offset", "source.member"))


@dataclass(frozen=True, slots=True)
class ScoredShard:
    """A shard and the objects of the layers that are read of it."""

    shard: str
    source: str
    objects: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Collected:
    """Examples in the order of their hashes."""

    examples: Any
    count: int
    meant: int  # rows that the condition means
    left: Mapping[str, int]  # rows that gave no example, by reason


def collect_examples(
    store: Store,
    task: Task,
    bound: BoundScore,
    shards: Sequence[ScoredShard],
    condition: Condition,
    purpose: str,
    max_samples: int,
    inputs: Inputs,
    max_bytes: int = 4 << 30,
) -> Collected:
    """Examples of the rows that a condition means, at most so many.

    Args:
        store: Where the rows are.
        task: What makes examples of rows.
        bound: The score that it is about.
        shards: Every shard, in the order of their names.
        condition: Which rows are meant.
        purpose: What the hashes are keyed with.
        max_samples: Rows with the smallest hashes, this many, are taken.
        inputs: Reads images, where the task does.
        max_bytes: Of all examples together, as they are gathered and put in order.

    Raises:
        ScoreError: The condition means no row that gives an example, or examples are larger than may be held.
        StageError: A file with an image cannot be reached.
    """
    key = key_of(bound.seed, f"score/{bound.entry.name}/{purpose}")
    sources = dict.fromkeys(shard.source for shard in shards)
    poison = {source: poisoned(store.objects, f"{bound.entry.trace}/{source}") for source in sources}
    (orders, of_shards, rows), killing = _meant(store, shards, condition, key, poison)
    meant = len(orders) + killing
    if len(orders) > max_samples:
        chosen = np.argpartition(orders, max_samples - 1)[:max_samples]
        orders, of_shards, rows = orders[chosen], of_shards[chosen], rows[chosen]
    gathered = Gathered(task, len(orders), max_bytes)
    left: dict[str, int] = {LEFT_OUT: killing} if killing else {}
    for number, shard in enumerate(shards):
        here = np.flatnonzero(of_shards == number)
        here = here[np.argsort(rows[here])]
        for encoded, part in _encoded(store, task, bound, shard, rows[here], inputs):
            good = encoded.status == OK
            for reason in encoded.status[~good]:
                left[reason] = left.get(reason, 0) + 1
            if not encoded.count:
                continue
            gathered.add(encoded.examples, orders[here[part]][good])
            if (held := gathered.held) > max_bytes:
                raise ScoreError(
                    f"score.{bound.entry.name}: examples to train the {purpose} on are held in memory, and "
                    f"{gathered.count:,} of {len(orders):,} samples came to {held:,} bytes, over the {max_bytes:,} "
                    f"that may be; lower max_samples, to {max(1, gathered.count * max_bytes // held):,} or less"
                )
    if not gathered.count:
        where = f"the condition {condition.text}" if condition.text is not None else "the score's rows"
        if meant:
            said = f"{meant:,} rows of {store.root} meet {where}, and none gives an example: {_reasons(left)}"
        else:
            said = f"no row of {store.root} meets {where}; winnow stats shows which values its columns have"
        raise ScoreError(f"score.{bound.entry.name}: nothing to train the {purpose} on: {said}")
    return Collected(gathered.whole(), gathered.count, meant, dict(sorted(left.items())))


def _reasons(left: Mapping[str, int]) -> str:
    return ", ".join(f"{count:,} {reason}" for reason, count in sorted(left.items()))


def _meant(
    store: Store,
    shards: Sequence[ScoredShard],
    condition: Condition,
    key: Any,
    poison: Mapping[str, frozenset[Position]],
) -> tuple[tuple[NDArray[np.uint64], NDArray[np.int64], NDArray[np.int64]], int]:
    """Of each row that is meant its hash, the number of its shard, and its own; and how many more kill workers."""
    orders: list[NDArray[np.uint64]] = []
    of_shards: list[NDArray[np.int64]] = []
    rows: list[NDArray[np.int64]] = []
    hiding = load_hiding(store.objects)
    killing = 0
    for number, shard in enumerate(shards):
        kills = poison[shard.source]
        columns = dict.fromkeys((_ID, *condition.columns, *(_PLACE if kills else ())))
        hidden = hiding.of(store.objects, shard.objects[layout.SAMPLES]).rows
        done = 0
        for read in read_aligned(store.objects, shard.objects, columns, _ROWS, hidden):
            count = len(read[_ID.name])
            met = np.ones(count, np.bool_)
            if condition.text is not None:
                named = {column.name: read[column.name] for column in condition.columns}
                met = selected_rows(condition.text, named, count).copy()
            first, last = np.searchsorted(hidden, (done, done + count))
            met[hidden[first:last] - done] = False
            if kills:
                at = zip(*(read[column.name].to_pylist() for column in _PLACE), strict=True)
                out = np.array([Position(*place) in kills for place in at], np.bool_)
                killing += int(np.count_nonzero(met & out))
                met &= ~out
            which = np.flatnonzero(met)
            orders.append(draw_order(words_of(read[_ID.name].take(pa.array(which))), key))
            of_shards.append(np.full(len(which), number, np.int64))
            rows.append(which + done)
            done += count
    if not orders:
        return (np.zeros(0, np.uint64), np.zeros(0, np.int64), np.zeros(0, np.int64)), killing
    return (np.concatenate(orders), np.concatenate(of_shards), np.concatenate(rows)), killing


def _encoded(
    store: Store, task: Task, bound: BoundScore, shard: ScoredShard, rows: NDArray[np.int64], inputs: Inputs
) -> Iterator[tuple[Encoded, NDArray[np.int64]]]:
    """Rows of a shard as examples, some at a time, each time with the places of its rows among those asked for."""
    if not len(rows):
        return
    for part, read in read_picked(store.objects, shard.objects, bound.inputs, rows):
        for first in range(0, len(part), _ROWS):
            some = {name: column.slice(first, _ROWS) for name, column in read.items()}
            at = np.searchsorted(rows, part[first : first + _ROWS])
            for which, encoded in encoded_rows(task, bound, some, inputs, shard.source):
                yield encoded, at[which]


def encoded_rows(
    task: Task | Measure, bound: BoundScore, read: Mapping[str, pa.Array], inputs: Inputs, source: str
) -> Iterator[tuple[slice, Encoded]]:
    """Rows as examples, in their order: as many at once as may have their texts, or their images, held at once.

    Raises:
        StageError: A file with an image cannot be reached.
    """
    if IMAGE not in task.reads:
        batch = _batch_of(task, bound, read, None)
        for rows in _cuts(batch):
            yield rows, task.encode(batch.slice(rows.start, rows.stop - rows.start))
        return
    most = max(1, min(ROWS, DECODED // max(1, task.example_bytes)))
    for images in inputs.images(read[MEDIA.name], source, most, BYTES):
        rows = images.rows
        some = {name: column.slice(rows.start, rows.stop - rows.start) for name, column in read.items()}
        encoded = task.encode(_batch_of(task, bound, some, images.bytes))
        # To the task both are nulls.
        gone = np.array([why is not None for why in images.gone], np.bool_)
        status = np.where(gone & (encoded.status == NO_INPUT), images.gone, encoded.status)
        yield rows, replace(encoded, status=status)


def _cuts(batch: pa.RecordBatch) -> Iterator[slice]:
    """Rows that follow each other, whose texts together are as long as may be."""
    if TEXT not in batch.schema.names:
        if batch.num_rows:
            yield slice(0, batch.num_rows)
        return
    lengths = pc.fill_null(pc.binary_length(batch[TEXT]), 0)
    ends = np.cumsum(lengths.to_numpy(zero_copy_only=False), dtype=np.int64)
    first = 0
    while first < batch.num_rows:
        before = int(ends[first - 1]) if first else 0
        stop = max(first + 1, int(np.searchsorted(ends, before + _TEXT_BYTES, side="right")))
        yield slice(first, stop)
        first = stop


def too_large(texts: pa.Array, max_text_bytes: int) -> pa.Array:
    """Whether each text is longer than what is measured."""
    return pc.greater(pc.fill_null(pc.binary_length(texts), 0), max_text_bytes)


def _batch_of(
    task: Task | Measure, bound: BoundScore, read: Mapping[str, pa.Array], images: pa.Array | None
) -> pa.RecordBatch:
    """The columns that a task reads, of columns of the store."""
    columns: dict[str, pa.Array] = {}
    for name in task.reads:
        if name == TEXT:
            texts = text_of([column.name for column in bound.text], read)
            columns[name] = pc.if_else(too_large(texts, bound.max_text_bytes), None, texts)
        else:
            columns[name] = images if name == IMAGE else read[name]
    return pa.RecordBatch.from_arrays(list(columns.values()), names=list(columns))
