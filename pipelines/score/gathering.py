"""Examples of many parts as one, in an order of their own, without being held twice.

What takes most, a table with a row for each example, is written where it stays as each part arrives, and put in order
some columns at a time. The rest is joined and put in order as a whole, which holds it twice, and is counted twice.
"""

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from winnow.scoring.tasks.protocol import Measure, Tabular, Task

_SLAB = 16 << 20  # bytes of a table that are put in order at once


class Gathered:
    """Examples as they come, and where each belongs.

    Args:
        task: Whose examples they are.
        most: Examples that there can be.
        max_bytes: That may be held of them; who adds more looks at `held` and stops.
    """

    def __init__(self, task: Task | Measure, most: int, max_bytes: int) -> None:
        self.count = 0
        self.held = 0  # bytes, at the worst moment until `whole` has returned
        self._task, self._most, self._max_bytes = task, most, max_bytes
        self._parts: list[Any] = []
        self._places: list[NDArray[np.uint64]] = []
        self._table: NDArray[Any] | None = None

    def add(self, examples: Any, places: NDArray[np.uint64]) -> None:
        """Take examples, of which there is one for each place."""
        count = len(places)
        table = examples.table if isinstance(examples, Tabular) else None
        if table is not None:
            if self._table is None:
                row = max(1, table.nbytes // count)
                # One more than may be held: pages that nothing is written to take no memory.
                self._table = np.empty((min(self._most, self._max_bytes // row + 1), *table.shape[1:]), table.dtype)
            room = self._table[self.count : self.count + count]
            room[:] = table[: len(room)]
            self.held += table.nbytes
            examples = examples.with_table(np.empty((count, 0), table.dtype))
        self.held += 2 * bytes_of(examples)
        self._parts.append(examples)
        self._places.append(places)
        self.count += count

    def whole(self) -> Any:
        """All of them, in the order of their places; nothing can be added afterwards."""
        order = np.argsort(np.concatenate(self._places), kind="stable")
        examples = self._task.joined(self._parts) if len(self._parts) > 1 else self._parts[0]
        self._parts.clear()  # before there is one more copy
        if (order[1:] < order[:-1]).any():
            examples = self._task.chosen(examples, order)
        if self._table is None:
            return examples
        table, self._table = self._table[: self.count], None
        put_in_order(table, order)
        return examples.with_table(table)


def put_in_order(table: NDArray[Any], order: NDArray[np.int64], slab: int = _SLAB) -> None:
    """Rows of a table in another order, where they are: so many bytes are held beside it, or one of each row."""
    if not table.nbytes or not (order[1:] < order[:-1]).any():
        return
    raw = table.reshape(len(table), -1).view(np.uint8)
    step = max(1, slab // len(table))
    for first in range(0, raw.shape[1], step):
        columns = raw[:, first : first + step]
        columns[:] = columns[order]


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
