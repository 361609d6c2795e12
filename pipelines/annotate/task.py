"""One shard of one pass: its rows are read once, every operator that is owed measures them, each layer is committed."""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Self

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from winnow.filters.operators import TEXT, Kernel
from winnow.pipelines.annotate.bound import SAMPLES_LAYER, BoundOperator
from winnow.pipelines.annotate.rows import Rows, measure
from winnow.pipelines.columns import Column, read_aligned
from winnow.pipelines.conditions import selected_rows
from winnow.pipelines.ledger.strikes import Marker, Position, is_struck, poisoned
from winnow.pipelines.store.generations import Store
from winnow.pipelines.store.hidden.hiding import load_hiding
from winnow.pipelines.store.layers import LayerWriter
from winnow.pipelines.worker import Heart
from winnow.schemas.conditions import columns_read
from winnow.schemas.identity import canonical_json
from winnow.schemas.statistics import layer_spec

ANNOTATE = "annotate/"
"""What strikes and poison of this stage are kept under: a row that kills a measurement is a sample all the same."""

BATCH_ROWS = 2048
BATCH_BYTES = 16 << 20  # of text; a batch that holds more is cut

_PLACE = tuple(Column(SAMPLES_LAYER, leaf) for leaf in ("source.path", "source.offset", "source.member"))


@dataclass(frozen=True, slots=True)
class AnnotationTask:
    """A shard and the layers of a pass that it lacks."""

    shard: str
    source: str
    objects: Mapping[str, str]  # of `samples` and of every layer that is read, by layer
    owed: Mapping[str, str]  # the key of each layer that is owed, by layer

    def last(self, operators: Sequence[BoundOperator]) -> tuple[str, str]:
        """The layer that is committed last, with its key: when it stands, the task is done."""
        layer = [bound.layer for bound in operators if bound.layer in self.owed][-1]
        return layer, self.owed[layer]

    @classmethod
    def from_json(cls, raw: bytes) -> Self:
        """From its line in a task list."""
        return cls(**orjson.loads(raw))

    def to_json(self) -> bytes:
        """Its line in a task list."""
        return canonical_json(asdict(self)).encode()


@dataclass(frozen=True)
class AnnotationContext:
    """Everything that a pass's values depend on, and where they go."""

    store: Store
    operators: tuple[BoundOperator, ...]  # in the order in which they run


def annotate_shard(
    context: AnnotationContext, kernels: Mapping[str, Kernel], task: AnnotationTask, beat: Heart
) -> None:
    """Make and commit the layers that a shard owes.

    Args:
        context: The pass.
        kernels: The operators that are owed, made ready, by layer.
        task: The shard.
        beat: Says how far it is.
    """
    owed = [bound for bound in context.operators if bound.layer in task.owed]
    writers = {
        bound.layer: LayerWriter(context.store, bound.schema, layer_spec(bound.layer, bound.schema)) for bound in owed
    }
    marker = Marker(f"{ANNOTATE}{task.source}", task.shard)
    poison = poisoned(context.store.objects, f"{ANNOTATE}{task.source}")
    hidden = load_hiding(context.store.objects).of(context.store.objects, task.objects[SAMPLES_LAYER]).rows
    done = 0
    try:
        for columns in _batches(context.store, task, owed, hidden):
            rows = Rows(columns)
            rows.add(_texts(owed, columns))
            out = np.array([place in poison for place in _positions(columns)], np.bool_) if poison else None
            first, last = np.searchsorted(hidden, (done, done + rows.count))
            gone = np.isin(np.arange(rows.count), hidden[first:last] - done) if first < last else None
            _mark(marker, columns)
            for bound in owed:
                found = _measured(bound, kernels[bound.layer], rows, out, gone)
                rows.add({f"{bound.layer}.{name}": found.column(name) for name in found.schema.names})
                writers[bound.layer].write(found)
            done += rows.count
            beat(done, done, 0)
        for bound in owed:
            writers[bound.layer].commit(
                bound.layer, task.owed[bound.layer], task.shard, task.source, task.objects[SAMPLES_LAYER]
            )
    except BaseException:
        for writer in writers.values():
            writer.discard()
        raise
    finally:
        marker.clear()


def _batches(
    store: Store, task: AnnotationTask, owed: list[BoundOperator], hidden: NDArray[np.int64]
) -> Iterator[dict[str, pa.Array]]:
    """The shard's rows with every stored column that the operators read, in batches of bounded bytes."""
    made = set(task.owed)
    needed = dict.fromkeys(column for bound in owed for column in bound.columns if column.layer not in made)
    needed |= dict.fromkeys(_PLACE)
    struck = is_struck(store.objects, f"{ANNOTATE}{task.source}", task.shard)
    texts = sorted({name for bound in owed for name in bound.text} & {column.name for column in needed})
    for columns in read_aligned(store.objects, task.objects, needed, 1 if struck else BATCH_ROWS, hidden):
        sizes = np.zeros(len(next(iter(columns.values()))), np.int64)
        for name in texts:
            sizes += pc.fill_null(pc.binary_length(columns[name]), 0).to_numpy(zero_copy_only=False)
        cuts = [0, *_cuts(sizes), len(sizes)]
        for first, last in itertools.pairwise(cuts):
            yield {name: array.slice(first, last - first) for name, array in columns.items()}


def _cuts(sizes: NDArray[np.int64]) -> list[int]:
    cuts, held = [], 0
    for row, size in enumerate(sizes.tolist()):
        if held and held + size > BATCH_BYTES:
            cuts.append(row)
            held = 0
        held += size
    return cuts


def _measured(
    bound: BoundOperator,
    kernel: Kernel,
    rows: Rows,
    left_out: NDArray[np.bool_] | None,
    forgotten: NDArray[np.bool_] | None,
) -> pa.RecordBatch:
    chosen = None
    if bound.where is not None:
        read = {name: rows[name] for name in columns_read(bound.where)}
        chosen = selected_rows(bound.where, read, rows.count)
    names = bound.operator.reads(bound.config)
    return measure(bound.operator, kernel, bound.schema, names, rows, chosen, left_out, bound.max_text_bytes, forgotten)


def _texts(owed: list[BoundOperator], columns: Mapping[str, pa.Array]) -> dict[str, pa.Array]:
    """What the recipe's `text` is in every row, where an operator reads it."""
    reader = next((bound for bound in owed if TEXT in bound.operator.reads(bound.config)), None)
    if reader is None:
        return {}
    texts = [columns[name].cast(pa.large_string()) for name in reader.text]
    return {TEXT: texts[0] if len(texts) == 1 else pc.coalesce(*texts)}


def _positions(columns: Mapping[str, pa.Array]) -> Iterator[Position]:
    found = (columns[column.name].to_pylist() for column in _PLACE)
    return (Position(*place) for place in zip(*found, strict=True))


def _mark(marker: Marker, columns: Mapping[str, pa.Array]) -> None:
    # The first row of the batch: after a strike batches have one row, so that a mark names the very row.
    place = next(_positions({name: columns[name].slice(0, 1) for name in (column.name for column in _PLACE)}))
    marker.at(place.path, place.offset, place.member)
