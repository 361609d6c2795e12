"""A folder as a bucket of S3 on loopback: what the client asks for is real, and the server is quick and counts.

    python -m benchmarks.inputs.loopback_s3 FOLDER

Prints its port, and serves until its standard input ends. It knows the requests that winnow sends for small objects:
GET with a range, HEAD, PUT with If-None-Match, DELETE of one or of many, and listings; the bucket's name and signatures
are not looked at.
`GET /` says how many requests there were. The stores of the servers that winnow is tested with keep everything in
memory, or read a whole folder for each page of a listing: too slow for half a million objects.
"""

import os
import re
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, unquote, urlsplit
from xml.sax.saxutils import escape, unescape

from winnow.pipelines.store.facade import ObjectInfo
from winnow.pipelines.store.local import LocalStore

if TYPE_CHECKING:
    from _typeshed import HasFileno

BUCKET = "tiny"


@dataclass(frozen=True)
class LoopbackS3:
    """A server that runs."""

    port: int

    @property
    def environment(self) -> dict[str, str]:
        """In which winnow finds it."""
        keys = {"AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_REGION": "us-east-1"}
        return {**keys, "AWS_ENDPOINT_URL_S3": f"http://127.0.0.1:{self.port}"}

    def requests(self) -> int:
        """How many it was sent so far, this question apart."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/") as answer:
            return int(answer.read())


@contextmanager
def serving(folder: Path) -> Iterator[LoopbackS3]:
    """A server in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.inputs.loopback_s3", str(folder)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            yield LoopbackS3(int(process.stdout.readline()))
        finally:
            process.stdin.close()
            process.wait()


class _Bucket(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def __init__(self, folder: Path) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.objects = LocalStore(folder)
        self.counted = 0
        self.lock = threading.Lock()
        self.rest: dict[str, Iterator[ObjectInfo]] = {}  # of listings, by the token of the next page

    def page(self, prefix: str, token: str | None, most: int) -> tuple[list[ObjectInfo], str | None]:
        """The next objects of a listing, and the token of those after them."""
        with self.lock:
            rest = self.objects.list(prefix) if token is None else self.rest.pop(token)
            found = list(islice(rest, most))
            if len(found) < most:
                return found, None
            self.rest[token := f"{id(rest)}-{found[-1].path}"] = rest
            return found, token


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1  # head and body in one packet
    disable_nagle_algorithm = True  # of a larger body the rest would wait for the client, some 40 ms
    server: _Bucket

    def do_GET(self) -> None:
        place = urlsplit(self.path)
        key, asked = self._key(), parse_qs(place.query)
        if place.path == "/":
            self._answer(HTTPStatus.OK, str(self.server.counted).encode())
            return
        self._count()
        if not key:
            self._list(asked)
            return
        try:
            content, info = self.server.objects.read(key), self._info(key)
        except (FileNotFoundError, IsADirectoryError):
            self._refuse(HTTPStatus.NOT_FOUND, "NoSuchKey")
            return
        wanted = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range", ""))
        if wanted is None:
            self._answer(HTTPStatus.OK, content, info)
            return
        start, stop = int(wanted[1]), int(wanted[2] or len(content)) + 1
        if start >= len(content):
            self._refuse(HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE, "InvalidRange")
            return
        piece = content[start:stop]
        info["Content-Range"] = f"bytes {start}-{start + len(piece) - 1}/{len(content)}"
        self._answer(HTTPStatus.PARTIAL_CONTENT, piece, info)

    def do_HEAD(self) -> None:
        self._count()
        key = self._key()
        if not key:
            self._answer(HTTPStatus.OK, b"")
        elif self.server.objects.exists(key):
            self._answer(HTTPStatus.OK, b"", {**self._info(key), "Content-Length": str(self.server.objects.size(key))})
        else:
            self._answer(HTTPStatus.NOT_FOUND, b"")

    def do_PUT(self) -> None:
        self._count()
        key, body = self._key(), self.rfile.read(int(self.headers["Content-Length"]))
        if self.headers.get("If-None-Match") != "*":
            self.server.objects.put(key, body)
        elif not self.server.objects.put_if_absent(key, body):
            self._refuse(HTTPStatus.PRECONDITION_FAILED, "PreconditionFailed")
            return
        self._answer(HTTPStatus.OK, b"", self._info(key))

    def do_DELETE(self) -> None:
        self._count()
        self.server.objects.delete(self._key())
        self._answer(HTTPStatus.NO_CONTENT, b"")

    def do_POST(self) -> None:
        self._count()
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if urlsplit(self.path).query != "delete":
            self._refuse(HTTPStatus.NOT_IMPLEMENTED, "NotImplemented")
            return
        for key in re.findall(rb"<Key>([^<]*)</Key>", body):
            self.server.objects.delete(unescape(key.decode()))
        self._answer(
            HTTPStatus.OK, b"<DeleteResult/>"
        )  # asked quietly: it names what it could not delete, which is nothing

    def _list(self, asked: dict[str, list[str]]) -> None:
        if "list-type" not in asked:  # unfinished uploads: there are never any
            self._answer(HTTPStatus.OK, b"<ListMultipartUploadsResult/>")
            return
        prefix, token = asked.get("prefix", [""])[0], asked.get("continuation-token", [None])[0]
        found, after = self.server.page(prefix, token, int(asked.get("max-keys", ["1000"])[0]))
        entries = "".join(
            f"<Contents><Key>{escape(info.path)}</Key><Size>{info.size}</Size>"
            f"<ETag>{_etag(info.version, info.size)}</ETag></Contents>"
            for info in found
        )
        more = f"<NextContinuationToken>{escape(after)}</NextContinuationToken>" if after else ""
        truncated = "true" if after else "false"
        listing = f"<ListBucketResult>{entries}<IsTruncated>{truncated}</IsTruncated>{more}</ListBucketResult>"
        self._answer(HTTPStatus.OK, listing.encode())

    def _info(self, key: str) -> dict[str, str]:
        status = (self.server.objects.folder / key).stat()
        return {"ETag": _etag(str(status.st_mtime_ns), status.st_size)}

    def _key(self) -> str:
        return unquote(urlsplit(self.path).path).removeprefix("/").partition("/")[2]

    def _count(self) -> None:
        with self.server.lock:
            self.server.counted += 1

    def _refuse(self, status: HTTPStatus, code: str) -> None:
        self._answer(status, f"<Error><Code>{code}</Code><Message>{status.phrase}</Message></Error>".encode())

    def _answer(self, status: HTTPStatus, body: bytes, head: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in {"Content-Length": str(len(body)), **(head or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *arguments: object) -> None:
        """Says nothing."""


def _etag(version: str, size: int) -> str:
    return f'"{version}-{size}"'


def _unsynced(fd: "int | HasFileno") -> None:
    """Leaves it to the system when a file is written to the disk."""


def main() -> None:
    """Serve a folder until standard input ends."""
    os.fsync = _unsynced  # most of the time of a small PUT, for objects that need not outlive the machine
    with _Bucket(Path(sys.argv[1])) as bucket:
        threading.Thread(target=bucket.serve_forever, daemon=True).start()
        print(bucket.server_address[1], flush=True)
        sys.stdin.read()
        bucket.shutdown()


if __name__ == "__main__":
    main()
