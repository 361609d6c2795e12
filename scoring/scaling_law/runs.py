"""The validated table of training runs for fitting a law: one row per run and family.

Columns: `family`, `N` (model size), `D` (tokens of the whole mixture), `p` (the family's share of them, 1 for a
monolingual run), `loss` (positive, on the family's own test set), `seed`, and, if known, `run`: the name of the
training run, whose rows have the shares of one mixture. A run may be measured at several D (checkpoints). Lines before
the header such as `# unit.N: parameters without embeddings` (also `unit.D`, `unit.loss`) name units.
"""

import csv
import io
import itertools
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from winnow.schemas.errors import SourceError
from winnow.schemas.identity import digest
from winnow.schemas.law import Units
from winnow.schemas.problems import MAX_REPORTED, UNSTORABLE, shown, suggestion

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

COLUMNS: Final = ("family", "N", "D", "p", "loss", "seed")
RUN: Final = "run"
MAX_ROWS: Final = 10_000
MAX_FAMILIES: Final = 200
MAX_CSV_CHARACTERS: Final = 64 << 20
SUM_TOLERANCE: Final = 0.005  # accepts shares printed with three decimals

_NUMBER: Final = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,3})?", re.ASCII)
_UNIT: Final = re.compile(r"#\s*(unit\.[^\s:=]+)\s*[:=]\s*(.*)", re.IGNORECASE)
_UNITS: Final = {"unit.N": "n", "unit.D": "d", "unit.loss": "loss"}
_LARGEST: Final = 1e30  # of N and D: beyond any model, and its powers are still finite


@dataclass(frozen=True, slots=True)
class RunTable:
    """Checked runs, in an order that depends only on their values."""

    name: str
    families: tuple[str, ...]  # sorted
    family: Integers  # each row's place in `families`
    n: Floats
    d: Floats
    p: Floats
    loss: Floats
    seed: Integers
    run: tuple[str, ...]  # empty if the table has no run names
    mixture: Integers  # a number for the mixture of each row's run; 0 without run names
    units: Units = field(default_factory=Units)
    notes: tuple[str, ...] = ()  # remarks for whoever fits the table

    @property
    def source(self) -> str:
        """The name without folders, so that it does not depend on the path."""
        return " + ".join(PurePath(part).name for part in self.name.split(" + "))

    def __len__(self) -> int:
        return len(self.loss)

    def of(self, family: str) -> "RunTable":
        """The rows of one family."""
        return self.where(self.family == self.families.index(family))

    def where(self, rows: NDArray[np.bool_]) -> "RunTable":
        """Some of the rows, with the same list of families."""
        run = tuple(name for name, wanted in zip(self.run, rows, strict=True) if wanted) if self.run else ()
        return RunTable(
            self.name,
            self.families,
            self.family[rows],
            self.n[rows],
            self.d[rows],
            self.p[rows],
            self.loss[rows],
            self.seed[rows],
            run,
            self.mixture[rows],
            self.units,
        )

    def keys(self) -> tuple[str, ...]:
        """A key of each row's training run; rows of one run share their noise."""
        if self.run:
            return tuple(f"run {name}" for name in self.run)
        columns = zip(self.family, self.n, self.d, self.p, self.seed, strict=True)
        return tuple(f"{self.families[family]} {n!r} {d!r} {p!r} {seed}" for family, n, d, p, seed in columns)

    def mixtures(self) -> Floats | None:
        """The shares of every family in each row's run (rows × families); None without run names."""
        if not self.run:
            return None
        place = {name: number for number, name in enumerate(dict.fromkeys(self.run))}
        number = np.array([place[name] for name in self.run])
        shares = np.zeros((len(place), len(self.families)))
        shares[number, self.family] = self.p
        found: Floats = shares[number]
        return found

    def digest(self) -> str:
        """A hash of the table's values, independent of the order of rows."""
        names = [self.families[place] for place in self.family]
        columns = (self.n, self.d, self.p, self.loss)
        parts = [part for column in columns for part in map(repr, column.tolist())]
        return digest(*names, *parts, *map(str, self.seed.tolist()), *self.run).hex()


def runs_from_csv(text: str, name: str = "runs.csv") -> RunTable:
    """Parse a CSV file's text, comma-separated with a header.

    Raises:
        SourceError: One line per problem, with the line of the file.
    """
    if len(text) > MAX_CSV_CHARACTERS:
        raise SourceError(f"{name}: {len(text)} characters; a table of runs has at most {MAX_CSV_CHARACTERS}")
    units: dict[str, str] = {}
    reader = csv.reader(io.StringIO(text.removeprefix("\ufeff"), newline=""), strict=True)
    header: list[str] = []
    rows: list[list[str]] = []
    lines: list[int] = []
    problems: list[str] = []
    try:
        for row in reader:
            if not any(cell.strip() for cell in row):
                continue
            if not header and row[0].lstrip().startswith("#"):
                if unit := _UNIT.fullmatch(",".join(row).strip()):
                    try:
                        units[_unit_key(unit[1])] = _unit(unit[1], unit[2])
                    except ValueError as error:
                        problems.append(f"{name}:{reader.line_num}: {error}")
            elif not header:
                header = [cell.strip() for cell in row]
                _require_columns(header, f"{name}:{reader.line_num}")
            elif len(row) != len(header):
                problems.append(_malformed_row(f"{name}:{reader.line_num}", row, header))
            elif len(rows) == MAX_ROWS:
                raise SourceError(f"{name}:{reader.line_num}: more than {MAX_ROWS} runs")
            else:
                rows.append(row)
                lines.append(reader.line_num)
    except csv.Error as error:
        raise SourceError(f"{name}:{reader.line_num}: not CSV ({error})") from None
    if not header:
        raise SourceError(f"{name}: empty; expected a header with {', '.join(COLUMNS)}")
    raise_problems(problems)
    columns = {title: [row[place] for row in rows] for place, title in enumerate(header)}
    return runs_from_columns(columns, name, Units(**units), lines)


def runs_from_columns(
    columns: Mapping[str, Sequence[object]],
    name: str = "runs",
    units: Units | None = None,
    lines: Sequence[int] | None = None,
) -> RunTable:
    """Build a table from columns of numbers or text.

    Args:
        columns: The columns in `COLUMNS`, and optionally `run`; others are ignored.
        name: The table's name for messages.
        units: The units of N, D and loss.
        lines: The line of each row; by default 1, 2, ….

    Raises:
        SourceError: One line per problem, with the row.
    """
    _require_columns(list(columns), name)
    titles = (*COLUMNS, RUN) if RUN in columns else COLUMNS
    count = len(columns["loss"])
    for title in titles:
        if len(columns[title]) != count:
            raise SourceError(f"{name}: {title} has {len(columns[title])} values, loss has {count}")
    if not 0 < count <= MAX_ROWS:
        raise SourceError(f"{name}: {count} runs; expected 1 to {MAX_ROWS}")
    at = [f"{name}:{line}" for line in (lines if lines is not None else range(1, count + 1))]
    problems: list[str] = []
    rows: list[_Row] = []
    for number, place in enumerate(at):  # rows are few, and each may have its own message
        try:
            cells = {title: columns[title][number] for title in titles}
            rows.append(
                _Row(
                    _named("family", cells["family"]),
                    _ranged("N", cells["N"], 1, _LARGEST, "a count of 1 or more"),
                    _ranged("D", cells["D"], 1, _LARGEST, "a count of 1 or more"),
                    _share(cells["p"]),
                    _seed(cells["seed"]),
                    _named(RUN, cells[RUN]) if RUN in cells else "",
                    _ranged("loss", cells["loss"], 1e-6, 1e6, "a loss above 0, as its logarithm is fitted"),
                    place,
                )
            )
        except ValueError as error:
            problems.append(f"{place}: {error}")
    raise_problems(problems)
    rows.sort(key=lambda row: row[:7])
    raise_problems(_duplicates(rows))
    if RUN in columns:
        raise_problems(_inconsistent_runs(rows))
    families = tuple(sorted({row.family for row in rows}))
    raise_problems(_same_but_case(families, name))
    if len(families) > MAX_FAMILIES:
        raise SourceError(f"{name}: {len(families)} families; a table of runs has at most {MAX_FAMILIES}")
    place_of = {family: number for number, family in enumerate(families)}
    return RunTable(
        name,
        families,
        np.array([place_of[row.family] for row in rows], np.int64),
        np.array([row.n for row in rows]),
        np.array([row.d for row in rows]),
        np.array([row.p for row in rows]),
        np.array([row.loss for row in rows]),
        np.array([row.seed for row in rows], np.int64),
        tuple(row.run for row in rows) if RUN in columns else (),
        _mixtures(rows),
        units or Units(),
    )


class _Row(NamedTuple):
    """A checked row, in the order that rows are sorted by."""

    family: str
    n: float
    d: float
    p: float
    seed: int
    run: str
    loss: float
    place: str  # for messages


def _same_but_case(families: Sequence[str], name: str) -> list[str]:
    """Reject family names that differ only in case."""
    first: dict[str, str] = {}
    return [
        f"{name}: families {shown(before)} and {shown(family)} differ only in case; use one spelling in every row"
        for family in families
        if (before := first.setdefault(family.casefold(), family)) != family
    ]


def _mixtures(rows: Sequence[_Row]) -> Integers:
    """Runs with equal shares of all families have the same number."""
    shares: dict[str, dict[str, float]] = {}
    for row in rows:  # sorted by family, so that equal mixtures are equal tuples
        if row.run:
            shares.setdefault(row.run, {})[row.family] = row.p
    numbers: dict[tuple[tuple[str, float], ...], int] = {}
    of_run = {run: numbers.setdefault(tuple(of.items()), len(numbers)) for run, of in shares.items()}
    return np.array([of_run.get(row.run, 0) for row in rows], np.int64)


def raise_problems(problems: Sequence[str]) -> None:
    """Raise SourceError with a line for each of the first problems, if there are any."""
    if problems:
        rest = [f"… and {len(problems) - MAX_REPORTED} more"] if len(problems) > MAX_REPORTED else []
        raise SourceError("\n".join([*problems[:MAX_REPORTED], *rest]))


def _unit_key(key: str) -> str:
    if key not in _UNITS:
        raise ValueError(f"unknown {shown(key)}; expected exactly {', '.join(_UNITS)}")
    return _UNITS[key]


def _unit(key: str, text: str) -> str:
    if not text.strip():
        raise ValueError(f"{key}: no unit; write it after the colon, or leave the line out")
    return text.strip()[:200]


def _require_columns(header: Sequence[str], where: str) -> None:
    if len(header) == 1 and (";" in header[0] or "\t" in header[0]):
        raise SourceError(f"{where}: columns are separated by semicolons or tabs; use commas")
    for title in (*COLUMNS, RUN):
        if header.count(title) > 1:
            raise SourceError(f"{where}: two columns have the name {title}")
    if missing := [title for title in COLUMNS if title not in header]:
        lacks = f"missing column{'s' if len(missing) > 1 else ''} {', '.join(missing)}"
        raise SourceError(f"{where}: {lacks}; found {shown(', '.join(header), 120)}")


def _malformed_row(place: str, row: Sequence[str], header: Sequence[str]) -> str:
    more = "; write decimal points instead of commas" if len(row) > len(header) else ""
    return f"{place}: {len(row)} values for {len(header)} columns{more}"


def _named(title: str, cell: object) -> str:
    text = str(cell).strip()
    if not text or len(text) > 200 or UNSTORABLE.search(text) or not text.isprintable():
        raise ValueError(f"{title} is {shown(text)}: expected a name of 1 to 200 printable characters")
    return text


def _ranged(title: str, cell: object, least: float, most: float, expected: str) -> float:
    value = _number(title, cell)
    if not least <= value <= most:
        raise ValueError(f"{title} is {shown(str(cell))}: expected {expected}")
    return value


def _share(cell: object) -> float:
    value = _number("p", cell)
    if not 0 < value <= 1:
        hint = "; divide percentages by 100" if 1 < value <= 100 else ""
        raise ValueError(f"p is {shown(str(cell))}: expected a share above 0 and up to 1{hint}")
    return value


def _seed(cell: object) -> int:
    value = _number("seed", cell)
    if value != int(value) or abs(value) >= 2**53:
        raise ValueError(f"seed is {shown(str(cell))}: expected a whole number")
    return int(value)


def _number(title: str, cell: object) -> float:
    """Parse a cell as a finite number."""
    text = str(cell).strip()
    plain = isinstance(cell, (int, float, np.integer, np.floating)) and not isinstance(cell, bool)
    if len(text) <= 60 and (plain or _NUMBER.fullmatch(text)):
        value = float(text)
        if math.isfinite(value):
            return value
    if not text:
        why = "expected a number, the cell is empty"
    elif title == "p" and text.endswith("%"):
        why = "expected a share such as 0.2 for 20 %"
    elif "," in text and _NUMBER.fullmatch(text.replace(",", ".", 1)):
        why = f"a comma is not a decimal point; write {text.replace(',', '.', 1)}"
    elif text.lower().lstrip("+-") in ("nan", "inf", "infinity") or plain or _NUMBER.fullmatch(text):
        why = "expected a finite number; leave out a run that diverged"
    else:
        why = "expected a number such as 0.25 or 8.5e7"
    raise ValueError(f"{title} is {shown(text)}: {why}")


def _duplicates(rows: Sequence[_Row]) -> list[str]:
    """Report duplicate rows, which are neighbours in the sorted table."""
    found = []
    for before, row in itertools.pairwise(rows):
        if before[:6] == row[:6]:
            found.append(
                f"{row.place}: the same family, N, D, p and seed as {before.place}; keep one, or name their `run`s"
            )
    return found


def _inconsistent_runs(rows: Sequence[_Row]) -> list[str]:
    """Report runs with contradictory rows, and runs that occur under two names."""
    runs: dict[str, list[_Row]] = {}
    for row in rows:
        runs.setdefault(row.run, []).append(row)
    problems = []
    mixtures: dict[object, str] = {}
    for run, members in runs.items():
        first = members[0]
        shares = {row.family: row.p for row in reversed(members)}
        for row in members:
            if (row.n, row.seed) != (first.n, first.seed):
                problems.append(f"{row.place}: run {shown(run)} has another N or seed at {first.place}")
            elif row.p != shares[row.family]:
                problems.append(
                    f"{row.place}: run {shown(run)} has two different shares of {shown(row.family)}; expected one"
                )
        for d in sorted({row.d for row in members}):
            here = [row for row in members if row.d == d]
            if len({row.family for row in here}) < len(here):
                problems.append(f"{here[-1].place}: run {shown(run)} has a family twice at D {d:g}")
                continue
            total = math.fsum(row.p for row in here)
            if abs(total - 1) > SUM_TOLERANCE:
                problems.append(
                    f"{here[0].place}: the shares of run {shown(run)} at D {d:g} sum to {total:.4g}, not to 1"
                    "; give every family of the run a row"
                )
            same = (d, first.n, first.seed, tuple((row.family, row.p) for row in here))
            if mixtures.setdefault(same, run) != run:
                problems.append(
                    f"{here[0].place}: run {shown(run)} is the same as run {shown(mixtures[same])}, with the same seed"
                )
    return problems


def unknown_family(name: str, families: Sequence[str]) -> SourceError:
    """The error for an unknown family."""
    return SourceError(f"unknown family {shown(name)}{suggestion(name, families)}")
