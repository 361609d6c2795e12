"""Serves the crawl's pages on this machine, under the names of their hosts, so that they can be fetched.

Every response is sent as it was captured; only, no robots.txt asks for seconds between requests, which nobody would
wait for. The sites' certificate and its key come with winnow: nothing but a fetch that is given `Served.tls` trusts it.
"""

import re
import socketserver
import ssl
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from winnow.filters.web.urls import canonical_url
from winnow.runners.demo.captures import Capture, http_response
from winnow.runners.demo.crawl import planned

CERTIFICATE: Final = Path(__file__).with_name("certificate.txt")

_HTTPS: Final = 443
_LOOPBACK = "127.0.0.1"
_NOT_FOUND = b"HTTP/1.1 404 Not Found\r\nContent-Type: text/plain\r\nContent-Length: 9\r\n\r\nnot found"
_MOST_HEADER_BYTES = 1 << 16


@dataclass(frozen=True, slots=True)
class Served:
    """Where the pages are served; asked for the address of any host, it says this machine's."""

    port: int
    tls_port: int

    async def __call__(self, host: str, port: int) -> Sequence[tuple[str, int]]:
        """The address and port of a host's server."""
        del host
        return [(_LOOPBACK, self.tls_port if port == _HTTPS else self.port)]

    @property
    def tls(self) -> ssl.SSLContext:
        """Trusts these sites, and no others."""
        _, begin, rest = CERTIFICATE.read_text("ascii").partition("-----BEGIN CERTIFICATE-----")
        return ssl.create_default_context(cadata=begin + rest)


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
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(CERTIFICATE)
    with _server("http", responses, None) as plain, _server("https", responses, context) as secure:
        yield Served(plain, secure)


@contextmanager
def _server(scheme: str, responses: Mapping[str, bytes], context: ssl.SSLContext | None) -> Iterator[int]:
    """Serve the addresses of a scheme while the block runs; yields the port."""

    class Handler(socketserver.StreamRequestHandler):
        """Answers one request."""

        def setup(self) -> None:
            """Begin the connection."""
            if context is not None:
                self.request = context.wrap_socket(self.request, server_side=True)
            super().setup()

        def handle(self) -> None:
            """Send the captured response of the address, and close."""
            target = self.rfile.readline(_MOST_HEADER_BYTES).decode("latin-1").split(" ")[1:2]
            host = ""
            while line := self.rfile.readline(_MOST_HEADER_BYTES).decode("latin-1").strip():
                name, _, value = line.partition(":")
                host = value.strip() if name.lower() == "host" else host
            self.wfile.write(responses.get(_normal(f"{scheme}://{host}{''.join(target)}"), _NOT_FOUND))

        def finish(self) -> None:
            """End the connection."""
            super().finish()
            self.request.close()

    class Server(socketserver.ThreadingTCPServer):
        """A thread for each request."""

        daemon_threads = True
        request_queue_size = 128

        def handle_error(self, request: object, client_address: object) -> None:
            """A crawler that goes away is no error of a server."""

    with Server((_LOOPBACK, 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, name=f"demo-{scheme}", daemon=True)
        thread.start()
        try:
            yield server.server_address[1]
        finally:
            server.shutdown()
            thread.join()


def _responses() -> Mapping[str, bytes]:
    """The bytes that a server sends, by address; nothing of pages that an archive has only in part."""
    captures = [(capture, damage) for records in planned().values() for _, capture, damage in records]
    broken = {_normal(one.url) for one, damage in captures if damage is not None or one.cut is not None}
    found: dict[str, bytes] = {}
    for capture, _ in captures:
        if capture.revisit_of is None and _normal(capture.url) not in broken:
            found.setdefault(_normal(capture.url), _response(capture))
    return found


def _normal(url: str) -> str:
    return canonical_url(url) or url


def _response(capture: Capture) -> bytes:
    if capture.truth.kind != "robots_txt":
        return http_response(capture)
    body = re.sub(rb"(?i)^crawl-delay:.*\n", b"", capture.body, flags=re.MULTILINE)
    return http_response(replace(capture, body=body))
