"""Servers that mean harm, or are broken: each is an answer for `Farm.site`."""

import asyncio
import gzip
from collections.abc import Iterable

import brotli
import zstandard

from tests.pipelines.fetch.farm.farm import Answer, Visit, page

OK = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n"
MEGABYTE = 1 << 20


def sends(*pieces: bytes, pause: float = 0.0, closes: bool = True, resets: bool = False) -> Answer:
    """Exactly these bytes, with a pause before each piece but the first."""

    async def answer(_visit: Visit, writer: asyncio.StreamWriter) -> None:
        for number, piece in enumerate(pieces):
            if number:
                await asyncio.sleep(pause)
            writer.write(piece)
            await writer.drain()
        if resets:
            writer.transport.abort()
        elif closes:
            writer.close()
            await writer.wait_closed()

    return answer


def endless(first: bytes, piece: bytes, pause: float = 0.0) -> Answer:
    """A beginning, then the same piece until the client goes."""

    async def answer(_visit: Visit, writer: asyncio.StreamWriter) -> None:
        writer.write(first)
        while True:
            writer.write(piece)
            await writer.drain()
            await asyncio.sleep(pause)

    return answer


async def silent(_visit: Visit, _writer: asyncio.StreamWriter) -> None:
    """Never says anything."""
    await asyncio.sleep(3600)


def redirect(to: str, status: int = 302) -> Answer:
    return page("moved", status, headers={"Location": to})


def slow_header() -> Answer:
    """Slow-loris: a byte of the header now and then."""
    return endless(b"HTTP/1.1 200 OK\r\nX: ", b"x", 0.05)


def slow_body() -> Answer:
    return endless(OK + b"\r\n", b"x", 0.05)


def endless_body() -> Answer:
    return endless(OK + b"\r\n", b"x" * (64 << 10))


def endless_chunks() -> Answer:
    return endless(OK + b"Transfer-Encoding: chunked\r\n\r\n", b"10000\r\n" + b"x" * (64 << 10) + b"\r\n")


def endless_header() -> Answer:
    return endless(b"HTTP/1.1 200 OK\r\nX: ", b"x" * 4096)


def endless_fields() -> Answer:
    return endless(b"HTTP/1.1 200 OK\r\n", b"A: b\r\n" * 1000)


def endless_interim() -> Answer:
    return endless(b"", b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" * 100)


def endless_error() -> Answer:
    return endless(b"HTTP/1.1 404 Not Found\r\n\r\n", b"x" * (64 << 10))


def endless_trailers() -> Answer:
    return endless(OK + b"Transfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n", b"A: b\r\n" * 1000)


def tiny_chunks() -> Answer:
    return endless(OK + b"Transfer-Encoding: chunked\r\n\r\n", b"1\r\nx\r\n" * 1000)


def long_extensions() -> Answer:
    """Chunks of a byte, each with a long extension."""
    return endless(OK + b"Transfer-Encoding: chunked\r\n\r\n", b"1;a=" + b"b" * 8000 + b"\r\nx\r\n")


def packed(coding: str, content: bytes, pack: Iterable[str]) -> Answer:
    """Content in codings, the innermost first."""
    for one in pack:
        content = _PACKERS[one](content)
    return page(content, mime="text/plain", headers={"Content-Encoding": coding})


def bomb(coding: str, *pack: str, megabytes: int = 8) -> Answer:
    """A small body that unpacks to many megabytes."""
    return packed(coding, bytes(megabytes * MEGABYTE), pack or (coding,))


_PACKERS = {
    "gzip": lambda content: gzip.compress(content, 9),
    "br": lambda content: brotli.compress(content, quality=5),
    "zstd": lambda content: zstandard.ZstdCompressor(level=3).compress(content),
}
