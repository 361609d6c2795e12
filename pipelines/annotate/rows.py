"""Runs one operator on one batch: rows that it cannot measure become null, with a status that says why (law 2)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from winnow.filters.language.folding.composed import ComposedTexts, composed_texts, has_spans, spans_as_written
from winnow.filters.operators import STATUS, TEXT, Kernel, Operator, TextOperator
from winnow.schemas.errors import StageError, WinnowError
from winnow.schemas.problems import one_line
from winnow.schemas.rows.measured import NO_TEXT, STATUSES
from winnow.schemas.tombstones import FORGOTTEN

_COMPOSED = "text (composed)"  # no column of a store has this name


class BatchRows:
    """The columns of one batch, from which each operator gets the rows that it measures.

    Operators that measure the same rows get the same arrays, so they can share cached results, such as the positions
    of words.
    """

    def __init__(self, columns: Mapping[str, pa.Array]) -> None:
        self._columns = dict(columns)
        self._taken: dict[tuple[str, bytes], pa.Array] = {}
        self._composed: ComposedTexts | None = None
        self.count = len(next(iter(columns.values())))

    def __contains__(self, name: str) -> bool:
        return name in self._columns

    def __getitem__(self, name: str) -> pa.Array:
        return self._columns[name]

    def add(self, columns: Mapping[str, pa.Array]) -> None:
        """Add columns that an operator has written, for operators that read them."""
        self._columns |= columns

    @property
    def composed(self) -> ComposedTexts:
        """The texts in composed form, in which most operators read them."""
        if self._composed is None:
            self._composed = composed_texts(self._columns[TEXT])
            self._columns[_COMPOSED] = self._composed.texts
        return self._composed

    def chosen(self, names: Sequence[str], rows: NDArray[np.int64], as_written: bool = True) -> pa.RecordBatch:
        """Return these rows of these columns, the text as written or in composed form."""
        held = list(names)
        if not as_written and TEXT in names and len(self.composed.changed):
            held[held.index(TEXT)] = _COMPOSED
        if len(rows) == self.count:
            return pa.RecordBatch.from_arrays([self._columns[name] for name in held], names=list(names))
        which = rows.tobytes()
        indices = pa.array(rows)
        for name in held:
            if (name, which) not in self._taken:
                self._taken[name, which] = self._columns[name].take(indices)
        return pa.RecordBatch.from_arrays([self._taken[name, which] for name in held], names=list(names))


@dataclass(frozen=True, slots=True)
class Excluded:
    """Rows of a batch that an operator does not measure."""

    selected: NDArray[np.bool_] | None  # the rows that its condition selects; None for all
    left_out: NDArray[np.bool_] | None  # rows that have killed workers; None for none
    forgotten: NDArray[np.bool_] | None = None  # rows that a tombstone hides; None for none


def measure(
    operator: TextOperator,
    kernel: Kernel,
    schema: pa.Schema,
    names: Sequence[str],
    batch: BatchRows,
    excluded: Excluded,
    max_text_bytes: int,
) -> pa.RecordBatch:
    """Return an operator's layer for a batch that holds the columns `names` and those of `needs`.

    Rows in `excluded`, and texts longer than `max_text_bytes`, are not measured.
    """
    rows = batch.count
    codes = status_codes(operator, names, batch, excluded, max_text_bytes)
    chosen = np.flatnonzero(codes == 0)
    given = batch.chosen(names, chosen, operator.as_written)
    try:
        found = run_kernel(operator, kernel, given)
    except MemoryError:
        raise StageError(
            f"{operator.name}: out of memory with {given.nbytes / (1 << 20):,.1f} MiB of rows; use fewer --workers or "
            "give them more memory, or lower limits.batch_bytes or limits.max_text_bytes in the recipe"
        ) from None
    check_measured(operator, schema, found, len(chosen))
    if TEXT in names and not operator.as_written:
        found = _with_spans_as_written(found, batch, chosen)
    if len(chosen) == rows:
        status = found.column(STATUS.name) if STATUS.name in found.schema.names else pa.array(["ok"] * rows)
        columns = [status, *(found.column(field.name) for field in list(schema)[1:])]
        return pa.RecordBatch.from_arrays(columns, schema=schema)
    places = np.full(rows, -1, np.int64)
    places[chosen] = np.arange(len(chosen))
    at = pa.array(places, mask=places < 0)
    own = pa.array(np.array(STATUSES, dtype=object)[codes], pa.string())
    if STATUS.name in found.schema.names:
        own = pc.coalesce(pc.take(found.column(STATUS.name), at), own)
    measured = [pc.take(found.column(field.name), at) for field in list(schema)[1:]]
    return pa.RecordBatch.from_arrays([own, *measured], schema=schema)


def status_codes(
    operator: TextOperator, names: Sequence[str], batch: BatchRows, excluded: Excluded, max_text_bytes: int
) -> NDArray[np.int8]:
    """The status of every row, as a number in `STATUSES`: 0 for those that an operator which reads `names` measures."""
    codes = excluded_codes(operator.needs, batch, excluded)
    if TEXT in names:
        sizes = pc.fill_null(pc.binary_length(batch[TEXT]), 0).to_numpy(zero_copy_only=False)
        codes[(codes == 0) & (sizes > max_text_bytes)] = STATUSES.index("too_large")
    return codes


def run_kernel(operator: Operator, kernel: Kernel, given: pa.RecordBatch) -> pa.RecordBatch:
    """Run a kernel.

    An error of the operator becomes a RuntimeError that names the operator and quotes the error. An OSError stays one.
    """
    try:
        return kernel(given)
    except (WinnowError, MemoryError):
        raise
    except OSError as error:
        if error.errno is None:
            raise
        raise OSError(error.errno, f"{operator.name}: {error.strerror}", error.filename) from error
    except (Exception, SystemExit) as error:  # else an operator could exit with a false success
        words = one_line(str(error))  # of what a worker prints, the last line is shown
        raise RuntimeError(f"{operator.name} failed: {type(error).__name__}: {words}") from error


def _with_spans_as_written(found: pa.RecordBatch, batch: BatchRows, chosen: NDArray[np.int64]) -> pa.RecordBatch:
    """Maps the spans of composed texts to their places in the texts as written."""
    changed = np.flatnonzero(np.isin(chosen, batch.composed.changed))
    if len(changed):
        texts = batch.chosen([TEXT], chosen).column(TEXT)
        for at, field in enumerate(found.schema):
            if has_spans(field.type):
                found = found.set_column(at, field, spans_as_written(found.column(at), texts, changed))
    return found


def excluded_codes(needs: Sequence[str], batch: BatchRows, excluded: Excluded) -> NDArray[np.int8]:
    """The status of every row, as a number in `STATUSES`: 0 for those that are to be measured."""
    codes = np.zeros(batch.count, np.int8)

    def exclude(which: NDArray[np.bool_], status: str) -> None:
        codes[which & (codes == 0)] = STATUSES.index(status)

    if excluded.forgotten is not None:
        exclude(excluded.forgotten, FORGOTTEN)
    if excluded.left_out is not None:
        exclude(excluded.left_out, "left_out")
    if excluded.selected is not None:
        exclude(~excluded.selected, "not_selected")
    for name in needs:
        absent = batch[name].is_null().to_numpy(zero_copy_only=False)
        exclude(absent, NO_TEXT if name == TEXT else "no_input")
    return codes


def check_measured(operator: Operator, schema: pa.Schema, found: pa.RecordBatch, rows: int) -> None:
    """Raise StageError unless a kernel returned the layer's columns: operators may be third-party code."""
    if found.num_rows != rows:
        raise StageError(
            f"{operator.name}: returned {found.num_rows} rows for {rows}; it must return one row per input"
        )
    for field in list(schema)[1:]:
        index = found.schema.get_field_index(field.name)
        if index < 0 or found.schema.field(index).type != field.type:
            has = "nothing" if index < 0 else found.schema.field(index).type
            raise StageError(f"{operator.name}: column {field.name!r}: expected {field.type}, it returned {has}")
        if pa.types.is_floating(field.type) and rows:
            finite = pc.all(pc.is_finite(found.column(index)))
            if finite.as_py() is False:
                raise StageError(
                    f"{operator.name}: column {field.name!r} holds a number that is not finite; return null instead"
                )
