"""Rules run over aligned blocks of layers: one DuckDB query a block, nothing but Arrow in and bits out."""

from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Self

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from winnow.pipelines.binding.rule_presets import SpeltRule
from winnow.pipelines.binding.rules import RuleProgram
from winnow.pipelines.query.conditions import nested
from winnow.pipelines.rules.decisions import WORD, Masks
from winnow.schemas.conditions import CLOSED
from winnow.schemas.errors import RecipeError
from winnow.schemas.thresholds import ThresholdTable, lookup

_BLOCK = "rows of a block"  # no column of a recipe can be meant by this name


class NullConditionError(Exception):
    """A condition is null in a row, and its rule says that this is an error."""

    def __init__(self, rule: SpeltRule, row: int) -> None:
        super().__init__(rule.rule.reason)
        self.rule = rule
        self.row = row  # of the block


class Evaluator:
    """Decides blocks of rows by one program. Belongs to one thread; a context manager."""

    def __init__(self, program: RuleProgram) -> None:
        self._program = program
        self._names = (*(column.name for column in program.columns), *program.chosen)
        self._words = max(1, -(-len(program.rules) // WORD))
        self._engine = duckdb.connect(
            ":memory:",
            config=CLOSED
            | {
                "memory_limit": "2GiB",  # a block and its answers are a few MiB
                "temp_directory": "",  # what does not fit fails: nothing is written beside the store
            },
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._engine.close()

    def decide(self, rows: int, columns: Mapping[str, pa.Array]) -> tuple[Masks, Masks | None]:
        """The rules that fire for each row of a block, and those of them that do because a condition is null.

        Args:
            rows: How many rows the block has.
            columns: At least the program's columns, by dotted name.

        Raises:
            NullConditionError: A condition is null whose rule says `when_null: error`.
            RecipeError: A condition fails on a value, such as a cast of what is no number.
        """
        fired = np.zeros((rows, self._words), np.uint64)
        null = np.zeros((rows, self._words), np.uint64)
        rules = self._program.rules
        if rows == 0 or not rules:
            return fired, None
        wanted = {name: columns[name] for name in self._names}
        every = wanted | _looked_up(self._program.tables, columns)
        block = pa.Table.from_batches([nested(every, rows)])
        try:
            found = self._query(rules, block)
        except duckdb.Error as error:
            self._blame(rules, block)
            # Each alone can be run, together they cannot: out of memory, most likely.
            raise RecipeError(f"the rules cannot be run together: {str(error).splitlines()[0][:160]}") from None
        any_null = False
        for number, (one, values) in enumerate(zip(rules, found, strict=True)):
            word, bit = number // WORD, np.uint64(number % WORD)
            if values.null_count:
                unknown = values.is_null().to_numpy(zero_copy_only=False)
                if one.rule.when_null == "error":
                    raise NullConditionError(one, int(np.flatnonzero(unknown)[0]))
                if one.rule.when_null == "drop":
                    null[:, word] |= unknown.astype(np.uint64) << bit
                    any_null = True
                values = pc.fill_null(values, one.rule.when_null == "drop")
            fired[:, word] |= values.to_numpy(zero_copy_only=False).astype(np.uint64) << bit
        return fired, null if any_null else None

    def _query(self, rules: Sequence[SpeltRule], block: pa.Table) -> list[pa.Array]:
        # A line break, so that nothing of a condition can reach beyond its own.
        conditions = ", ".join(f"(\n{one.rule.drop}\n)::BOOLEAN" for one in rules)
        self._engine.register(_BLOCK, block)
        try:
            found = self._engine.sql(f'SELECT {conditions} FROM "{_BLOCK}"').to_arrow_table()
        finally:
            self._engine.unregister(_BLOCK)
        return [column.combine_chunks() for column in found.columns]

    def _blame(self, rules: Sequence[SpeltRule], block: pa.Table) -> None:
        """Find the rule that a block's query failed on, and say so in the recipe's terms."""
        for one in rules:
            try:
                self._query([one], block)
            except duckdb.Error as error:
                what = str(error).splitlines()[0][:160]
                raise RecipeError(
                    f"{one.rule.place}: {one.path}: the condition of {one.rule.reason!r} fails on a row: {what}; "
                    "TRY_CAST gives null where CAST fails"
                ) from None


def _looked_up(tables: Sequence[ThresholdTable], columns: Mapping[str, pa.Array]) -> dict[str, pa.Array]:
    found = {}
    for table in tables:
        keys = pc.dictionary_encode(columns[table.key])
        for column in table.columns:
            found[table.column_name(column)] = lookup(table, keys, column)
    return found
