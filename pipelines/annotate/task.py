"""One shard of one pass: its rows are read once, every operator that is owed measures them, each layer is committed."""

from collections.abc import Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from winnow.filters.operators import TEXT, Kernel
from winnow.pipelines.annotate.reading import Shard, read_parts, text_of
from winnow.pipelines.annotate.rows import Rows, measure
from winnow.pipelines.binding.operators import SAMPLES_LAYER, BoundOperator
from winnow.pipelines.query.conditions import selected_rows
from winnow.pipelines.running.tasks import TaskLine
from winnow.pipelines.running.worker import Heart
from winnow.pipelines.store.generations import Store
from winnow.pipelines.store.layers import LayerWriter
from winnow.schemas.conditions import columns_read
from winnow.schemas.statistics import layer_spec

ANNOTATE = "annotate/"
"""What strikes and poison of this stage are kept under: a row that kills a measurement is a sample all the same."""


class RowLayer(Protocol):
    """A layer that is made row by row, of other layers of the same shard."""

    @property
    def layer(self) -> str:
        """Its name."""

    @property
    def reads(self) -> tuple[str, ...]:
        """The layers that it reads, each once."""

    def key(self, keys: Mapping[str, str]) -> str:
        """Its key for one source, from the keys of the layers that it reads there."""


@dataclass(frozen=True, slots=True)
class AnnotationTask(TaskLine):
    """A shard and the layers of a pass that it lacks."""

    shard: str
    source: str
    objects: Mapping[str, str]  # of `samples` and of every layer that is read, by layer
    owed: Mapping[str, str]  # the key of each layer that is owed, by layer

    def last(self, operators: Sequence[RowLayer]) -> tuple[str, str]:
        """The layer that is committed last, with its key: when it stands, the task is done."""
        layer = [bound.layer for bound in operators if bound.layer in self.owed][-1]
        return layer, self.owed[layer]

    @property
    def read(self) -> Shard:
        """What is read of the shard."""
        return Shard(self.shard, self.source, self.objects)


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
    made = set(task.owed)
    columns = list(dict.fromkeys(column for bound in owed for column in bound.columns if column.layer not in made))
    texts = sorted({name for bound in owed for name in bound.text} & {column.name for column in columns})
    done = 0
    with ExitStack() as stack:
        writers = {
            bound.layer: stack.enter_context(
                LayerWriter(context.store, bound.schema, layer_spec(bound.layer, bound.schema))
            )
            for bound in owed
        }
        with closing(read_parts(context.store, ANNOTATE, task.read, columns, texts)) as parts:
            for part in parts:
                rows = Rows(part.columns)
                rows.add(_texts(owed, part.columns))
                for bound in owed:
                    found = _measured(bound, kernels[bound.layer], rows, part.left_out, part.forgotten)
                    rows.add({f"{bound.layer}.{name}": found.column(name) for name in found.schema.names})
                    writers[bound.layer].write(found)
                done += part.count
                beat(done, done, 0)
        for bound in owed:
            writers[bound.layer].commit(
                bound.layer, task.owed[bound.layer], task.shard, task.source, task.objects[SAMPLES_LAYER]
            )


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
    return {TEXT: text_of(reader.text, columns)}
