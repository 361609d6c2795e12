"""Collects training examples: of the rows that meet a condition, those with the smallest hashes.

The choice depends only on the store's seed and the rows' ids, so a store that grew gives mostly the same examples.
"""

import itertools
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from winnow.filters.language.folding.composed import composed_texts
from winnow.pipelines.binding.scores import BoundScore, Condition
from winnow.pipelines.media.score_inputs import Images, Inputs
from winnow.pipelines.reading.chosen_text import text_of
from winnow.pipelines.reading.columns import MEDIA, Column, read_aligned
from winnow.pipelines.reading.conditions import selected_rows
from winnow.pipelines.reading.picked_rows import read_picked
from winnow.pipelines.running.ledger.worker_deaths import Position, excluded_positions
from winnow.pipelines.score.example_buffer import ExampleBuffer
from winnow.pipelines.store import layout
from winnow.pipelines.store.generations import Store
from winnow.pipelines.store.hiding.redaction import hidden_in
from winnow.pipelines.store.hiding.scans import load_hiding
from winnow.schemas.counts import count_of
from winnow.schemas.errors import ScoreError
from winnow.schemas.uint128 import words_of
from winnow.scoring.mixture.orders import draw_order, key_of
from winnow.scoring.protocol import IMAGE, NO_INPUT, OK, TEXT, Encoded, Measure, Task, fit_of

LEFT_OUT = "left_out"  # a row that has killed workers
HELD_OUT = "held_out"  # a row that is kept to try measures on
PLANTED, HELD_OUT_SHARE = "planted errors", 0.1
"""The purpose of the rows that are held out of the trajectory's training, where a task can plant errors in them."""

_HELD_OUT_BELOW = np.uint64(round(HELD_OUT_SHARE * 2**64))
_ROWS = 8192
_TEXT_BYTES = 16 << 20  # of the texts that are encoded at once; a larger text is encoded alone
_ID = Column(layout.SAMPLES, "id")
_PLACE = tuple(Column(layout.SAMPLES, leaf) for leaf in ("source.path", "source.offset", "source.member"))


@dataclass(frozen=True, slots=True)
class ScoredShard:
    """A shard, and the objects of the layers that are read of it."""

    shard: str
    source: str
    objects: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Collected:
    """Examples, sorted by their hashes."""

    examples: Any
    count: int
    matching: int  # rows that meet the condition
    excluded: Mapping[str, int]  # rows that gave no example, by reason


def collect_examples(
    store: Store,
    task: Task,
    bound: BoundScore,
    shards: Sequence[ScoredShard],
    condition: Condition,
    purpose: str,
    max_samples: int | None,
    inputs: Inputs,
    max_bytes: int = 4 << 30,
    *,
    wanted: int | None = None,
    held_out: bool | None = None,
) -> Collected:
    """Return examples of rows that meet a condition: those with the smallest hashes, up to `max_samples` (None: all).

    `shards` are sorted by name; `purpose` is part of the hashes' key; `inputs` reads pictures for tasks that need them.
    `max_bytes` bounds the memory of all examples while they are collected and sorted. After `wanted` examples it stops;
    then fewer, or none, are no error. `held_out`: only rows that are held out to try measures on, or none of them
    (None: all). ScoreError if no row gives an example, or they exceed `max_bytes`; StageError if an image is out of
    reach.
    """
    key = key_of(bound.seed, f"score/{bound.entry.name}/{purpose}")
    sources = dict.fromkeys(shard.source for shard in shards)
    deadly = {source: excluded_positions(store.objects, f"{bound.entry.trace}/{source}") for source in sources}
    drawn_by = key_of(bound.seed, f"score/{bound.entry.name}/{PLANTED}")
    found, excluded = _matching_rows(store, shards, condition, key, deadly, drawn_by, held_out)
    orders, of_shards, rows = found
    matching = len(orders) + sum(excluded.values())
    if max_samples is not None and len(orders) > max_samples:
        chosen = np.argpartition(orders, max_samples - 1)[:max_samples]
        orders, of_shards, rows = orders[chosen], of_shards[chosen], rows[chosen]
    rounds = _rounds(orders, wanted)
    inputs = inputs.in_store(store.objects)
    buffer = ExampleBuffer(task, len(orders), max_bytes)
    for these, (number, shard) in itertools.product(rounds, enumerate(shards)):
        if number == 0 and wanted is not None and buffer.count >= wanted:
            break
        here = these[of_shards[these] == number]
        here = here[np.argsort(rows[here])]
        for encoded, part in _encode_rows(store, task, bound, shard, rows[here], inputs):
            good = encoded.status == OK
            for reason in encoded.status[~good]:
                excluded[reason] = excluded.get(reason, 0) + 1
            if not encoded.count:
                continue
            buffer.add(encoded.examples, orders[here[part]][good])
            if (held := buffer.held) > max_bytes:
                raise ScoreError(
                    f"score.{bound.entry.name}: the examples to train the {purpose} on take too much memory: "
                    f"{buffer.count:,} of {len(orders):,} samples take {held:,} bytes, over the limit of "
                    f"{max_bytes:,}; lower max_samples to {max(1, buffer.count * max_bytes // held):,} or less"
                )
    if wanted is not None:
        examples = buffer.finish() if buffer.count else None
        if buffer.count > wanted:
            examples = task.chosen(examples, np.arange(wanted))
        return Collected(examples, min(buffer.count, wanted), matching, dict(sorted(excluded.items())))
    if not buffer.count:
        where = f"the condition {condition.text}" if condition.text is not None else "the score's rows"
        if matching:
            meet = count_of(matching, "row of the store meets", "rows of the store meet")
            message = f"{meet} {where}, but none gives an example: {_reasons(excluded)}"
        else:
            message = f"no row of {store.root} meets {where}; winnow stats shows which values its columns have"
        raise ScoreError(f"score.{bound.entry.name}: nothing to train the {purpose} on: {message}")
    return Collected(buffer.finish(), buffer.count, matching, dict(sorted(excluded.items())))


def _rounds(orders: NDArray[np.uint64], wanted: int | None) -> list[NDArray[np.int64]]:
    """Divide rows into rounds of ascending hashes, each with twice as many rows as the one before; one if all are
    wanted."""
    if wanted is None:
        return [np.arange(len(orders))]
    ends: list[int] = []
    size = wanted
    while (end := (ends[-1] if ends else 0) + size) < len(orders):
        ends.append(end)
        size *= 2
    return np.split(np.argsort(orders, kind="stable"), ends)


def _reasons(excluded: Mapping[str, int]) -> str:
    return ", ".join(f"{count:,} {reason}" for reason, count in sorted(excluded.items()))


def _matching_rows(
    store: Store,
    shards: Sequence[ScoredShard],
    condition: Condition,
    key: Any,
    deadly: Mapping[str, frozenset[Position]],
    drawn_by: Any,
    held_out: bool | None,
) -> tuple[tuple[NDArray[np.uint64], NDArray[np.int64], NDArray[np.int64]], dict[str, int]]:
    """Return the hash, shard number and row number of each matching row, and how many others match: rows that kill
    workers, and rows that another key holds out."""
    orders: list[NDArray[np.uint64]] = []
    of_shards: list[NDArray[np.int64]] = []
    rows: list[NDArray[np.int64]] = []
    hiding = load_hiding(store.objects)
    excluded: Counter[str] = Counter()
    for number, shard in enumerate(shards):
        deadly_rows = deadly[shard.source]
        columns = dict.fromkeys((_ID, *condition.columns, *(_PLACE if deadly_rows else ())))
        hidden = hiding.of(store.objects, shard.objects[layout.SAMPLES]).rows
        done = 0
        for read in read_aligned(store.objects, shard.objects, columns, _ROWS, hidden):
            count = len(read[_ID.name])
            matches = np.ones(count, np.bool_)
            if condition.text is not None:
                named = {column.name: read[column.name] for column in condition.columns}
                matches = selected_rows(condition.text, named, count)
            matches &= ~hidden_in(hidden, done, count)
            if deadly_rows:
                at = zip(*(read[column.name].to_pylist() for column in _PLACE), strict=True)
                out = np.array([Position(*place) in deadly_rows for place in at], np.bool_)
                excluded[LEFT_OUT] += int(np.count_nonzero(matches & out))
                matches &= ~out
            which = np.flatnonzero(matches)
            ids = words_of(read[_ID.name].take(pa.array(which)))
            order = draw_order(ids, key)
            if held_out is not None:
                taken = (draw_order(ids, drawn_by) < _HELD_OUT_BELOW) == held_out
                excluded[HELD_OUT] += 0 if held_out else int(np.count_nonzero(~taken))
                which, order = which[taken], order[taken]
            orders.append(order)
            of_shards.append(np.full(len(which), number, np.int64))
            rows.append(which + done)
            done += count
    found = {reason: count for reason, count in excluded.items() if count}
    if not orders:
        return (np.zeros(0, np.uint64), np.zeros(0, np.int64), np.zeros(0, np.int64)), found
    return (np.concatenate(orders), np.concatenate(of_shards), np.concatenate(rows)), found


def _encode_rows(
    store: Store, task: Task, bound: BoundScore, shard: ScoredShard, rows: NDArray[np.int64], inputs: Inputs
) -> Iterator[tuple[Encoded, NDArray[np.int64]]]:
    """Yield examples of a shard's rows, part by part, with the positions of their rows in `rows`."""
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
    """Yield rows as examples, in order, of videos their middle frames; raises as `encoded_passes` does."""
    for rows, passes, _ in encoded_passes(task, bound, read, inputs, source):
        yield rows, next(passes)


def encoded_passes(
    task: Task | Measure, bound: BoundScore, read: Mapping[str, pa.Array], inputs: Inputs, source: str
) -> Iterator[tuple[slice, Iterator[Encoded], NDArray[np.int64]]]:
    """Yield rows as examples, in order: as many at once as fit in the limits for texts and pictures.

    Yields the rows; their examples in each pass (`winnow.pipelines.media.score_inputs.Images`), with the same statuses;
    and how many passes show each row something new. StageError if an image is out of reach.
    """
    if IMAGE not in task.reads:
        batch = _task_batch(task, bound, read, None)
        for rows in _text_slices(batch):
            count = rows.stop - rows.start
            yield rows, iter([task.encode(batch.slice(rows.start, count))]), np.ones(count, np.int64)
        return
    for images in inputs.images(read[MEDIA.name], source, task.side, fit=fit_of(task)):
        rows = images.rows
        some = {name: column.slice(rows.start, rows.stop - rows.start) for name, column in read.items()}
        refused = np.array([status is not None for status in images.statuses], np.bool_)

        def encoded(
            squares: pa.Array,
            some: Mapping[str, pa.Array] = some,
            refused: NDArray[np.bool_] = refused,
            images: Images = images,
        ) -> Encoded:
            found = task.encode(_task_batch(task, bound, some, squares))
            # The task sees a null where there is no picture, and where one cannot be decoded.
            status = np.where(refused & (found.status == NO_INPUT), images.statuses, found.status)
            return replace(found, status=status)

        yield rows, map(encoded, images.passes), images.counts


def _text_slices(batch: pa.RecordBatch) -> Iterator[slice]:
    """Yield slices of consecutive rows whose texts fit in the limit."""
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
    """Whether each text is longer than the limit."""
    return pc.greater(pc.fill_null(pc.binary_length(texts), 0), max_text_bytes)


def _task_batch(
    task: Task | Measure, bound: BoundScore, read: Mapping[str, pa.Array], images: pa.Array | None
) -> pa.RecordBatch:
    """Return the columns that a task reads, from columns of the store."""
    columns: dict[str, pa.Array] = {}
    for name in task.reads:
        if name == TEXT:
            texts = text_of([column.name for column in bound.text], read)
            fitting = pc.if_else(too_large(texts, bound.max_text_bytes), None, texts)
            columns[name] = composed_texts(fitting).texts
        else:
            columns[name] = images if name == IMAGE else read[name]
    return pa.RecordBatch.from_arrays(list(columns.values()), names=list(columns))
