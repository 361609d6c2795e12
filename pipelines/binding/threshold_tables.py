"""A recipe's threshold tables: built-in ones and those from files, with the recipe's cells replaced."""

import csv
import io
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

import orjson

from winnow.filters.presets import find_table, table_names
from winnow.pipelines.store.location import open_location
from winnow.schemas.errors import RecipeError
from winnow.schemas.identity import Json
from winnow.schemas.problems import Place, Problem, Problems, recipe_error, shown, suggestion
from winnow.schemas.recipe import Recipe, ThresholdEntry
from winnow.schemas.rules.thresholds import ThresholdTable

MAX_FILE_BYTES = 64 << 20
MAX_ROWS = 1_000_000


@dataclass(frozen=True, slots=True)
class FileRow:
    """One row of a table's file; numbers may still be text."""

    line: int
    cells: Mapping[str, Json]


@dataclass(frozen=True)
class TableFile:
    """A table's file: its columns, and its rows by key."""

    name: str
    columns: tuple[str, ...]
    rows: Mapping[str, FileRow]

    def values(self, column: str) -> tuple[float | None, ...]:
        """Return a column as numbers; RecipeError names the line of a cell that is not a number."""
        return tuple(self._number(row, column) for row in self.rows.values())

    def _number(self, row: FileRow, column: str) -> float | None:
        value = row.cells.get(column)
        if value is None or value == "":
            return None
        try:
            if isinstance(value, bool) or not isinstance(value, int | float | str):
                raise ValueError
            number = float(value)
            if not math.isfinite(number):
                raise ValueError
        except ValueError:
            found = f"{column}: expected a number or nothing, found {shown(str(value))}"
            raise recipe_error([Problem(Place(self.name, row.line), "", found)]) from None
        return number


class ThresholdTables:
    """The tables that a recipe's rules may name; a file is read when its table is first used."""

    def __init__(self, recipe: Recipe) -> None:
        self._recipe = recipe
        self._entries = {entry.name: entry for entry in recipe.thresholds}
        self._files: dict[str, TableFile] = {}

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all tables."""
        return tuple(dict.fromkeys((*self._entries, *table_names())))

    def check(self) -> None:
        """Refuse entries with cells for a table that does not exist, or with a file for a built-in table."""
        problems = Problems()
        for name, entry in self._entries.items():
            where = f"thresholds.{name}"
            if entry.file is not None and name in table_names():
                problems.add(entry.place, where, f"{name} is built in; give the table of {entry.file} another name")
            if entry.file is None and name not in table_names():
                hint = suggestion(name, table_names())
                problems.add(
                    entry.place, where, f"no built-in table has this name{hint}; set 'file' for a table of your own"
                )
        problems.stop_if_any()
        for entry in self._entries.values():
            self._cells(entry, ())

    def key(self, name: str) -> str:
        """Return the column whose values are the table's keys."""
        entry = self._entries.get(name)
        if entry is not None and entry.key is not None:
            return entry.key
        return self._built_in(name).key

    def columns(self, name: str) -> tuple[str, ...]:
        """Return the columns of a table."""
        if self._is_file(name):
            return self._file(self._entries[name]).columns
        return tuple(self._built_in(name).columns)

    def table(self, name: str, columns: Iterable[str]) -> ThresholdTable:
        """Return the table with only these columns."""
        wanted = tuple(columns)
        if self._is_file(name):
            file = self._file(self._entries[name])
            table = ThresholdTable(
                name, self.key(name), tuple(file.rows), {column: file.values(column) for column in wanted}
            )
        else:
            built_in = self._built_in(name)
            table = ThresholdTable(
                name, self.key(name), built_in.keys, {column: built_in.columns[column] for column in wanted}
            )
        entry = self._entries.get(name)
        return table if entry is None else table.with_cells(self._cells(entry, wanted))

    def _is_file(self, name: str) -> bool:
        return name in self._entries and self._entries[name].file is not None

    def _built_in(self, name: str) -> ThresholdTable:
        table = find_table(name)
        assert table is not None, name  # `check` has been called
        return table

    def _cells(self, entry: ThresholdEntry, wanted: Sequence[str]) -> dict[str, dict[str, float | None]]:
        problems = Problems()
        known = self.columns(entry.name)
        found: dict[str, dict[str, float | None]] = {}
        for row in entry.cells:
            where = f"thresholds.{entry.name}.cells.{row.name}"
            for cell in row.values.entries:
                value = cell.node.plain()
                if cell.key not in known:
                    problems.add(cell.place, where, f"unknown column {shown(cell.key)}{suggestion(cell.key, known)}")
                elif isinstance(value, bool) or not isinstance(value, int | float | None):
                    problems.add(cell.place, f"{where}.{cell.key}", "expected a number or null")
                elif cell.key in wanted:
                    found.setdefault(row.name, {})[cell.key] = None if value is None else float(value)
        problems.stop_if_any()
        return found

    def _file(self, entry: ThresholdEntry) -> TableFile:
        assert entry.file is not None
        if entry.name not in self._files:
            try:
                self._files[entry.name] = read_table_file(self._recipe.located(entry.file), entry.file, entry.by)
            except RecipeError as error:
                raise RecipeError(f"{entry.place}: thresholds.{entry.name}: {error}") from None
        return self._files[entry.name]


def read_table_file(address: str, name: str, by: str | None) -> TableFile:
    """Read a CSV file with a header, or a JSONL file of objects.

    `name` is the file's name in the recipe, for messages; `by` is the column of keys, by default the first.
    """
    folder, _, file = address.rpartition("/")
    objects = open_location(folder or ("/" if address.startswith("/") else "."))
    try:
        if objects.size(file) > MAX_FILE_BYTES:
            raise RecipeError(f"{name} is larger than {MAX_FILE_BYTES:_} bytes, the limit for a threshold table")
        text = objects.read(file).decode("utf-8-sig")
    except (FileNotFoundError, IsADirectoryError):
        raise RecipeError(f"there is no file {shown(name, 200)}; the path is relative to the recipe's folder") from None
    except UnicodeDecodeError:
        raise RecipeError(f"{name} is not UTF-8") from None
    rows = _csv_rows(text, name) if PurePosixPath(file).suffix.lower() == ".csv" else _json_rows(text, name)
    columns = tuple(dict.fromkeys(column for row in rows for column in row.cells))
    key = columns[0] if by is None and columns else by
    if key is None or key not in columns:
        raise RecipeError(f"{name}: no column {shown(by or '')} to hold the keys{suggestion(by or '', columns)}")
    by_key: dict[str, FileRow] = {}
    for row in rows:
        value = row.cells.get(key)
        if not isinstance(value, str) or not value:
            raise RecipeError(f"{name}:{row.line}: {key}: expected a key, found {shown(str(value))}")
        if value in by_key:
            raise RecipeError(f"{name}:{row.line}: the key {shown(value)} is on line {by_key[value].line} already")
        by_key[value] = row
    return TableFile(name, tuple(column for column in columns if column != key), by_key)


def _csv_rows(text: str, name: str) -> list[FileRow]:
    reader = csv.reader(io.StringIO(text), strict=True)
    rows: list[FileRow] = []
    try:
        header = next(reader, [])
        if len(set(header)) != len(header):
            raise RecipeError(f"{name}:1: two columns have the same name")
        for cells in reader:
            if not cells:
                continue
            if len(cells) != len(header):
                raise RecipeError(
                    f"{name}:{reader.line_num}: expected {len(header)} cells, as in the header, found {len(cells)}"
                )
            rows.append(FileRow(reader.line_num, dict(zip(header, cells, strict=True))))
            _check_row_count(rows, name)
    except csv.Error as error:
        raise RecipeError(f"{name}:{reader.line_num}: not CSV: {error}") from None
    return rows


def _json_rows(text: str, name: str) -> list[FileRow]:
    rows: list[FileRow] = []
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            value = orjson.loads(line)
        except orjson.JSONDecodeError as error:
            raise RecipeError(f"{name}:{number}: not JSON: {error}") from None
        if not isinstance(value, dict):
            raise RecipeError(f"{name}:{number}: expected an object with the table's columns")
        rows.append(FileRow(number, value))
        _check_row_count(rows, name)
    return rows


def _check_row_count(rows: list[FileRow], name: str) -> None:
    if len(rows) > MAX_ROWS:
        raise RecipeError(f"{name}: more than {MAX_ROWS:_} rows, the limit for a threshold table")
