"""Parses numbers: sizes such as 85M, and CSV files with one number per family."""

import csv
import io
import math
import re
from typing import Final

from winnow.pipelines.mix.laws import display_name
from winnow.runners.stages.law.files import read_text
from winnow.schemas.errors import SourceError, WinnowError
from winnow.schemas.problems import shown
from winnow.scoring.scaling_law.runs import raise_problems

FAMILY: Final = "family"
MAX_ROWS: Final = 100_000

_NUMBER: Final = re.compile(r"([+-]?(?:\d+\.?\d*|\.\d+))(?:([eE][+-]?\d{1,3})|([KkMmBbGgTt]))?", re.ASCII)
_THOUSANDS: Final = {"": 1.0, "k": 1e3, "m": 1e6, "b": 1e9, "g": 1e9, "t": 1e12}
_EXPECTED: Final = "expected a number such as 85000000, 1.2e9, 85M or 20B"


def size(option: str, text: str | None) -> float | None:
    """Parse a number of parameters or tokens.

    Raises:
        WinnowError: The text is not such a number.
    """
    if text is None:
        return None
    try:
        value = _number(text)
    except ValueError as error:
        raise WinnowError(f"{option} {text[:60]}: {error}") from None
    if not 1 <= value <= 1e30:
        raise WinnowError(f"{option} {text[:60]}: expected a count of 1 or more")
    return value


def read_amounts(name: str, column: str) -> dict[str, float]:
    """Read one number per family from a CSV file with the columns `family` and `column`.

    Raises:
        SourceError: One line per problem, with the line of the file.
    """
    return amounts_from_csv(read_text(name), display_name(name), column)


def amounts_from_csv(text: str, name: str, column: str) -> dict[str, float]:
    """Parse the text of such a file; lines before the header that begin with # are comments."""
    reader = csv.reader(io.StringIO(text.removeprefix("\ufeff"), newline=""), strict=True)
    header: list[str] = []
    lines: dict[str, int] = {}
    found: dict[str, float] = {}
    problems: list[str] = []
    try:
        for row in reader:
            cells = [cell.strip() for cell in row]
            if not any(cells) or (not header and cells[0].startswith("#")):
                continue
            if not header:
                header = cells
                _require(header, column, f"{name}:{reader.line_num}")
                continue
            if len(lines) >= MAX_ROWS:
                raise SourceError(f"{name}:{reader.line_num}: more than {MAX_ROWS} families")
            try:
                family, value = _row(cells, header, column, lines)
            except ValueError as error:
                problems.append(f"{name}:{reader.line_num}: {error}")
            else:
                lines[family], found[family] = reader.line_num, value
    except csv.Error as error:
        raise SourceError(f"{name}:{reader.line_num}: not CSV ({error})") from None
    if not header:
        raise SourceError(f"{name}: empty; expected a header with {FAMILY}, {column}")
    raise_problems(problems)
    if not found:
        raise SourceError(f"{name}: no rows; expected one for each family")
    return found


def _require(header: list[str], column: str, where: str) -> None:
    if len(header) == 1 and (";" in header[0] or "\t" in header[0]):
        raise SourceError(f"{where}: columns are separated by semicolons or tabs; use commas")
    for title in (FAMILY, column):
        if header.count(title) != 1:
            what = "missing column" if title not in header else "two columns have the name"
            raise SourceError(f"{where}: {what} {title}; expected {FAMILY}, {column}, found {shown(', '.join(header))}")


def _row(cells: list[str], header: list[str], column: str, lines: dict[str, int]) -> tuple[str, float]:
    if len(cells) != len(header):
        hint = "; do not use commas as decimal points or thousands separators" if len(cells) > 2 else ""
        raise ValueError(f"{len(cells)} values for {len(header)} columns{hint}")
    family, text = cells[header.index(FAMILY)], cells[header.index(column)]
    if not family or len(family) > 200 or not family.isprintable():
        raise ValueError(f"family is {shown(family)}: expected a name of 1 to 200 printable characters")
    if family in lines:
        raise ValueError(f"{shown(family)} occurs twice (also in line {lines[family]}); keep one")
    try:
        value = _number(text)
    except ValueError as error:
        raise ValueError(f"{column} of {family} is {shown(text)}: {error}") from None
    if value <= 0:
        raise ValueError(f"{column} of {family} is {shown(text)}: expected a number above zero")
    return family, value


def _number(text: str) -> float:
    """Parse a finite number; raises a ValueError that says what is expected."""
    text = text.strip()
    found = _NUMBER.fullmatch(text) if len(text) <= 60 else None
    if found is None:
        if "," in text and _NUMBER.fullmatch(text.replace(",", "")):
            raise ValueError("commas are not allowed; write 1.2e9 or 1200000000")
        if text.lower().lstrip("+-") in ("nan", "inf", "infinity"):
            raise ValueError("expected a finite number")
        raise ValueError(_EXPECTED if text else f"{_EXPECTED}, found nothing")
    value = float(found[1] + (found[2] or "")) * _THOUSANDS[(found[3] or "").lower()]
    if not math.isfinite(value):
        raise ValueError("expected a finite number")
    return value
