"""Prints tables with rich, and JSON in place of them.

On a terminal, names are shortened until a line fits; numbers never are, and no column is left out. In a pipe, or with
NO_COLOR or TERM=dumb, nothing is shortened or wrapped, so that lines can be searched, and rules are ASCII without
styles. Characters that the stream's encoding lacks are written as escapes.
"""

import os
import sys
from collections.abc import Iterable

import orjson
from rich.cells import cell_len
from rich.console import Console
from rich.rule import Rule
from rich.segment import Segment
from rich.table import Table as Layout
from rich.text import Text

from winnow.runners.tables.escaping import visible
from winnow.runners.tables.table import Table, Value

LEAST_NAME_CELLS = 8
ENDLESS_CELLS = 1_000_000
"""The width of lines that are not for a terminal."""


def print_json(found: object) -> None:
    """Print a line of JSON to the standard output, in UTF-8 whatever its encoding is."""
    sys.stdout.flush()
    sys.stdout.buffer.write(orjson.dumps(found) + b"\n")
    sys.stdout.buffer.flush()


def print_tables(console: Console, *tables: Table) -> None:
    """Print each table that has rows, followed by an empty line."""
    for table in tables:
        if not table.rows:
            continue
        plain = is_plain(console)
        print_line(console, table.title, "bold")
        laid = _laid_out(console, table, plain)
        # In less than its least width rich would leave out columns of names; longer lines are wrapped by the terminal.
        width = ENDLESS_CELLS if plain else max(console.width, _least_width(laid))
        for line in Segment.split_lines(console.render(laid, console.options.update(width=width))):
            text = Text.assemble(*((segment.text, segment.style or "") for segment in line))
            text.rstrip()  # rich fills the last column of names with spaces
            console.print(text)
        console.print()


def print_line(console: Console, text: str, style: str = "") -> None:
    """Print one line of text, which may contain crawled text, escaped."""
    console.print(Text(encodable(visible(text), console), "" if is_plain(console) else style))


def print_remarks(console: Console, remarks: Iterable[str]) -> None:
    """Print remarks of winnow's own, one line each."""
    for one in remarks:
        console.print(f"note    {one}")


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


def _least_width(laid: Layout) -> int:
    return sum(column.min_width or 0 for column in laid.columns) + 2 * (len(laid.columns) - 1)


def _laid_out(console: Console, table: Table, plain: bool) -> Layout:
    def shown(row: tuple[Value, ...]) -> list[Text]:
        # `no_wrap` is set on each text and not on the column: rich narrows only columns that may wrap.
        cells = zip(table.written(row), table.heads, strict=True)
        return [
            Text(encodable(visible(cell), console), no_wrap=True, overflow="ellipsis")
            for cell, head in cells
            if head.unit.drawn != "meter"
        ]

    titles = tuple(head.title for head in table.heads)
    rows = [shown(row) for row in (titles, *table.rows, *([table.footer] if table.footer else []))]
    units = [head.unit for head in table.heads if head.unit.drawn != "meter"]
    laid = Layout(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    for unit, column in zip(units, zip(*rows, strict=True), strict=True):
        wide = max(cell_len(cell.plain) for cell in column)
        if unit.number:
            laid.add_column(justify="right", min_width=wide, no_wrap=True)
        else:
            laid.add_column(min_width=wide if unit.whole else min(wide, LEAST_NAME_CELLS), no_wrap=unit.whole)
    dim, bold = ("", "") if plain else ("dim", "bold")
    laid.add_row(*rows[0], style=dim)
    laid.add_row(*(Rule(characters="-" if plain else "─", style=dim) for _ in rows[0]))
    for row in rows[1 : len(table.rows) + 1]:
        laid.add_row(*row)
    if table.footer:
        laid.add_row(*rows[-1], style=bold)
    return laid
