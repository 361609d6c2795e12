"""A small Common Crawl on loopback: WARC files, robots.txt captures and a columnar index, served by a web server.

`Crawl` writes the files; `Server` answers range requests for them, counts these, and misbehaves as it is told.
"""

import gzip
import re
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import Self
from urllib.parse import unquote, urlsplit

import pyarrow as pa
import pyarrow.parquet as pq

from winnow.filters.web.urls import registered_domain

TEXT = "Halló heimur og allir sem þar búa. "
NAME = "CC-MAIN-2026-40"
BEGIN = datetime(2026, 10, 1, tzinfo=UTC)
INDEX = pa.schema(
    [
        ("url_surtkey", pa.string()),
        ("url", pa.string()),
        ("url_host_name", pa.string()),
        ("url_host_registered_domain", pa.string()),
        ("url_path", pa.string()),
        ("fetch_time", pa.timestamp("ms")),
        ("fetch_status", pa.int16()),
        ("fetch_redirect", pa.string()),
        ("content_digest", pa.string()),
        ("content_mime_type", pa.string()),
        ("content_mime_detected", pa.string()),
        ("content_charset", pa.string()),
        ("content_languages", pa.string()),
        ("content_truncated", pa.string()),
        ("warc_filename", pa.string()),
        ("warc_record_offset", pa.int32()),
        ("warc_record_length", pa.int32()),
        ("warc_segment", pa.string()),
    ]
)


@dataclass(frozen=True, slots=True)
class Page:
    """A page of the crawl."""

    url: str
    text: str
    language: str = "isl"
    status: int = 200


def record(url: str, body: bytes, moment: datetime, *, status: int = 200, mime: str = "text/html") -> bytes:
    """A gzip member with a response record, as Common Crawl writes them."""
    http = (
        f"HTTP/1.1 {status} OK\r\nContent-Type: {mime}; charset=utf-8\r\nContent-Length: {len(body)}\r\n\r\n".encode()
    )
    head = (
        f"WARC/1.0\r\nWARC-Type: response\r\nWARC-Date: {moment:%Y-%m-%dT%H:%M:%SZ}\r\n"
        f"WARC-Record-ID: <urn:uuid:00000000-0000-4000-8000-{abs(hash((url, moment))) % 10**12:012}>\r\n"
        f"Content-Length: {len(http) + len(body)}\r\nContent-Type: application/http; msgtype=response\r\n"
        f"WARC-Target-URI: {url}\r\n\r\n"
    )
    return gzip.compress(head.encode() + http + body + b"\r\n\r\n", mtime=0)


def surt(url: str) -> str:
    """The key by which an index is sorted."""
    parts = urlsplit(url)
    labels = (parts.hostname or "").removeprefix("www.").split(".")
    return f"{','.join(reversed(labels))}){parts.path}{'?' + parts.query if parts.query else ''}".lower()


class Crawl:
    """The files of a crawl in a folder."""

    def __init__(
        self, folder: Path, pages: Sequence[Page], *, files: int = 2, robots: dict[str, str] | None = None
    ) -> None:
        self.folder = folder
        rows: dict[str, list[dict[str, object]]] = {"warc": [], "robotstxt": []}
        for number in range(files):
            self._write("warc", number, pages[number::files], rows["warc"])
        captures = [Page(f"https://{host}/robots.txt", text, "") for host, text in (robots or {}).items()]
        if captures:
            self._write("robotstxt", 0, captures, rows["robotstxt"])
        self.paths = [self._index(subset, found) for subset, found in rows.items() if found]
        listed = folder / "crawl-data" / NAME / "cc-index-table.paths.gz"
        listed.write_bytes(gzip.compress("\n".join(self.paths).encode() + b"\n"))

    def _write(self, subset: str, number: int, pages: Sequence[Page], rows: list[dict[str, object]]) -> None:
        name = f"crawl-data/{NAME}/segments/1.1/{subset}/{NAME}-{number:05}.warc.gz"
        file = self.folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        with file.open("wb") as stream:
            stream.write(
                gzip.compress(b"WARC/1.0\r\nWARC-Type: warcinfo\r\nContent-Length: 0\r\n\r\n\r\n\r\n", mtime=0)
            )
            for at, page in enumerate(pages):
                moment = BEGIN + timedelta(seconds=at)
                mime = "text/plain" if subset == "robotstxt" else "text/html"
                member = record(page.url, page.text.encode(), moment, status=page.status, mime=mime)
                parts = urlsplit(page.url)
                rows.append(
                    {
                        "url_surtkey": surt(page.url),
                        "url": page.url,
                        "url_host_name": parts.hostname,
                        "url_host_registered_domain": registered_domain(page.url),
                        "url_path": parts.path,
                        "fetch_time": moment.replace(tzinfo=None),
                        "fetch_status": page.status,
                        "content_mime_type": mime,
                        "content_mime_detected": mime,
                        "content_languages": page.language or None,
                        "warc_filename": name,
                        "warc_record_offset": stream.tell(),
                        "warc_record_length": len(member),
                        "warc_segment": "1.1",
                    }
                )
                stream.write(member)

    def _index(self, subset: str, rows: list[dict[str, object]]) -> str:
        path = f"cc-index/table/cc-main/warc/crawl={NAME}/subset={subset}/part-00000.parquet"
        self.write_index(path, sorted(rows, key=lambda row: str(row["url_surtkey"])))
        return path

    def write_index(self, path: str, rows: Sequence[dict[str, object]], schema: pa.Schema = INDEX) -> None:
        """Writes a file of the index."""
        file = self.folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.Table.from_pylist(list(rows), schema=schema), file, row_group_size=200)

    def index_rows(self, subset: str = "warc") -> list[dict[str, object]]:
        """The rows of a file of the index, to be changed and written again."""
        path = next(path for path in self.paths if f"subset={subset}" in path)
        found: list[dict[str, object]] = pq.ParquetFile(self.folder / path).read().to_pylist()
        return found

    @property
    def index(self) -> str:
        """The folder of the index."""
        return str(self.folder / "cc-index/table/cc-main/warc")

    def member(self, row: dict[str, object]) -> bytes:
        """The bytes that a row of the index points at."""
        with (self.folder / str(row["warc_filename"])).open("rb") as stream:
            stream.seek(int(str(row["warc_record_offset"])))
            return stream.read(int(str(row["warc_record_length"])))


@dataclass
class Answer:
    """How a server answers instead of sending the bytes."""

    status: int
    headers: dict[str, str] = field(default_factory=dict)
    cut: int | None = None  # with status 206: so many bytes are sent, then the connection is closed


Misbehave = Callable[[str, int], Answer | None]
"""Is given a path and the number of the request, from 1; None: answer as one should."""


class Server:
    """Serves a folder on loopback."""

    def __init__(self, folder: Path, misbehave: Misbehave | None = None) -> None:
        self.statuses: Counter[int] = Counter()
        self.requests = 0
        self.most_at_once = 0
        self.asked: list[tuple[str, str]] = []
        self.headers: list[dict[str, str]] = []
        self.lines: list[str] = []  # the first of each request
        self.moments: list[float] = []
        self._open = 0
        self._lock = threading.Lock()
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_CONNECT(self) -> None:
                server.lines.append(self.requestline)
                self._send(502, b"", {})

            def do_HEAD(self) -> None:
                self.do_GET()

            def do_GET(self) -> None:
                path = unquote(self.path).lstrip("/")
                with server._lock:
                    server.requests += 1
                    number = server.requests
                    server._open += 1
                    server.most_at_once = max(server.most_at_once, server._open)
                    server.asked.append((path, self.headers.get("Range", "")))
                    server.headers.append(dict(self.headers.items()))
                    server.moments.append(time.monotonic())
                try:
                    self._answer(path, misbehave(path, number) if misbehave else None)
                finally:
                    with server._lock:
                        server._open -= 1

            def _answer(self, path: str, told: Answer | None) -> None:
                if told is not None and told.status != 206:
                    self._send(told.status, b"", told.headers)
                    return
                file = folder / path
                if not file.is_file():
                    self._send(404, b"", {})
                    return
                content = file.read_bytes()
                span = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range", ""))
                headers = {"ETag": f'"{len(content)}"', **(told.headers if told else {})}
                if span is None:
                    self._send(200, content, headers)
                    return
                start, stop = int(span[1]), min(int(span[2] or len(content) - 1) + 1, len(content))
                if start >= len(content):
                    self._send(416, b"", {})
                    return
                headers["Content-Range"] = f"bytes {start}-{stop - 1}/{len(content)}"
                self._send(206, content[start:stop], headers, told.cut if told else None)

            def _send(self, status: int, body: bytes, headers: dict[str, str], cut: int | None = None) -> None:
                with server._lock:
                    server.statuses[status] += 1
                self.send_response(status)
                self.send_header("Content-Length", str(len(body)))
                for name, value in headers.items():
                    self.send_header(name, value)
                self.end_headers()
                if self.command != "HEAD":
                    self.wfile.write(body if cut is None else body[:cut])
                if cut is not None:
                    self.close_connection = True

            def log_message(self, format: str, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    @property
    def address(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self._server.server_address[1]}/"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def pages(count: int, sites: int = 8) -> list[Page]:
    """Pages of some sites, a third of them in Icelandic."""
    return [
        Page(
            f"https://www.site{number % sites}.is/pages/{number}.html",
            f"<html><body><p>Síða númer {number}. {TEXT * (number % 7 + 2)}</p></body></html>",
            "isl" if number % 3 == 0 else "eng",
        )
        for number in range(count)
    ]
