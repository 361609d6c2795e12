"""Builds Markdown, escaping names from outside."""

import re
from collections.abc import Iterable, Sequence

from winnow.runners.tables.escaping import visible

_MARKDOWN = re.compile(r"([\\`*_\[\]<>|~&#])")


def table(headers: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table of escaped cells."""
    lines = [f"| {' | '.join(headers)} |", f"|{'---|' * len(headers)}"]
    lines += [f"| {' | '.join(map(text, row))} |" for row in rows]
    return "\n".join(lines) + "\n"


def text(raw: str) -> str:
    """Text escaped for Markdown and HTML."""
    return _MARKDOWN.sub(r"\\\1", visible(" ".join(raw.split())))
