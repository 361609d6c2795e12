"""Builds Markdown, escaping names from outside."""

import re

from winnow.runners.tables.escaping import visible
from winnow.runners.tables.table import Table

_MARKDOWN = re.compile(r"([\\`*_\[\]<>|~&#])")


def table(shown: Table) -> str:
    """A table of escaped cells, without its title."""
    lines = [f"| {' | '.join(head.title for head in shown.heads)} |", f"|{'---|' * len(shown.heads)}"]
    lines += [f"| {' | '.join(map(text, shown.written(row)))} |" for row in shown.rows]
    return "\n".join(lines) + "\n"


def text(raw: str) -> str:
    """Text escaped for Markdown and HTML."""
    return _MARKDOWN.sub(r"\\\1", visible(" ".join(raw.split())))
