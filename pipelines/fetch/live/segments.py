"""Where a crawl's records and rows go: segments, each of which is committed whole, on a thread of their own.

A segment is finished when it is full or old, though nothing more may come, so a run that is killed loses what came in
its last half minute, or a few addresses. Its files of hosts (`robots/NAME.jsonl.gz`, for `url.robots`) are put first.
"""

import asyncio
import gzip
import os
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Final

import pyarrow as pa

from winnow.pipelines.fetch.host_files import HOST_FILES, LINES, gather_host_files, lines_path
from winnow.pipelines.fetch.live.exchange import Hop, Response
from winnow.pipelines.fetch.live.record import Earlier, SegmentWriter
from winnow.pipelines.fetch.log import put_log
from winnow.pipelines.fetch.outcome import Decision, Outcome, Reason
from winnow.pipelines.fetch.progress import Tally
from winnow.pipelines.store.concurrency import map_objects
from winnow.pipelines.store.facade import ObjectStore
from winnow.pipelines.store.layout import FETCHED_HOSTS
from winnow.schemas.recipe.fetch import FetchConfig

FIRST_AGE: Final = 2.0  # seconds of a run's first segment; each may grow twice as old as the one before it
MAX_AGE: Final = 30.0
FEW_ROWS: Final = 64  # a segment with fewer grows older, so that a slow crawl makes no thousands of tiny files
MAX_AGE_OF_FEW: Final = 300.0

_TIME: Final = "%Y%m%dT%H%M%S"
_KEPT_DIGESTS: Final = 100_000  # of bodies, of which others with the same bytes are revisits: 30 MB
_MOST_TABLES: Final = 8


def longest_age(finished: int, rows: int) -> float:
    """The seconds after which a segment with so many rows is finished, of a run that has finished so many."""
    return min(FIRST_AGE * 2.0 ** min(finished, 16), MAX_AGE_OF_FEW if rows < FEW_ROWS else MAX_AGE)


class Segments:
    """Writes what a crawl decides; all methods but `close` may be called from its event loop and never block it."""

    def __init__(self, objects: ObjectStore, config: FetchConfig, tally: Tally) -> None:
        self._objects, self._config, self._tally = objects, config, tally
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="segments")
        self._writer: SegmentWriter | None = None
        self._began = 0.0
        self._finished = 0
        self._finishing: Future[None] | None = None
        self._host_lines: list[bytes] = []
        self._digests: OrderedDict[tuple[str | None, bytes], Earlier] = OrderedDict()
        self._number = 0
        self._failed: BaseException | None = None
        self._writing = 0
        self._rows: deque[Future[None]] = deque()  # tables that wait to be put

    def remembered_lines(self) -> Iterator[bytes]:
        """The lines of hosts' files that runs of the last day kept."""
        oldest = f"{FETCHED_HOSTS}{datetime.now(UTC) - timedelta(days=1):{_TIME}}"
        found = (one.path for one in self._objects.list(FETCHED_HOSTS) if one.path.endswith(LINES))
        recent = [path for path in found if oldest <= path < HOST_FILES]
        for raw in map_objects(self._objects, self._objects.read, recent):
            yield from gzip.decompress(raw).splitlines()

    @property
    def is_behind(self) -> bool:
        """Whether so much waits to be written that nothing new should be begun."""
        while self._rows and self._rows[0].done():
            self._rows.popleft()
        return self._writing > self._config.at_once or len(self._rows) > _MOST_TABLES

    async def keep(self, outcome: Outcome, response: Response, hops: Sequence[Hop], earlier: Earlier | None) -> None:
        """Write a record and its row; the response's body is freed."""
        self._writing += 1
        try:
            loop = asyncio.get_running_loop()
            kept = await loop.run_in_executor(self._thread, self._keep, outcome, response, hops, earlier)
        finally:
            self._writing -= 1
        self._tally.add_rows(kept.decision, kept.reason, 1)

    def note(self, outcome: Outcome) -> None:
        """Write the row of an address without a record."""
        self._tally.add_rows(outcome.decision, outcome.reason, 1)
        self._later(self._note, outcome)

    def note_rows(self, rows: pa.Table, decision: Decision, reason: Reason) -> None:
        """Write the rows of many addresses that end alike."""
        self._tally.add_rows(decision, reason, rows.num_rows)
        self._rows.append(self._later(self._note_rows, rows))

    async def keep_host_file(self, response: Response, line: bytes) -> None:
        """Keep a host's file; the caller closes its response."""
        await asyncio.get_running_loop().run_in_executor(self._thread, self._keep_host_file, response, line)

    def fail(self, error: BaseException) -> None:
        """Remember what went wrong, for `check`."""
        self._failed = self._failed or error

    def check(self) -> None:
        """Raise what went wrong."""
        if self._failed is not None:
            raise self._failed

    def finish_old(self) -> None:
        """Commit what is there if it is old, whether or not more comes."""
        if self._is_due and (self._finishing is None or self._finishing.done()):
            self._finishing = self._later(self._finish_due)

    def close(self) -> None:
        """Commit what is there, and gather the files of hosts."""
        try:
            self._thread.submit(self._finish).result()
            self.check()
            gather_host_files(self._objects)
        finally:
            self._thread.shutdown()

    def _later(self, write: Callable[..., None], *arguments: object) -> "Future[None]":
        self.check()
        done = self._thread.submit(write, *arguments)
        done.add_done_callback(self._look)
        return done

    def _look(self, done: "Future[None]") -> None:
        error = done.exception()
        if error is not None:
            self.fail(error)

    @property
    def _is_due(self) -> bool:
        writer = self._writer
        if writer is None:
            return False
        return writer.is_full or time.monotonic() - self._began >= longest_age(self._finished, writer.rows)

    def _finish_due(self) -> None:
        if self._is_due:
            self._finish()

    def _segment(self) -> SegmentWriter:
        self._finish_due()
        if self._writer is None:
            self._writer = SegmentWriter(self._objects, self._config)
            self._began = time.monotonic()
        return self._writer

    def _keep(self, outcome: Outcome, response: Response, hops: Sequence[Hop], earlier: Earlier | None) -> Outcome:
        with response:
            if earlier is None and response.body.size and self._config.same_bytes == "revisit":
                earlier = self._same(outcome, response)
                if earlier is not None:
                    outcome = replace(outcome, decision=Decision.REVISITED, reason=Reason.SAME_BYTES)
            return self._segment().keep(outcome, response, hops=hops, earlier=earlier)

    def _same(self, outcome: Outcome, response: Response) -> Earlier | None:
        """The record of this run that has the same bytes; of the same domain, as others may go for other reasons."""
        key = outcome.domain, response.body.sha256
        found = self._digests.get(key)
        if found is None:
            self._digests[key] = Earlier(response.place.url, response.began)
            if len(self._digests) > _KEPT_DIGESTS:
                self._digests.popitem(last=False)
        else:
            self._digests.move_to_end(key)
        return found

    def _note(self, outcome: Outcome) -> None:
        self._segment().note(outcome)

    def _note_rows(self, rows: pa.Table) -> None:
        put_log(self._objects, self._name(), rows)

    def _keep_host_file(self, response: Response, line: bytes) -> None:
        self._host_lines.append(line)
        self._segment().keep_beside(response)

    def _name(self) -> str:
        self._number += 1
        return f"{datetime.now(UTC):{_TIME}}-{os.getpid()}-{self._number:06}-{os.urandom(4).hex()}"

    def _finish(self) -> None:
        if self._host_lines:
            self._objects.put(lines_path(self._name()), gzip.compress(b"".join(self._host_lines), mtime=0))
            self._host_lines.clear()
        if self._writer is not None:
            writer, self._writer = self._writer, None
            segment = writer.finish()
            self._finished += 1
            self._tally.warc_files += segment is not None and segment.bytes > 0
