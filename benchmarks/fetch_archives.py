"""How fast records of an archive are fetched, beside a bare aiohttp loop that knows the ranges and checks nothing.

A server on loopback stands for S3: each answer begins after 30 ms, a connection brings 40 MB a second, and whoever has
more than 12 requests open is refused by 503. The records are those of a language whose sites stand together, as pages
of one crawl segment do. A second run without latency and limits tells what passing members through costs a core, beside
the loop again: the time of a core differs by a half between machines and hours.

    python -m benchmarks.fetch_archives [--quick] [--json]
"""

import argparse
import asyncio
import gzip
import json
import mmap
import random
import re
import sys
import tempfile
import time
from pathlib import Path
from typing import Final, cast

import aiohttp
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.measuring.reporting import (
    Amounts,
    Limit,
    Measured,
    benchmark_arguments,
    compared,
    judged,
    measure,
    show,
    timed,
    wall_seconds,
)
from benchmarks.measuring.serving import serve, served
from winnow.pipelines.fetch.archives.plan import ArchiveAsk, ranges_of, read_task
from winnow.pipelines.fetch.archives.stage import fetch_archive, plan_archive
from winnow.pipelines.store.local import LocalStore
from winnow.schemas.recipe.fetch import ArchiveQuery

MODULE: Final = "benchmarks.fetch_archives"
FULL, QUICK, SMALL = 72_000, 18_000, 400  # records in the archive
FILES: Final = 4
SITE: Final = 12  # pages of a site that stand together; a third of the sites is in the language
LATENCY_SECONDS: Final = 0.03
CONNECTION_BYTES: Final = 40 << 20  # a second
MOST_OPEN: Final = 12
AT_ONCE: Final = 10  # what a recipe allows by default
FLOOR: Final = 0.8  # of the bare loop
MOST_REQUESTS: Final = 0.3  # a record
CORE_BYTES: Final = 400e6  # a second of one core is the goal
MOST_CPU: Final = 1.75  # times that of the loop, which checks nothing


def main() -> int:
    """Measure and print."""
    parser = benchmark_arguments(__doc__ or "")
    parser.add_argument("--case", nargs=3, help=argparse.SUPPRESS)  # ours or bare, its folder, the server
    parser.add_argument("--serve", nargs=3, help=argparse.SUPPRESS)  # a port's file, a folder, with limits or not
    options = parser.parse_args()
    if options.serve:
        asyncio.run(_serve(Path(options.serve[1]), Path(options.serve[0]), limited=options.serve[2] == "limited"))
        return 0
    if options.case:
        case, folder, address = options.case
        _fetch(Path(folder), address) if case == "ours" else asyncio.run(_bare(Path(folder), address))
        return 0
    records = QUICK if options.quick else FULL
    rounds = 1 if options.quick else 3
    with tempfile.TemporaryDirectory(prefix="winnow-fetch-") as name:
        folder = Path(name)
        sizes = {size: _planned(folder, size) for size in (SMALL, records)}
        plan = sizes[records]
        amounts = Amounts(now=plan[1] >> 10, full=plan[1] >> 10, small=sizes[SMALL][1] >> 10)
        places = {size_bytes >> 10: folder / str(size) for size, (_, size_bytes, _) in sizes.items()}

        def run(case: str, address: str, size: int) -> Measured:
            return _case(case, places[size], address)

        with served(MODULE, folder / "port-limited", str(folder), "limited") as port:
            address = f"http://127.0.0.1:{port}/"
            ours = timed("winnow", "KiB", amounts, lambda size: run("ours", address, size), rounds, wall_seconds)
            bare = timed("bare aiohttp", "KiB", amounts, lambda size: run("bare", address, size), rounds, wall_seconds)
        with served(MODULE, folder / "port-free", str(folder), "free") as port:
            address = f"http://127.0.0.1:{port}/"
            free = {
                case: min(float(run(case, address, amounts.now).last_line) for _ in range(max(2, rounds)))
                for case in ("ours", "bare")
            }
    report = compared(
        "fetch_archives",
        "KiB/s",
        ours,
        {"bare aiohttp": bare},
        floors={"bare aiohttp": FLOOR},
        limit=Limit("requests a record", plan[2] / plan[0], MOST_REQUESTS, "requests"),
        rows=[ours, bare],
        quick=options.quick,
    )
    status = show(report, options.json)
    seconds = " and ".join(f"{one * CORE_BYTES / plan[1]:.2f} s ({case})" for case, one in free.items())
    print(f"400 MB passed through take {seconds} of a core")
    core = Limit("CPU time of what is passed through", free["ours"] / free["bare"], MOST_CPU, "times the bare loop's")
    return status | judged("fetch_archives", [core], as_json=False)


def _planned(folder: Path, records: int) -> tuple[int, int, int]:
    """Makes an archive of so many records, and plans; its number of chosen records, their bytes, and the requests."""
    place = folder / str(records)
    _make(place / "archive", records)
    plan = plan_archive(_asked(place, "http://127.0.0.1/"))
    asked = []
    for task in plan.task_list:
        rows = read_task(LocalStore(place / "out"), task.name)
        found = ranges_of(rows)
        origins, starts = rows["origin"].to_pylist(), rows["origin_offset"].to_pylist()
        lengths = rows["length"].to_pylist()
        for number in range(len(found)):
            first, last = int(found.first[number]), int(found.first[number + 1])
            start = int(found.starts[number])
            slices = [(starts[row] - start, lengths[row]) for row in range(first, last)]
            asked.append((origins[first], start, int(found.stops[number]), slices))
    (place / "ranges.json").write_text(json.dumps(asked))
    return plan.records, plan.bytes, plan.requests


def _asked(place: Path, address: str) -> ArchiveAsk:
    archive = place / "archive"
    query = ArchiveQuery(
        crawl="CC-MAIN-2026-40",
        where="content_languages = 'isl'",
        index=str(archive / "index"),
        data=f"{address}{place.name}/archive/",
        robots=False,
    )
    return ArchiveAsk(query, LocalStore(place / "out", durable=False), "isl", 7)


def _make(folder: Path, records: int) -> None:
    """Files of members of some 5 to 45 kB that do not pack, and their index."""
    chance = random.Random(7)
    rows = []
    (folder / "index").mkdir(parents=True)
    for number in range(FILES):
        name = f"{number:05}.warc.gz"
        with (folder / name).open("wb") as stream:
            for at in range(records // FILES):
                site = at // SITE
                url = f"https://site{number}-{site}.is/{at}"
                body = chance.randbytes(chance.randrange(5_000, 45_000))
                http = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n" + body
                head = (
                    f"WARC/1.0\r\nWARC-Type: response\r\nWARC-Date: 2026-10-01T00:00:00Z\r\n"
                    f"WARC-Record-ID: <urn:uuid:{number:08}-0000-4000-8000-{at:012}>\r\nContent-Length: {len(http)}\r\n"
                    f"Content-Type: application/http; msgtype=response\r\nWARC-Target-URI: {url}\r\n\r\n"
                ).encode()
                member = gzip.compress(head + http + b"\r\n\r\n", 1, mtime=0)
                language = "isl" if site % 3 == 0 else "eng"
                rows.append((url, language, name, stream.tell(), len(member)))
                stream.write(member)
    names = ("url", "content_languages", "warc_filename", "warc_record_offset", "warc_record_length")
    columns = [list(column) for column in zip(*rows, strict=True)]
    pq.write_table(pa.table(dict(zip(names, columns, strict=True))), folder / "index/part.parquet")


def _case(case: str, place: Path, address: str) -> Measured:
    """One run of a case in a process of its own, into an empty folder."""
    for folder in ("warc", "log"):
        for file in (place / "out" / folder).glob("*"):
            file.unlink()
    return measure([sys.executable, "-m", MODULE, "--case", case, str(place), address])


def _fetch(place: Path, address: str) -> None:
    asked = _asked(place, address)
    plan = plan_archive(asked)
    began = time.process_time()
    tally = fetch_archive(plan, asked)
    assert set(tally.by_reason) == {"ok"}, tally.by_reason
    print(time.process_time() - began)


async def _bare(place: Path, address: str) -> None:
    """Asks for the same ranges, as many at once, and writes the records of each as it comes."""
    began = time.process_time()
    ranges = iter(json.loads((place / "ranges.json").read_text()))
    with (place / "bare.warc.gz").open("wb") as stream:
        async with aiohttp.ClientSession(auto_decompress=False) as session:

            async def work() -> None:
                for name, start, stop, slices in ranges:
                    headers = {"Range": f"bytes={start}-{stop - 1}"}
                    async with session.get(f"{address}{place.name}/archive/{name}", headers=headers) as response:
                        assert response.status == 206
                        content = await response.read()
                    for at, length in slices:
                        stream.write(content[at : at + length])

            await asyncio.gather(*(work() for _ in range(AT_ONCE)))
    print(time.process_time() - began)


class _Storage(asyncio.Protocol):
    """Answers range requests of one connection."""

    open_requests = 0

    def __init__(self, files: dict[str, mmap.mmap], limited: bool) -> None:
        self._files = files
        self._limited = limited
        self._held = b""
        self._answers: set[asyncio.Task[None]] = set()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._transport.set_write_buffer_limits(high=4 << 20)

    def data_received(self, data: bytes) -> None:
        self._held += data
        while (end := self._held.find(b"\r\n\r\n")) >= 0:
            head, self._held = self._held[:end], self._held[end + 4 :]
            found = re.match(rb"GET /(\S+) .*?\r\nRange: bytes=(\d+)-(\d+)", head, re.DOTALL | re.IGNORECASE)
            assert found is not None, head
            answer = asyncio.ensure_future(self._answer(found[1].decode(), int(found[2]), int(found[3]) + 1))
            self._answers.add(answer)
            answer.add_done_callback(self._answers.discard)

    async def _answer(self, name: str, start: int, stop: int) -> None:
        if self._limited and _Storage.open_requests >= MOST_OPEN:
            self._transport.write(b"HTTP/1.1 503 Slow Down\r\nContent-Length: 0\r\n\r\n")
            return
        _Storage.open_requests += 1
        try:
            if self._limited:
                await asyncio.sleep(LATENCY_SECONDS)
            file = self._files[name]
            head = f"HTTP/1.1 206 Partial Content\r\nContent-Length: {stop - start}\r\n"
            self._transport.write(f"{head}Content-Range: bytes {start}-{stop - 1}/{len(file)}\r\n\r\n".encode())
            step = 256 << 10
            for at in range(start, stop, step):
                if self._limited:
                    await asyncio.sleep(min(step, stop - at) / CONNECTION_BYTES)
                if at + step >= stop:
                    _Storage.open_requests -= 1
                self._transport.write(file[at : min(at + step, stop)])
        except BaseException:
            _Storage.open_requests -= 1
            raise


async def _serve(folder: Path, told: Path, *, limited: bool) -> None:
    files = {}
    for path in folder.glob("*/archive/*.warc.gz"):
        with path.open("rb") as stream:
            files[str(path.relative_to(folder))] = mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ)
    await serve(lambda: _Storage(files, limited), "127.0.0.1", told)


if __name__ == "__main__":
    raise SystemExit(main())
