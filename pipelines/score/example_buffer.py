"""Joins examples of many parts into one, sorted, without holding them twice.

The largest part of the data, a table with one row per example, is written to its final memory as parts arrive, and
sorted some columns at a time. The rest is joined and sorted at once, which holds it twice, so it is counted twice.
"""

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from winnow.scoring.protocol import Measure, Tabular, Task

_SLAB = 16 << 20  # bytes of a table that are sorted at once


class ExampleBuffer:
    """Collects examples with their sort keys, at most `max_examples`. The caller checks `held` against `max_bytes`
    after each addition."""

    def __init__(self, task: Task | Measure, max_examples: int, max_bytes: int) -> None:
        self.count = 0
        self.held = 0  # bytes: the peak until `finish` has returned
        self._task, self._max_examples, self._max_bytes = task, max_examples, max_bytes
        self._parts: list[Any] = []
        self._places: list[NDArray[np.uint64]] = []
        self._table: NDArray[Any] | None = None

    def add(self, examples: Any, places: NDArray[np.uint64]) -> None:
        """Add examples, one for each place."""
        count = len(places)
        table = examples.table if isinstance(examples, Tabular) else None
        if table is not None:
            if self._table is None:
                row = max(1, table.nbytes // count)
                # One row more than the limit allows: pages that are never written take no memory.
                rows = min(self._max_examples, self._max_bytes // row + 1)
                self._table = np.empty((rows, *table.shape[1:]), table.dtype)
            room = self._table[self.count : self.count + count]
            room[:] = table[: len(room)]
            self.held += table.nbytes
            examples = examples.with_table(np.empty((count, 0), table.dtype))
        self.held += 2 * bytes_of(examples)
        self._parts.append(examples)
        self._places.append(places)
        self.count += count

    def finish(self) -> Any:
        """Return all examples, sorted by place; nothing can be added afterwards."""
        order = np.argsort(np.concatenate(self._places), kind="stable")
        examples = self._task.joined(self._parts) if len(self._parts) > 1 else self._parts[0]
        self._parts.clear()  # before the next copy is made
        if (order[1:] < order[:-1]).any():
            examples = self._task.chosen(examples, order)
        if self._table is None:
            return examples
        table, self._table = self._table[: self.count], None
        reorder_in_place(table, order)
        return examples.with_table(table)


def reorder_in_place(table: NDArray[Any], order: NDArray[np.int64], slab: int = _SLAB) -> None:
    """Reorder the rows of a table in place, with about `slab` bytes of extra memory."""
    if not table.nbytes or not (order[1:] < order[:-1]).any():
        return
    raw = table.reshape(len(table), -1).view(np.uint8)
    step = max(1, slab // len(table))
    for first in range(0, raw.shape[1], step):
        columns = raw[:, first : first + step]
        columns[:] = columns[order]


def bytes_of(held: object) -> int:
    """Return about how many bytes an object's arrays take, including those in dataclasses and collections."""
    size = getattr(held, "nbytes", None)
    if isinstance(size, int):
        return size
    if is_dataclass(held):
        return sum(bytes_of(getattr(held, field.name)) for field in fields(held))
    if isinstance(held, Mapping):
        return sum(bytes_of(one) for one in held.values())
    if isinstance(held, list | tuple):
        return sum(bytes_of(one) for one in held)
    return len(held) if isinstance(held, str | bytes) else 8
