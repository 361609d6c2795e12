"""Evaluates rules on aligned blocks of layers: one DuckDB query per block, with Arrow data in and bit masks out."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Self

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from winnow.pipelines.binding.rule_presets import ProgramRule
from winnow.pipelines.binding.rules import RuleProgram
from winnow.pipelines.reading.conditions import nested
from winnow.pipelines.reading.item_lists import DROPPED, KEPT, ItemLists, media_of
from winnow.pipelines.rules.decisions import WORD, Masks, has_rule
from winnow.schemas.errors import RecipeError
from winnow.schemas.rules.certain_failures import remedy
from winnow.schemas.rules.conditions import CLOSED, columns_read
from winnow.schemas.rules.thresholds import ThresholdTable, lookup

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


@dataclass(frozen=True)
class DecidedItems:
    """The decisions on the media of a block, in the order of its rows."""

    lists: ItemLists
    fired: Masks
    null: Masks | None

    @classmethod
    def none(cls, rows: int, words: int) -> Self:
        """Those of a block without media."""
        nothing = np.zeros(0, np.int64)
        return cls(ItemLists(np.zeros(rows, np.int64), nothing, nothing), np.zeros((0, words), np.uint64), None)


@dataclass(frozen=True)
class Decided:
    """The decisions on a block of rows."""

    fired: Masks
    null: Masks | None  # the rules that fired because their condition was null
    items: DecidedItems | None  # None if the program has no rules of items


@dataclass(frozen=True, slots=True)
class _Numbered:
    """A rule with its number in the program."""

    number: int
    rule: ProgramRule


def _names(rules: Sequence[_Numbered]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for rule in rules for name in columns_read(rule.rule.rule.drop)))


class Evaluator:
    """Decides blocks of rows by one program. A context manager, for one thread."""

    def __init__(self, program: RuleProgram) -> None:
        self._program = program
        rules = tuple(_Numbered(number, one) for number, one in enumerate(program.rules))
        self._of_rows = tuple(rule for rule in rules if rule.rule.phase != "items")
        self._of_items = tuple(rule for rule in rules if rule.rule.phase == "items")
        self._row_names = _names(self._of_rows)
        self._item_names = _names(self._of_items)
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

    def decide(self, rows: int, columns: Mapping[str, pa.Array]) -> Decided:
        """Return the rules that fire for each row of a block, and for each medium.

        A row none of whose media is left has the reasons for which they were dropped, unless the recipe keeps it.
        `columns` are at least the program's, by dotted name. NullConditionError if a condition is null, and its rule
        has `when_null: error`; UndecidedError if a condition fails on a value, such as a cast of a text that is no
        number.
        """
        tables = threshold_columns(self._program.tables, columns) if rows else {}
        known = {**columns, **tables}
        if not self._of_items or not rows:
            decided = self._fired(self._of_rows, {name: known[name] for name in self._row_names if rows}, rows)
            return Decided(*decided, None if not self._of_items else DecidedItems.none(rows, self._words))
        lists = ItemLists.of(media_of(columns))
        of_items = known | {name: columns[f"items.{name}"] for name in self._program.duplicate_lists}
        values = lists.columns(self._item_names, of_items, self._program.item_lists)
        try:
            fired, null = self._fired(self._of_items, values, len(lists.rows))
        except NullConditionError as error:
            raise NullConditionError(error.rule, error.number, int(lists.rows[error.row])) from None
        dropped = np.bitwise_or.reduce(fired, axis=1) != 0
        counts = {KEPT: lists.count(~dropped), DROPPED: lists.count(dropped)}
        known |= {name: pa.array(values) for name, values in counts.items()}
        row_fired, row_null = self._fired(self._of_rows, {name: known[name] for name in self._row_names}, rows)
        if self._program.no_items_left == "drop":
            gone = (counts[KEPT] == 0) & (counts[DROPPED] > 0)
            row_fired |= self._spread(fired, lists, gone)
            if null is not None:
                lost = self._spread(null, lists, gone)
                row_null = lost if row_null is None else row_null | lost
        return Decided(row_fired, row_null, DecidedItems(lists, fired, null))

    def _spread(self, of_items: Masks, lists: ItemLists, rows: NDArray[np.bool_]) -> Masks:
        """Return for each of these rows the rules of any of its media."""
        found = np.zeros((len(rows), self._words), np.uint64)
        for of_item in self._of_items:
            word, bit = of_item.number // WORD, np.uint64(of_item.number % WORD)
            some = lists.rows_with(has_rule(of_items, of_item.number)) & rows
            found[:, word] |= some.astype(np.uint64) << bit
        return found

    def _fired(
        self, rules: Sequence[_Numbered], columns: Mapping[str, pa.Array], rows: int
    ) -> tuple[Masks, Masks | None]:
        """Return the rules that fire for each row of these columns, and those of them whose condition is null."""
        fired = np.zeros((rows, self._words), np.uint64)
        null = np.zeros((rows, self._words), np.uint64)
        if rows == 0 or not rules:
            return fired, None
        block = pa.Table.from_batches([nested(columns, rows)])
        try:
            found = self._query(rules, block)
        except duckdb.Error as error:
            self._raise_for_faulty_rule(rules, block)
            # Each rule runs alone, but not all of them at once: most likely out of memory.
            said = f"the rules cannot be run together: {str(error).splitlines()[0][:160]}"
            raise Undecided(None, said).error(self._program) from None
        any_null = False
        for one, values in zip(rules, found, strict=True):
            word, bit = one.number // WORD, np.uint64(one.number % WORD)
            if values.null_count:
                unknown = values.is_null().to_numpy(zero_copy_only=False)
                when_null = one.rule.rule.when_null
                if when_null == "error":
                    raise NullConditionError(one.rule, one.number, int(np.flatnonzero(unknown)[0]))
                if when_null == "drop":
                    null[:, word] |= unknown.astype(np.uint64) << bit
                    any_null = True
                values = pc.fill_null(values, when_null == "drop")
            fired[:, word] |= values.to_numpy(zero_copy_only=False).astype(np.uint64) << bit
        return fired, null if any_null else None

    def _query(self, rules: Sequence[_Numbered], block: pa.Table) -> list[pa.Array]:
        # Line breaks, so that a comment in a condition ends with it.
        conditions = ", ".join(f"(\n{one.rule.rule.drop}\n)::BOOLEAN" for one in rules)
        self._engine.register(_BLOCK, block)
        try:
            found = self._engine.sql(f'SELECT {conditions} FROM "{_BLOCK}"').to_arrow_table()
        finally:
            self._engine.unregister(_BLOCK)
        return [column.combine_chunks() for column in found.columns]

    def _raise_for_faulty_rule(self, rules: Sequence[_Numbered], block: pa.Table) -> None:
        """Raise UndecidedError for the rule that a block's query failed on, if one rule alone fails."""
        for rule in rules:
            try:
                self._query([rule], block)
            except duckdb.Error as error:
                what = str(error).splitlines()[0].partition(". Use TRY")[0][:160]
                said = f"fails on a row: {what}; {remedy(what)}"
                raise Undecided(rule.number, said).error(self._program) from None


def threshold_columns(tables: Sequence[ThresholdTable], columns: Mapping[str, pa.Array]) -> dict[str, pa.Array]:
    """The columns of threshold tables, for the rows of a block that has their keys."""
    found = {}
    for table in tables:
        keys = pc.dictionary_encode(columns[table.key])
        for column in table.columns:
            found[table.column_name(column)] = lookup(table, keys, column)
    return found
