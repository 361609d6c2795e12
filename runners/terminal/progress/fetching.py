"""Live progress of a fetch, from what it tells: addresses, bytes, hosts, reasons, and the time left.

For display only: nothing depends on it.
"""

import time
from collections.abc import Callable
from dataclasses import replace

from rich.console import Console

from winnow.pipelines.fetch.progress import Progress
from winnow.runners.terminal.progress.stage import ranked_reasons
from winnow.runners.terminal.progress.status import Status
from winnow.runners.terminal.progress.status_line import StatusLine
from winnow.schemas.counts import count_of


class FetchProgress:
    """Shows one source while it is fetched; given to what fetches, which calls it as it goes."""

    def __init__(self, console: Console, source: str, poll: Callable[[], Progress] | None = None) -> None:
        """Begin; nothing is shown before `shown`. `poll`: asks how far the fetch is, where nothing tells it."""
        self._poll = poll
        self._console = console
        self._source = source
        self._began = time.monotonic()
        self._last: Progress | None = None

    def __call__(self, progress: Progress) -> None:
        """Take over how far the fetch is."""
        self._last = progress

    def shown(self, seconds: float = 0.0) -> StatusLine:
        """The status line, shown while the source is fetched; `seconds` are the least between two polls."""
        return StatusLine(self._console, self.status(), self._polled, 0.0 if self._poll is None else seconds)

    def say_end(self) -> None:
        """Print the last line."""
        seconds = time.monotonic() - self._began
        self._console.print(replace(self.status(), share=None).line(f"{seconds:.1f} s"))

    def _polled(self) -> Status:
        if self._poll is not None:
            self._last = self._poll()
        return self.status()

    def status(self) -> Status:
        """The line of this moment."""
        now = self._last
        if now is None:
            return Status("fetch", (f"{self._source}  beginning",))
        seconds = max(time.monotonic() - self._began, 1e-3)
        whole = "" if now.addresses_all is None else f"/{now.addresses_all:,}"
        facts = [f"{self._source}  {now.addresses_done:,}{whole} addresses", f"{now.addresses_done / seconds:,.0f}/s"]
        facts.append(f"{now.bytes / seconds / 1e6:,.1f} MB/s")
        if now.hosts_open:
            facts.append(count_of(now.hosts_open, "host"))
        share = None
        if now.addresses_all is not None:
            share = (
                1.0 if now.addresses_done >= now.addresses_all else min(now.addresses_done / now.addresses_all, 0.99)
            )
        more = (ranked_reasons(now.by_reason),) if now.by_reason else ()
        return Status("fetch", tuple(facts), share, more)
