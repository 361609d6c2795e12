"""The columns of a table's cells, of which some span several columns or rows, by the HTML standard's rules."""

from typing import Final

import numpy as np

from winnow.filters.extraction.main_content.attribute_values import attribute_names, attribute_values
from winnow.filters.extraction.main_content.names import NUMBER
from winnow.filters.extraction.main_content.scan import Page

MOST_COLUMNS: Final = 64
_MOST_ROWS: Final = 65_534  # HTML's bound of a rowspan; 0 spans all that follow
_SPANS: Final = attribute_names(["colspan", "rowspan"])
_CELLS: Final = np.array([NUMBER["td"], NUMBER["th"]], np.int32)


def cell_columns(page: Page, source: bytes, table: int) -> dict[int, int]:
    """The column of each cell; those beyond the last that is written share it."""
    left = np.flatnonzero(page.parent[table + 1 :] < table)
    end = table + 1 + int(left[0]) if len(left) else len(page.tag)
    cells = table + 1 + np.flatnonzero(np.isin(page.tag[table + 1 : end], _CELLS))
    found: dict[int, int] = {}
    rows_left = np.zeros(MOST_COLUMNS + 1, np.int64)  # of the cells above that span more rows, by column
    row = group = column = -1
    for cell, spans in zip(cells.tolist(), attribute_values(page, source, cells, _SPANS), strict=True):
        if (parent := int(page.parent[cell])) != row:
            row, column = parent, 0
            if int(page.parent[row]) != group:
                group = int(page.parent[row])
                rows_left[:] = 0  # no cell leaves its part of the table
            np.maximum(rows_left - 1, 0, out=rows_left)
        while column < MOST_COLUMNS and rows_left[column]:
            column += 1
        found[cell] = column
        width, height = _span(spans.get("colspan"), MOST_COLUMNS) or 1, _span(spans.get("rowspan"), _MOST_ROWS)
        after = min(column + width, MOST_COLUMNS)
        rows_left[column:after] = height or _MOST_ROWS
        column = after
    return found


def _span(written: str | None, most: int) -> int:
    """How far a cell reaches; 1 for what is no number."""
    digits = (written or "1").strip()
    return min(int(digits), most) if digits.isascii() and digits.isdigit() and len(digits) < 10 else 1
