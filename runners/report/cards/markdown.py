"""Markdown that no name from outside can break out of."""

import re
from collections.abc import Iterable, Sequence

from winnow.runners.terminal.escaping import visible

_MARKDOWN = re.compile(r"([\\`*_\[\]<>|~&#])")


def table(headers: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table; what its cells hold is text."""
    lines = [f"| {' | '.join(headers)} |", f"|{'---|' * len(headers)}"]
    lines += [f"| {' | '.join(map(text, row))} |" for row in rows]
    return "\n".join(lines) + "\n"


def text(raw: str) -> str:
    """Text that Markdown and HTML take as text."""
    return _MARKDOWN.sub(r"\\\1", visible(" ".join(raw.split())))
