"""For which rows of the frame a rule fires, as the evaluator of `winnow plan` decides it; kept for the next step."""

import threading
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from winnow.pipelines.binding.rule_presets import ProgramRule
from winnow.pipelines.binding.rules import RuleProgram
from winnow.pipelines.processes.cancelling import CancelledError, cancelled_flag
from winnow.pipelines.reading.columns import Column
from winnow.pipelines.reading.item_lists import DROPPED, KEPT
from winnow.pipelines.rules.evaluation import Evaluator, NullConditionError
from winnow.pipelines.rules.map_shards import THREADS
from winnow.pipelines.store import layout
from winnow.runners.inspect.frame import Frame, Marks, Rows
from winnow.runners.inspect.measures import Measure, Span, chunks_of, map_blocks, measure_of, plain
from winnow.runners.inspect.opened import Opened
from winnow.runners.inspect.view import AskedError
from winnow.schemas.rows.duplicates import VIRTUAL
from winnow.schemas.rules.conditions import columns_read


@dataclass(frozen=True)
class Fired:
    """For which rows a rule fires."""

    marks: Marks

    @property
    def nbytes(self) -> int:
        """A byte a row."""
        return int(self.marks.nbytes)


@dataclass(frozen=True)
class OneRule:
    """A rule alone, with all that it reads."""

    rule: ProgramRule
    program: RuleProgram  # of this rule
    columns: tuple[Column, ...]  # of layers
    virtual: tuple[str, ...]  # what no layer has: marks of duplicates, and counts of media

    @classmethod
    def of(cls, program: RuleProgram, rule: ProgramRule) -> "OneRule":
        """One rule of a program."""
        names = columns_read(rule.rule.drop)
        tables = tuple(
            table for table in program.tables if any(table.column_name(column) in names for column in table.columns)
        )
        read = dict.fromkeys((*names, *(table.key for table in tables)))
        columns = tuple(column for column in program.columns if column.name in read)
        virtual = tuple(name for name in names if name in (KEPT, DROPPED) or name.startswith(f"{VIRTUAL}."))
        alone = replace(program, rules=(rule,), columns=columns, tables=tables, choice=None)
        return cls(rule, alone, columns, virtual)

    @property
    def key(self) -> tuple[object, ...]:
        """Equal keys mean equal decisions on the same rows."""
        tables = tuple(table.digest for table in self.program.tables)
        return "fired", self.rule.rule.drop, self.rule.rule.when_null, tables


def fired_by(opened: Opened, frame: Frame, one: OneRule, *, keep: bool = True) -> Marks:
    """For which rows a rule fires; AskedError if that cannot be decided for one. `keep`: for the next time."""
    found = opened.kept.find(one.key)
    if found is None:
        found = Fired(_fired(opened, frame, one))
        if keep:
            opened.kept.put(one.key, found)
    marks: Marks = found.marks
    return marks


def _fired(opened: Opened, frame: Frame, one: OneRule) -> Marks:
    marks = np.zeros(frame.rows, np.bool_)
    measures = [measure_of(opened, frame, column) for column in one.columns]
    cancelled, local = cancelled_flag(), threading.local()
    with ExitStack() as evaluators, ThreadPoolExecutor(THREADS) as pool:
        lock = threading.Lock()

        def decide(start: int, values: Mapping[str, pa.Array], rows: int) -> None:
            if cancelled():
                raise CancelledError("cancelled: the page asked something newer")
            if not hasattr(local, "evaluator"):
                local.evaluator = Evaluator(one.program)
                with lock:
                    evaluators.push(local.evaluator)
            marks[start : start + rows] = decided(local.evaluator, frame, one, start, values, rows)

        if any(measure.is_long for measure in measures):
            columns = [*one.columns, _ID]
            for _ in map_blocks(opened, frame, columns, lambda at, block: decide(at, block, len(block[_ID.name]))):
                pass
            return marks
        running = [
            pool.submit(decide, start, values, end - start) for (start, end), values in _chunks(frame, one, measures)
        ]
        try:
            for future in running:
                future.result()
        finally:
            for future in running:
                future.cancel()
    return marks


_ID = Column(layout.SAMPLES, "modality")  # a narrow column, so that a block has rows if a rule reads no layer


def _chunks(frame: Frame, one: OneRule, measures: list[Measure]) -> Iterator[tuple[Span, dict[str, pa.Array]]]:
    for number, span in enumerate(chunks_of(frame)):
        values = {column.name: each.chunk(number) for column, each in zip(one.columns, measures, strict=True)}
        yield span, values


def decided(
    evaluator: Evaluator, frame: Frame, one: OneRule, start: int, values: Mapping[str, pa.Array], rows: int
) -> Marks:
    """Whether a rule fires for each of some rows, which begin at `start` in the frame."""
    block = dict(values) | {name: _virtual(frame, name, slice(start, start + rows)) for name in one.virtual}
    seen = frame.seen[start : start + rows]
    if not seen.all():
        block = {name: array.filter(pa.array(seen)) for name, array in block.items()}
    return _spread(evaluate(evaluator, one, block, int(seen.sum())), seen)


def evaluate(evaluator: Evaluator, one: OneRule, block: Mapping[str, pa.Array], rows: int) -> Marks:
    """Whether a rule fires for the rows of a block; AskedError if its condition is null where that is an error."""
    try:
        fired = evaluator.decide(rows, block).fired
    except NullConditionError:
        reason = one.rule.rule.reason
        raise AskedError(
            f"the condition of {reason} is null for a sample, and its 'when_null' is error: set keep or drop"
        ) from None
    found: Marks = fired[:, 0] != 0
    return found


def values_at(opened: Opened, frame: Frame, one: OneRule, rows: Rows) -> dict[str, pa.Array]:
    """What a rule reads of some rows, all of whose columns are in memory."""
    spans = chunks_of(frame)
    which = np.searchsorted([end for _, end in spans], rows, side="right")
    block = {}
    for column in one.columns:
        measure = measure_of(opened, frame, column)
        places = zip(which.tolist(), rows.tolist(), strict=True)
        parts = [plain(measure.held[at].slice(row - spans[at][0], 1)) for at, row in places]
        block[column.name] = pa.concat_arrays(parts)
    for name in one.virtual:
        block[name] = pa.concat_arrays([_virtual(frame, name, slice(row, row + 1)) for row in rows.tolist()])
    return block


def _virtual(frame: Frame, name: str, rows: slice) -> pa.Array:
    """What no layer has: whether another row stands for these, and how many of their media are left."""
    if name in (KEPT, DROPPED):
        if frame.items is None:
            raise AskedError(f"{name}: the recipe has no rules of `items`")
        return pa.array(frame.items[rows, int(name == DROPPED)].astype(np.int64))
    numbers = [number for number, one in enumerate(frame.rules.rules) if one.rule.drop == name]
    fired = frame.fired[rows]
    marks = np.zeros(len(fired), np.bool_)
    for number in numbers:
        marks |= (fired[:, number // 64] >> np.uint64(number % 64) & np.uint64(1)).astype(np.bool_)
    return pa.array(marks)


def _spread(marks: Marks, seen: Marks) -> Marks:
    if seen.all():
        return marks
    found = np.zeros(len(seen), np.bool_)
    found[seen] = marks
    return found
