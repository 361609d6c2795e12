"""Serves the crawl's pages on this machine, under the names of their hosts, so that they can be fetched.

Every response is sent as it was captured. Only two things differ from the archives: addresses are of http, as no
authority vouches for these hosts, and no robots.txt asks for seconds between requests, which nobody would wait for.
"""

import re
import socketserver
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from urllib.parse import urlsplit

from winnow.filters.web.urls import canonical_url
from winnow.runners.demo.captures import Capture, http_response
from winnow.runners.demo.crawl import planned

_LOOPBACK = "127.0.0.1"
_NOT_FOUND = b"HTTP/1.1 404 Not Found\r\nContent-Type: text/plain\r\nContent-Length: 9\r\n\r\nnot found"
_MOST_HEADER_BYTES = 1 << 16


@dataclass(frozen=True, slots=True)
class Served:
    """Where the pages are served; asked for the address of any host, it says this machine's."""

    port: int

    async def __call__(self, host: str, port: int) -> Sequence[tuple[str, int]]:
        """The address and port of a host's server."""
        del host, port
        return [(_LOOPBACK, self.port)]


def addresses() -> list[str]:
    """The addresses of all pages that a crawler can ask for, each once, in the order of the crawl."""
    return [one for one in _responses() if not one.endswith("/robots.txt")]


def hosts() -> list[str]:
    """The hosts of these addresses."""
    return sorted({urlsplit(one).hostname or "" for one in addresses()})


@contextmanager
def serving() -> Iterator[Served]:
    """Serve the pages while the block runs."""
    responses = _responses()

    class Handler(socketserver.StreamRequestHandler):
        """Answers one request."""

        def handle(self) -> None:
            """Send the captured response of the address, and close."""
            target = self.rfile.readline(_MOST_HEADER_BYTES).decode("latin-1").split(" ")[1:2]
            host = ""
            while line := self.rfile.readline(_MOST_HEADER_BYTES).decode("latin-1").strip():
                name, _, value = line.partition(":")
                host = value.strip() if name.lower() == "host" else host
            self.wfile.write(responses.get(_served_at(f"http://{host}{''.join(target)}"), _NOT_FOUND))

    class Server(socketserver.ThreadingTCPServer):
        daemon_threads = True
        allow_reuse_address = True

    with Server((_LOOPBACK, 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, name="demo-sites", daemon=True)
        thread.start()
        try:
            yield Served(server.server_address[1])
        finally:
            server.shutdown()
            thread.join()


def _responses() -> Mapping[str, bytes]:
    """The bytes that a server sends, by address."""
    found: dict[str, bytes] = {}
    for records in planned().values():
        for _, capture, damage in records:
            if damage is None and capture.revisit_of is None and capture.cut is None:
                found.setdefault(_served_at(capture.url), _response(capture))
    return found


def _served_at(url: str) -> str:
    plain = re.sub(r"^https:", "http:", url)
    return canonical_url(plain) or plain


def _response(capture: Capture) -> bytes:
    headers = tuple((name, _served_at(value) if name == "Location" else value) for name, value in capture.headers)
    body = capture.body
    if capture.truth.kind == "robots_txt":
        body = re.sub(rb"(?i)^crawl-delay:.*\n", b"", body, flags=re.MULTILINE)
    return http_response(replace(capture, headers=headers, body=body))
