"""Terminal tables: a `Grid` is the content of a table, and `print_grid` prints it with rich.

On a terminal, names are shortened until a line fits; numbers never are, and no column is left out. In a pipe, or with
NO_COLOR or TERM=dumb, nothing is shortened or wrapped, so that lines can be searched, and rules are ASCII without
styles. Characters that the stream's encoding lacks are written as escapes.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass, field

from rich.cells import cell_len
from rich.console import Console
from rich.rule import Rule
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from winnow.runners.tables.escaping import visible

LEAST_NAME_CELLS = 8
ENDLESS_CELLS = 1_000_000
"""The width of lines that are not for a terminal."""


@dataclass(frozen=True, slots=True)
class Grid:
    """A table. Columns in `names` are aligned left and may be shortened; all others are numbers."""

    title: str
    headers: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]
    names: frozenset[int] = field(default_factory=lambda: frozenset({0}))
    footer: tuple[str, ...] | None = None
    whole: frozenset[int] = frozenset()  # names that are never shortened, as users type them again


def print_grid(console: Console, grid: Grid) -> None:
    """Print a table followed by an empty line; nothing if it has no rows."""
    if not grid.rows:
        return
    plain = is_plain(console)
    print_line(console, grid.title, "bold")
    table = _table(console, grid, plain)
    # In less than its least width rich would leave out columns of names; longer lines are wrapped by the terminal.
    width = ENDLESS_CELLS if plain else max(console.width, _least_width(table))
    for line in Segment.split_lines(console.render(table, console.options.update(width=width))):
        text = Text.assemble(*((segment.text, segment.style or "") for segment in line))
        text.rstrip()  # rich fills the last column of names with spaces
        console.print(text, soft_wrap=True)
    console.print()


def print_line(console: Console, text: str, style: str = "") -> None:
    """Print one line of text, which may contain crawled text, escaped."""
    console.print(Text(encodable(visible(text), console), "" if is_plain(console) else style), soft_wrap=True)


def is_plain(console: Console) -> bool:
    """Whether to print without styles: in a pipe, with NO_COLOR, or without Unicode."""
    unicode = console.encoding.lower().startswith("utf")
    return not console.is_terminal or console.is_dumb_terminal or not unicode or bool(os.environ.get("NO_COLOR"))


def encodable(text: str, console: Console) -> str:
    """The text as the terminal can show it."""
    try:
        text.encode(console.encoding)
    except (UnicodeEncodeError, LookupError):
        return text.encode("ascii", "backslashreplace").decode()
    return text


def _least_width(table: Table) -> int:
    return sum(column.min_width or 0 for column in table.columns) + 2 * (len(table.columns) - 1)


def _table(console: Console, grid: Grid, plain: bool) -> Table:
    def shown(row: tuple[str, ...]) -> list[Text]:
        # `no_wrap` is set on each text and not on the column: rich narrows only columns that may wrap.
        return [Text(encodable(visible(cell), console), no_wrap=True, overflow="ellipsis") for cell in row]

    rows = [shown(row) for row in (grid.headers, *grid.rows, *([grid.footer] if grid.footer else []))]
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    for index, column in enumerate(zip(*rows, strict=True)):
        wide = max(cell_len(cell.plain) for cell in column)
        if index not in grid.names:
            table.add_column(justify="right", min_width=wide, no_wrap=True)
        else:
            whole = index in grid.whole
            table.add_column(min_width=wide if whole else min(wide, LEAST_NAME_CELLS), no_wrap=whole)
    dim, bold = ("", "") if plain else ("dim", "bold")
    table.add_row(*rows[0], style=dim)
    table.add_row(*(Rule(characters="-" if plain else "─", style=dim) for _ in rows[0]))
    for row in rows[1 : len(grid.rows) + 1]:
        table.add_row(*row)
    if grid.footer:
        table.add_row(*rows[-1], style=bold)
    return table
