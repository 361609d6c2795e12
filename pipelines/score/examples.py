"""Rows of a store as examples to train on: those that a condition means, the ones with the smallest hashes.

So what is trained on depends on the store's seed and the rows' ids alone, and a store that grew gives most of it again.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from winnow.pipelines.annotate.reading import text_of
from winnow.pipelines.columns import Column, read_aligned
from winnow.pipelines.conditions import selected_rows
from winnow.pipelines.ledger.strikes import Position, poisoned
from winnow.pipelines.picked_rows import read_picked
from winnow.pipelines.score.binding import MEDIA, BoundScore, Condition
from winnow.pipelines.score.inputs import Inputs
from winnow.pipelines.store import layout
from winnow.pipelines.store.generations import Store
from winnow.pipelines.store.hidden.hiding import load_hiding
from winnow.schemas.errors import ScoreError
from winnow.schemas.words import words_of
from winnow.scoring.mixture.orders import draw_order, key_of
from winnow.scoring.tasks.protocol import IMAGE, NO_INPUT, OK, TEXT, UNREADABLE, Encoded, Measure, Task

LEFT_OUT = "left_out"  # a row that has killed workers

_ROWS = 8192
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
        max_bytes: Of all examples together; while they are put in order, they are held twice.

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
    parts: list[Any] = []
    places: list[NDArray[np.uint64]] = []
    left: dict[str, int] = {LEFT_OUT: killing} if killing else {}
    count = held = 0
    for number, shard in enumerate(shards):
        here = np.flatnonzero(of_shards == number)
        here = here[np.argsort(rows[here])]
        for encoded, part in _encoded(store, task, bound, shard, rows[here], inputs):
            good = encoded.status == OK
            for reason in encoded.status[~good]:
                left[reason] = left.get(reason, 0) + 1
            if not encoded.count:
                continue
            count, held = count + encoded.count, held + bytes_of(encoded.examples)
            if held > max_bytes:
                raise ScoreError(
                    f"score.{bound.entry.name}: examples to train the {purpose} on are held in memory, and {count:,} "
                    f"of {len(orders):,} samples came to {held:,} bytes, over the {max_bytes:,} that may be; lower "
                    f"max_samples, to {max(1, count * max_bytes // held):,} or less"
                )
            parts.append(encoded.examples)
            places.append(orders[here[part]][good])
    if not parts:
        said = f" of which {meant:,} are meant and none gives an example: {_reasons(left)}" if meant else ""
        where = f"'{condition.text}'" if condition.text is not None else "all rows"
        raise ScoreError(f"score.{bound.entry.name}: nothing to train the {purpose} on: {where} of {store.root}{said}")
    whole = task.joined(parts) if len(parts) > 1 else parts[0]
    del parts  # before there is one more copy
    order = np.argsort(np.concatenate(places), kind="stable")
    if (order[1:] < order[:-1]).any():
        whole = task.chosen(whole, order)
    return Collected(whole, len(order), meant, dict(sorted(left.items())))


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
    """Rows as examples, in their order: all at once, or as many as may have their images held at once.

    Raises:
        StageError: A file with an image cannot be reached.
    """
    if IMAGE not in task.reads:
        count = len(next(iter(read.values())))
        if count:
            yield slice(0, count), task.encode(_batch_of(task, bound, read, None))
        return
    for images in inputs.images(read[MEDIA.name], source):
        rows = images.rows
        some = {name: column.slice(rows.start, rows.stop - rows.start) for name, column in read.items()}
        encoded = task.encode(_batch_of(task, bound, some, images.bytes))
        # To the task both are nulls.
        status = np.where(images.gone & (encoded.status == NO_INPUT), UNREADABLE, encoded.status)
        yield rows, replace(encoded, status=status)


def bytes_of(held: object) -> int:
    """About how many bytes the arrays of an object take: arrays, and dataclasses and collections of them."""
    size = getattr(held, "nbytes", None)
    if isinstance(size, int):
        return size
    if is_dataclass(held):
        return sum(bytes_of(getattr(held, one.name)) for one in fields(held))
    if isinstance(held, Mapping):
        return sum(bytes_of(one) for one in held.values())
    if isinstance(held, list | tuple):
        return sum(bytes_of(one) for one in held)
    return len(held) if isinstance(held, str | bytes) else 8


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
