"""Rows of a store as examples to train on: those that a condition means, the ones with the smallest hashes.

So what is trained on depends on the store's seed and the rows' ids alone, and a store that grew gives most of it again.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from winnow.pipelines.annotate.reading import text_of
from winnow.pipelines.columns import Column, read_aligned
from winnow.pipelines.conditions import selected_rows
from winnow.pipelines.picked_rows import read_picked
from winnow.pipelines.score.binding import BoundScore, Condition
from winnow.pipelines.score.inputs import Inputs
from winnow.pipelines.store import layout
from winnow.pipelines.store.generations import Store
from winnow.pipelines.store.hidden.hiding import load_hiding
from winnow.schemas.errors import ScoreError
from winnow.schemas.words import words_of
from winnow.scoring.mixture.orders import draw_order, key_of
from winnow.scoring.tasks.protocol import IMAGE, OK, TEXT, Measure, Task

_ROWS = 8192
_ID = Column(layout.SAMPLES, "id")


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

    Raises:
        ScoreError: The condition means no row that gives an example.
    """
    key = key_of(bound.seed, f"score/{bound.entry.name}/{purpose}")
    orders, of_shards, rows = _meant(store, shards, condition, key)
    meant = len(orders)
    if meant > max_samples:
        chosen = np.argpartition(orders, max_samples - 1)[:max_samples]
        orders, of_shards, rows = orders[chosen], of_shards[chosen], rows[chosen]
    parts: list[Any] = []
    places: list[NDArray[np.uint64]] = []
    left: dict[str, int] = {}
    for number, shard in enumerate(shards):
        here = np.flatnonzero(of_shards == number)
        here = here[np.argsort(rows[here])]
        for encoded, part in _encoded(store, task, bound, shard, rows[here], inputs):
            good = encoded.status == OK
            for reason in encoded.status[~good]:
                left[reason] = left.get(reason, 0) + 1
            if encoded.count:
                parts.append(encoded.examples)
                places.append(orders[here[part]][good])
    if not parts:
        said = f" of which {meant:,} are meant and none gives an example: {_reasons(left)}" if meant else ""
        where = f"'{condition.text}'" if condition.text is not None else "all rows"
        raise ScoreError(f"score.{bound.entry.name}: nothing to train the {purpose} on: {where} of {store.root}{said}")
    whole = task.joined(parts)
    order = np.argsort(np.concatenate(places), kind="stable")
    return Collected(task.chosen(whole, order), len(order), meant, dict(sorted(left.items())))


def _reasons(left: Mapping[str, int]) -> str:
    return ", ".join(f"{count:,} {reason}" for reason, count in sorted(left.items()))


def _meant(
    store: Store, shards: Sequence[ScoredShard], condition: Condition, key: Any
) -> tuple[NDArray[np.uint64], NDArray[np.int64], NDArray[np.int64]]:
    """Of each row that is meant its hash, the number of its shard, and its own."""
    orders: list[NDArray[np.uint64]] = []
    of_shards: list[NDArray[np.int64]] = []
    rows: list[NDArray[np.int64]] = []
    hiding = load_hiding(store.objects)
    columns = list(dict.fromkeys((_ID, *condition.columns)))
    for number, shard in enumerate(shards):
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
            which = np.flatnonzero(met)
            orders.append(draw_order(words_of(read[_ID.name].take(pa.array(which))), key))
            of_shards.append(np.full(len(which), number, np.int64))
            rows.append(which + done)
            done += count
    if not orders:
        return np.zeros(0, np.uint64), np.zeros(0, np.int64), np.zeros(0, np.int64)
    return np.concatenate(orders), np.concatenate(of_shards), np.concatenate(rows)


def _encoded(
    store: Store, task: Task, bound: BoundScore, shard: ScoredShard, rows: NDArray[np.int64], inputs: Inputs
) -> Iterator[tuple[Any, NDArray[np.int64]]]:
    """Rows of a shard as examples, some at a time, each time with the places of its rows among those asked for."""
    if not len(rows):
        return
    for part, read in read_picked(store.objects, shard.objects, bound.inputs, rows):
        for first in range(0, len(part), _ROWS):
            some = {name: column.slice(first, _ROWS) for name, column in read.items()}
            batch = batch_of(task, bound, some, inputs, shard.source)
            at = np.searchsorted(rows, part[first : first + _ROWS])
            yield task.encode(batch), at


def too_large(texts: pa.Array, max_text_bytes: int) -> pa.Array:
    """Whether each text is longer than what is measured."""
    return pc.greater(pc.fill_null(pc.binary_length(texts), 0), max_text_bytes)


def batch_of(
    task: Task | Measure, bound: BoundScore, read: Mapping[str, pa.Array], inputs: Inputs, source: str
) -> pa.RecordBatch:
    """The columns that a task reads, of columns of the store."""
    columns: dict[str, pa.Array] = {}
    for name in task.reads:
        if name == TEXT:
            texts = text_of([column.name for column in bound.text], read)
            columns[name] = pc.if_else(too_large(texts, bound.max_text_bytes), None, texts)
        elif name == IMAGE:
            columns[name] = inputs.images(read, source)
        else:
            columns[name] = read[name]
    return pa.RecordBatch.from_arrays(list(columns.values()), names=list(columns))
