"""A proxy on loopback that does to some requests what networks and busy services do, and lets the others through."""

import re
import socket
import socketserver
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

SLOW_DOWN = (
    b"HTTP/1.1 503 Slow Down\r\nContent-Type: application/xml\r\nContent-Length: 98\r\nConnection: close\r\n\r\n"
    b"<?xml version='1.0'?><Error><Code>SlowDown</Code><Message>Reduce your request rate</Message></Error>"
)[:-2]  # the length is one of 98 bytes


@dataclass(frozen=True)
class Request:
    """What a client sends before the body."""

    method: str
    target: str
    head: bytes
    number: int  # of all requests, from 0

    @property
    def length(self) -> int:
        """Of the body."""
        for line in self.head.split(b"\r\n"):
            name, _, value = line.partition(b":")
            if name.lower() == b"content-length":
                return int(value)
        return 0


Answer = Callable[[Request], "str | bytes | None"]
"""What to do to a request: None lets it through, bytes are the answer instead of the server's, and a word is a fault.

cut-sending: the connection ends in the middle of the request's body.
cut-receiving: the connection ends in the middle of the answer's body.
lose-answer: the server does what was asked, and the connection ends before it can say so.
half-arrives: the same with the first half of a part of an upload to GCS.
"""

Note = Callable[[Request, bytes], None]
"""Is told what the server answered."""


@dataclass
class Proxy:
    port: int
    requests: list[Request] = field(default_factory=list)

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self.port}"


@contextmanager
def in_front_of(server_port: int, answer: Answer, note: Note | None = None) -> Iterator[Proxy]:
    """A proxy that asks what to do with every request; it closes each connection after one."""
    lock = threading.Lock()

    class Handler(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            with suppress(OSError):
                self._serve(self.request)

        def _serve(self, client: socket.socket) -> None:
            client.settimeout(30)
            head = _head(client)
            if head is None:
                return
            raw, begun = head
            method, target, _ = raw.split(b"\r\n", 1)[0].decode().split(" ", 2)
            with lock:
                request = Request(method, target, raw, len(proxy.requests))
                proxy.requests.append(request)
            fault = answer(request)
            if b"100-continue" in raw.lower() and fault != "cut-sending":
                client.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
            if fault == "cut-sending":
                _cut(client)
                return
            body = begun + _exactly(client, request.length - len(begun))
            if isinstance(fault, bytes):
                client.sendall(fault)
                return
            if fault == "half-arrives":
                raw, body = _half(raw, body)
            with socket.create_connection(("127.0.0.1", server_port), timeout=30) as behind:
                behind.sendall(_closing(raw) + body)
                answered = _pointing(_everything(behind), server_port, proxy.port)
            if note is not None:
                note(request, answered)
            if fault in {"lose-answer", "half-arrives"}:
                _cut(client)
            elif fault == "cut-receiving":
                start = answered.index(b"\r\n\r\n") + 4
                client.sendall(answered[: start + (len(answered) - start) // 2])
                _cut(client)
            else:
                client.sendall(answered)

    class Listening(socketserver.ThreadingTCPServer):
        daemon_threads = True
        request_queue_size = 64

    with Listening(("127.0.0.1", 0), Handler) as listening:
        proxy = Proxy(int(listening.server_address[1]))
        thread = threading.Thread(target=listening.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield proxy
        finally:
            listening.shutdown()
            thread.join()


def _head(client: socket.socket) -> tuple[bytes, bytes] | None:
    raw = b""
    while b"\r\n\r\n" not in raw:
        piece = client.recv(65536)
        if not piece:
            return None
        raw += piece
    head, _, rest = raw.partition(b"\r\n\r\n")
    return head + b"\r\n\r\n", rest


def _closing(head: bytes) -> bytes:
    """The request's head, asking the server to end the connection: so the end of its answer is the end of the bytes."""
    lines = head.removesuffix(b"\r\n\r\n").split(b"\r\n")
    kept = [line for line in lines if not line.lower().startswith((b"connection:", b"expect:"))]
    return b"\r\n".join([*kept, b"Connection: close", b"", b""])


def _half(head: bytes, body: bytes) -> tuple[bytes, bytes]:
    """The first half of a part, as the server would know of it."""
    half = body[: len(body) // 2]
    head = re.sub(rb"(?i)(content-range: bytes (\d+))-\d+", lambda found: _until(found, len(half)), head)
    return re.sub(rb"(?i)(content-length:) \d+", rb"\g<1> %d" % len(half), head), half


def _until(found: re.Match[bytes], length: int) -> bytes:
    return b"%s-%d" % (found[1], int(found[2]) + length - 1)


def _pointing(answered: bytes, server: int, proxy: int) -> bytes:
    """The answer with what it says of the server's address said of the proxy's: where an upload goes on."""
    head, end, body = answered.partition(b"\r\n\r\n")
    return head.replace(f"127.0.0.1:{server}".encode(), f"127.0.0.1:{proxy}".encode()) + end + body


def _exactly(client: socket.socket, wanted: int) -> bytes:
    pieces = []
    while wanted > 0:
        piece = client.recv(min(wanted, 1 << 20))
        if not piece:
            break
        pieces.append(piece)
        wanted -= len(piece)
    return b"".join(pieces)


def _everything(behind: socket.socket) -> bytes:
    pieces = []
    while piece := behind.recv(1 << 20):
        pieces.append(piece)
    return b"".join(pieces)


def _cut(client: socket.socket) -> None:
    """End the connection with a reset, as a machine does that loses its network."""
    client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\x00\x00\x00\x00\x00\x00\x00")
