"""How many documents are done, on one line of the terminal."""

import sys
import time

from winnow.runners.tables.quantities import grouped

_EVERY_SECONDS = 2.0


class DocumentProgress:
    """A line on the terminal that is written over; nothing where stderr is no terminal."""

    def __init__(self) -> None:
        self._begun = self._last = time.monotonic()

    def __call__(self, documents: int) -> None:
        """Say that so many are done."""
        now = time.monotonic()
        if sys.stderr.isatty() and now - self._last >= _EVERY_SECONDS:
            self._last = now
            rate = documents / (now - self._begun)
            print(f"\r{grouped(documents)} documents, {rate:,.0f}/s ", end="", file=sys.stderr, flush=True)
