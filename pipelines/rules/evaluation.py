"""Evaluates rules on aligned blocks of layers: one DuckDB query per block, with Arrow data in and bit masks out."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Self

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from winnow.pipelines.binding.rule_presets import ProgramRule
from winnow.pipelines.binding.rules import RuleProgram
from winnow.pipelines.query.conditions import nested
from winnow.pipelines.rules.decisions import WORD, Masks
from winnow.schemas.conditions import CLOSED
from winnow.schemas.errors import RecipeError
from winnow.schemas.thresholds import ThresholdTable, lookup

_BLOCK = "rows of a block"  # a name that no column of a recipe can have


@dataclass(frozen=True, slots=True)
class Undecided:
    """Why rules cannot be decided on a row."""

    rule: int | None  # its number; None if it is not one rule alone
    said: str  # what is wrong with its condition

    def error(self, program: RuleProgram) -> "UndecidedError":
        """The error, which names the rule and its place in the recipe."""
        return UndecidedError(self, program)


class UndecidedError(RecipeError):
    """Rules cannot be decided on a row."""

    def __init__(self, undecided: Undecided, program: RuleProgram) -> None:
        where = ""
        if undecided.rule is not None:
            one = program.rules[undecided.rule]
            where = f"{one.rule.place}: {one.path}: the condition of {one.rule.reason!r} "
        super().__init__(f"{where}{undecided.said}")
        self.undecided = undecided


class NullConditionError(Exception):
    """A condition is null for a row, and its rule's `when_null` is error."""

    def __init__(self, rule: ProgramRule, number: int, row: int) -> None:
        super().__init__(rule.rule.reason)
        self.rule = rule
        self.number = number
        self.row = row  # of the block


class Evaluator:
    """Decides blocks of rows by one program. A context manager, for one thread."""

    def __init__(self, program: RuleProgram) -> None:
        self._program = program
        self._names = (*(column.name for column in program.columns), *program.duplicate_columns)
        self._words = max(1, -(-len(program.rules) // WORD))
        self._engine = duckdb.connect(
            ":memory:",
            config=CLOSED
            | {
                "memory_limit": "2GiB",  # a block and its results are a few MiB
                "temp_directory": "",  # never spills to disk: a query that does not fit fails
            },
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._engine.close()

    def decide(self, rows: int, columns: Mapping[str, pa.Array]) -> tuple[Masks, Masks | None]:
        """Return the rules that fire for each row of a block, and those of them whose condition is null.

        Args:
            rows: The number of rows in the block.
            columns: At least the program's columns, by dotted name.

        Raises:
            NullConditionError: A condition is null, and its rule has `when_null: error`.
            UndecidedError: A condition fails on a value, such as a cast of a text that is not a number.
        """
        fired = np.zeros((rows, self._words), np.uint64)
        null = np.zeros((rows, self._words), np.uint64)
        rules = self._program.rules
        if rows == 0 or not rules:
            return fired, None
        wanted = {name: columns[name] for name in self._names}
        every = wanted | _threshold_columns(self._program.tables, columns)
        block = pa.Table.from_batches([nested(every, rows)])
        try:
            found = self._query(rules, block)
        except duckdb.Error as error:
            self._raise_for_faulty_rule(rules, block)
            # Each rule runs alone, but not all of them at once: most likely out of memory.
            said = f"the rules cannot be run together: {str(error).splitlines()[0][:160]}"
            raise Undecided(None, said).error(self._program) from None
        any_null = False
        for number, (one, values) in enumerate(zip(rules, found, strict=True)):
            word, bit = number // WORD, np.uint64(number % WORD)
            if values.null_count:
                unknown = values.is_null().to_numpy(zero_copy_only=False)
                if one.rule.when_null == "error":
                    raise NullConditionError(one, number, int(np.flatnonzero(unknown)[0]))
                if one.rule.when_null == "drop":
                    null[:, word] |= unknown.astype(np.uint64) << bit
                    any_null = True
                values = pc.fill_null(values, one.rule.when_null == "drop")
            fired[:, word] |= values.to_numpy(zero_copy_only=False).astype(np.uint64) << bit
        return fired, null if any_null else None

    def _query(self, rules: Sequence[ProgramRule], block: pa.Table) -> list[pa.Array]:
        # Line breaks, so that a comment in a condition ends with it.
        conditions = ", ".join(f"(\n{one.rule.drop}\n)::BOOLEAN" for one in rules)
        self._engine.register(_BLOCK, block)
        try:
            found = self._engine.sql(f'SELECT {conditions} FROM "{_BLOCK}"').to_arrow_table()
        finally:
            self._engine.unregister(_BLOCK)
        return [column.combine_chunks() for column in found.columns]

    def _raise_for_faulty_rule(self, rules: Sequence[ProgramRule], block: pa.Table) -> None:
        """Raise UndecidedError for the rule that a block's query failed on, if one rule alone fails."""
        for number, one in enumerate(rules):
            try:
                self._query([one], block)
            except duckdb.Error as error:
                what = str(error).splitlines()[0][:160]
                said = f"fails on a row: {what}; TRY_CAST gives null where CAST fails"
                raise Undecided(number, said).error(self._program) from None


def _threshold_columns(tables: Sequence[ThresholdTable], columns: Mapping[str, pa.Array]) -> dict[str, pa.Array]:
    found = {}
    for table in tables:
        keys = pc.dictionary_encode(columns[table.key])
        for column in table.columns:
            found[table.column_name(column)] = lookup(table, keys, column)
    return found
