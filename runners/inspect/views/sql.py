"""The result of a query, a page at a time."""

from typing import Final

from winnow.runners.inspect.asking import number_of, text_of
from winnow.runners.inspect.opened import Opened
from winnow.runners.inspect.queries import MAX_ROWS, first_rows, shown
from winnow.runners.inspect.view import Answer, Asked, View

PAGE_ROWS: Final = 100


def answer(opened: Opened, asked: Asked) -> Answer:
    """The columns, and the rows of one page."""
    query = text_of(asked, "query")
    page = number_of(asked, "page", 0, most=MAX_ROWS // PAGE_ROWS)
    found = first_rows(opened, query)
    table = found.table.slice(page * PAGE_ROWS, PAGE_ROWS)
    columns = [column.to_pylist() for column in table.columns]
    return {
        "columns": [{"name": field.name, "type": str(field.type)} for field in found.table.schema],
        "rows": [[shown(value) for value in row] for row in zip(*columns, strict=True)],
        "page": page,
        "page_rows": PAGE_ROWS,
        "total": found.table.num_rows,
        "truncated": found.truncated,
    }


VIEW = View(answer, seconds=30)
