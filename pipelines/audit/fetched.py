"""Checks what was fetched into a store: rows of a log and the records that they name.

Every row that says that something was fetched names a record that is there, of the address that it names, and no two
rows name bytes that overlap. No other row names any. Records are read with other code than what wrote them.
"""

import zlib
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from typing import BinaryIO, Final

import pyarrow as pa
import pyarrow.parquet as pq

from winnow.filters.web.urls import canonical_url
from winnow.pipelines.audit.findings import Findings
from winnow.pipelines.fetch.archives.references import RangedObjects
from winnow.pipelines.running.job_tasks import OPENING_BYTES, TaskFolder, TaskKind, TaskWithoutBlocks, slices
from winnow.pipelines.running.tasks import TaskLine
from winnow.pipelines.store import layout
from winnow.pipelines.store.facade import ObjectInfo, ObjectStore
from winnow.pipelines.store.generations import Store
from winnow.pipelines.store.location import open_location
from winnow.schemas.counts import count_of

_COLUMNS: Final = ["url", "canonical", "final_url", "decision", "warc", "offset", "length"]
_WITH_RECORD: Final = frozenset({"fetched", "revisited"})
_TYPES: Final = frozenset({b"response", b"resource", b"revisit"})
_HEAD_BYTES: Final = 1 << 16  # of a record, compressed: its header, whose address may be long
_MOST_PROBLEMS: Final = 10  # of one table


@dataclass(frozen=True, slots=True)
class FetchedTask(TaskLine):
    """Some tables of logs, by their paths in the store."""

    logs: tuple[str, ...]


@dataclass(slots=True)
class FetchedFound:
    """What is wrong with the rows of a task, and how many are right."""

    problems: list[str] = field(default_factory=list)
    rows: int = 0
    records: int = 0


class FetchedCheck:
    """Checks every log of a store against the WARC files beside it."""

    def __init__(self, store: Store, findings: Findings) -> None:
        self._store = store
        self._findings = findings
        self._kind = TaskKind("fetched", FetchedTask, TaskWithoutBlocks(partial(check_logs, store.objects)))
        self._loose: list[str] = []
        self._logs = 0

    def plan(self, tasks: TaskFolder) -> None:
        """Adds the tasks; a WARC file without its rows is noted."""
        sizes: dict[str, int] = {}
        logs: list[ObjectInfo] = []
        for info in self._store.objects.list(layout.FETCHED):
            folder = info.path.split("/")[2:3]
            if folder == ["log"]:
                logs.append(info)
            elif folder == ["warc"]:
                sizes[info.path] = info.size
        committed = {info.path for info in logs}
        self._loose = [path for path in sizes if _log_of(path) not in committed]
        self._logs = len(logs)
        read = {_log_of(path): size for path, size in sizes.items()}
        for some, size in slices(logs, lambda info: info.size + read.get(info.path, 0) + OPENING_BYTES):
            tasks.add(self._kind, FetchedTask(tuple(info.path for info in some)), size)

    def conclude(self, tasks: TaskFolder) -> None:
        """Reports rows without their record."""
        found = list(tasks.found(self._kind.name, FetchedFound))
        problems = [line for one in found for line in one.problems]
        self._findings.problems += problems
        if self._loose:
            more = f" and {len(self._loose) - 1:,} more" if self._loose[1:] else ""
            self._findings.notes.append(
                f"{self._loose[0]}{more}: of a fetch that was stopped, not ingested; winnow fetch removes it"
            )
        if self._logs and not problems:
            rows, records = sum(one.rows for one in found), sum(one.records for one in found)
            self._findings.proved.append(
                f"{count_of(rows, 'row')} of fetches: {count_of(records, 'record')} there, of the addresses named"
            )


def check_logs(objects: ObjectStore, task: FetchedTask) -> FetchedFound:
    """Compares the rows of some tables with the files that they name."""
    found = FetchedFound()
    for path in task.logs:
        try:
            with closing(objects.open(path)) as stream:
                rows = pq.read_table(stream, columns=_COLUMNS)
        except FileNotFoundError:  # a running command has replaced it
            continue
        except (OSError, pa.ArrowException, ValueError) as error:
            found.problems.append(f"{path}: no rows of a fetch ({error}); remove it, and run winnow fetch again")
            continue
        problems = list(_wrong(objects, path, rows, found))
        found.problems += problems[:_MOST_PROBLEMS]
        found.rows += len(rows)
    return found


def _log_of(warc: str) -> str:
    """The path of the rows of a WARC file, both in the store."""
    return "/".join([*warc.split("/")[:2], layout.fetched_log(warc)])


def _wrong(objects: ObjectStore, path: str, rows: pa.Table, found: FetchedFound) -> Iterator[str]:
    """What is wrong with the rows of a table."""
    folder = "/".join(path.split("/")[:2])
    named: dict[str, list[tuple[int, int, str]]] = {}
    for url, canonical, final, decision, warc, offset, length in zip(
        *(rows[name].to_pylist() for name in _COLUMNS), strict=True
    ):
        if (decision in _WITH_RECORD) != (warc is not None):
            yield f"{path}: {url[:200]}: is {decision}, and names {warc or 'no record'}"
        elif warc is not None:
            named.setdefault(f"{folder}/{warc}", []).append((offset, length, final or canonical or url))
    referred = RangedObjects(open_location(f"{objects.root}/{folder}"))
    for warc, places in sorted(named.items()):
        places.sort()
        if not objects.exists(warc):
            if not referred.exists(warc.removeprefix(f"{folder}/")):
                yield f"{path}: names {warc}, which does not exist; remove {path}, and run winnow fetch again"
            continue  # its bytes are where they were: reading them again is ingest's
        with closing(objects.open(warc)) as stream:
            end = 0
            for offset, length, address in places:
                found.records += 1
                wrong = f"begins inside of the one before, which ends at {end}" if offset < end else None
                wrong = wrong or _not_of(stream, offset, length, address)
                if wrong is not None:
                    yield f"{path}: {warc} at {offset}: {wrong}"
                end = offset + length


def _not_of(stream: BinaryIO, offset: int, length: int, address: str) -> str | None:
    """Why a range is no record of an address; None if it is one."""
    stream.seek(offset)
    packed = stream.read(min(length, _HEAD_BYTES))
    try:
        head, ended, _ = zlib.decompressobj(31).decompress(packed, _HEAD_BYTES).partition(b"\r\n\r\n")
    except zlib.error as error:
        return f"no gzip member: {error}"
    if not ended or not head.startswith(b"WARC/"):
        return "no WARC record"
    fields = {
        name.strip().lower(): value.strip()
        for name, _, value in (line.partition(b":") for line in head.split(b"\r\n")[1:])
    }
    if fields.get(b"warc-type") not in _TYPES:
        return f"a record of type {fields.get(b'warc-type', b'none').decode('ascii', 'replace')[:40]}"
    named = fields.get(b"warc-target-uri", b"").strip(b"<>").decode("utf-8", "replace")
    if named != address and (canonical_url(named) or named) != (canonical_url(address) or address):
        return f"a record of {named[:200]}, not of {address[:200]}"
    return None
