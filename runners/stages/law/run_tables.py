"""Reads tables of runs from CSV files and joins them."""

import itertools
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import PurePath
from typing import Final

import numpy as np
from numpy.typing import NDArray

from winnow.pipelines.mix.laws import display_name
from winnow.runners.stages.law.files import read_text
from winnow.schemas.errors import SourceError
from winnow.schemas.law import Units
from winnow.schemas.problems import shown
from winnow.scoring.scaling_law.runs import COLUMNS, RUN, RunTable, raise_problems, runs_from_columns, runs_from_csv

_UNITS: Final = (("n", "N"), ("d", "D"), ("loss", "loss"))


def read_runs(names: Sequence[str]) -> RunTable:
    """Read the runs of all files; SourceError, one line per problem. Run names are unique within a file only."""
    tables: list[RunTable] = []
    problems: list[str] = []
    for name in names:
        text = read_text(name)
        try:
            tables.append(runs_from_csv(text, display_name(name)))
        except SourceError as error:
            problems += str(error).splitlines()
    raise_problems(problems)
    return tables[0] if len(tables) == 1 else join_tables(tables)


def join_tables(tables: Sequence[RunTable]) -> RunTable:
    """Join several tables into one."""
    units = _units(tables)
    named = [table for table in tables if table.run]
    if named and len(named) < len(tables):
        unnamed = next(table.name for table in tables if not table.run)
        raise SourceError(f"{unnamed}: has no column {RUN}, {named[0].name} has; add it to all tables, or to none")
    raise_problems(_repeated_rows(tables))
    names = _base_names(tables)
    columns: dict[str, list[object]] = {title: [] for title in (*COLUMNS, *((RUN,) if named else ()))}
    for table, base in zip(tables, names, strict=True):
        columns["family"] += [table.families[place] for place in table.family]
        for title, values in zip(("N", "D", "p", "loss", "seed"), _numbers(table), strict=True):
            columns[title] += values.tolist()
        if named:
            columns[RUN] += [f"{base}: {run}"[-200:] for run in table.run]
    found = runs_from_columns(columns, " + ".join(table.name for table in tables), units)
    return replace(found, notes=_assumed(tables, units))


def _base_names(tables: Sequence[RunTable]) -> list[str]:
    """File names without folders, so that run names do not depend on paths; equal names are numbered."""
    bases = [PurePath(table.name).name for table in tables]
    counts = Counter(bases)
    return [
        base if counts[base] == 1 else f"{base} {bases[: place + 1].count(base)}" for place, base in enumerate(bases)
    ]


def _numbers(table: RunTable) -> tuple[NDArray[np.float64] | NDArray[np.int64], ...]:
    return table.n, table.d, table.p, table.loss, table.seed


def _units(tables: Sequence[RunTable]) -> Units:
    """The units of the tables; a table without units is assumed to use those of the others."""
    assumed, found = Units(), {}
    for field, title in _UNITS:
        stating = [table for table in tables if getattr(table.units, field) != getattr(assumed, field)]
        for table in stating[1:]:
            if (here := getattr(table.units, field)) != (first := getattr(stating[0].units, field)):
                raise SourceError(
                    f"{table.name}: counts {title} in {shown(here)}, {stating[0].name} in {shown(first)}; all tables "
                    f"must use the same unit"
                )
        found[field] = getattr(stating[0].units if stating else assumed, field)
    return Units(**found)


def _assumed(tables: Sequence[RunTable], units: Units) -> tuple[str, ...]:
    """One line for each table that lacks a unit stated by others."""
    notes = []
    for table in tables:
        silent = [title for field, title in _UNITS if getattr(table.units, field) != getattr(units, field)]
        if silent:
            lines = ", ".join(f"unit.{title}" for title in silent)
            notes.append(f"{table.name}: has no line # {lines}; assumed to use the unit of the other tables")
    return tuple(notes)


def _repeated_rows(tables: Sequence[RunTable]) -> list[str]:
    """The rows that occur in two tables."""
    problems = []
    keys = [_keys(table) for table in tables]
    for (first, one), (second, two) in itertools.combinations(zip(tables, keys, strict=True), 2):
        problems += [
            f"{second.name}: {family} at N {n:g} D {d:g} p {p:g} seed {seed:g} with loss {loss:g} is also in "
            f"{first.name}; keep one"
            for family, n, d, p, loss, seed in sorted(one & two)
        ]
    return problems


def _keys(table: RunTable) -> set[tuple[str, float, float, float, float, float]]:
    names = [table.families[place] for place in table.family]
    return set(zip(names, *(column.tolist() for column in _numbers(table)), strict=True))
