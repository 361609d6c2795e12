"""Cuts what a view lists into pages."""

from typing import Final

from winnow.runners.inspect.asking import number_of
from winnow.runners.inspect.view import Asked

PAGE_ROWS: Final = 50


def paged(asked: Asked, count: int) -> tuple[int, int, slice]:
    """The page that is asked for, how many there are, and which rows are on it."""
    pages = max(1, -(-count // PAGE_ROWS))
    page = min(number_of(asked, "page", 0), pages - 1)
    return page, pages, slice(page * PAGE_ROWS, (page + 1) * PAGE_ROWS)
