"""One captured HTTP exchange, before it is written to an archive, and the truth about it."""

import zlib
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

import brotli

from winnow.schemas.identity import digest

Coding: TypeAlias = Literal["", "gzip", "deflate", "br"]

NO_LANGUAGE = "zxx"  # ISO 639-3: no linguistic content


@dataclass(frozen=True, slots=True)
class Truth:
    """What later stages are measured against: a line of truth.jsonl, apart from the capture's archive, record and address."""

    kind: str  # from KINDS
    case: str  # what exactly is planted; the same as `kind` if that is enough
    language: str = NO_LANGUAGE  # ISO 639-3
    title: str = ""
    text: str = ""  # the article's text: paragraphs separated by blank lines
    of: str | None = None  # the address of the page that this one repeats
    similarity: float | None = None  # to `of`: Jaccard over 5-grams of words (of characters where words are not spaced)
    personal: tuple[tuple[str, str], ...] = ()  # (kind, value): each value is in the text exactly as written here


KINDS = {
    "article": "a page with an article worth keeping",
    "forum": "a topic on a board",
    "templated": "a page of a template whose numbers differ: not to be collapsed",
    "near_duplicate": "a page that repeats another one",
    "spam": "keyword stuffing and link farms",
    "adult": "pages on hosts of the adult list; the wording is tame",
    "pii": "invented personal data",
    "boilerplate_only": "menus and banners without an article",
    "charset": "a character encoding that is wrong, undeclared, unusual or broken",
    "lying_mime": "content that is not what its Content-Type says",
    "encoded": "an honest content or transfer coding",
    "markup": "markup, control characters or nesting meant to break a reader",
    "opt_out": "robots, TDM or noai reservations",
    "canonical": "a page that names another address as its canonical one",
    "empty": "no payload, or no text in it",
    "truncated": "a payload that the crawler cut",
    "broken": "a record that cannot be read as it should",
    "api": "a JSON response",
    "media": "an image, a document or a video",
    "robots_txt": "a robots.txt",
    "redirect": "a 3xx response",
    "error": "a 4xx or 5xx response",
    "revisit": "a record that points at an earlier capture of the same payload",
}


@dataclass(frozen=True, slots=True)
class Capture:
    """One response. `body` is the page itself; codings are applied when it is written."""

    url: str
    body: bytes
    truth: Truth
    content_type: str | None = "text/html; charset=utf-8"  # None: the server sent none
    status: int = 200
    headers: tuple[tuple[str, str], ...] = ()
    coding: Coding = ""
    chunked: bool = False
    cut: str | None = None  # WARC-Truncated: the reason; `body` is then the part that was captured
    revisit_of: str | None = None  # the address whose payload this repeats; the record then holds headers only
    pinned: str | None = None  # the archive that must hold it
    raw_payload: bytes | None = field(default=None, repr=False)  # sent instead of the coded body

    @property
    def record_id(self) -> str:
        """A WARC-Record-ID that depends on the address and the case alone."""
        return record_id("response", self.url, self.truth.case)

    def payload(self) -> bytes:
        """The bytes that follow the headers on the wire."""
        if self.raw_payload is not None:
            return self.raw_payload
        coded = encode(self.body, self.coding)
        return in_chunks(coded) if self.chunked else coded


_REASONS = {
    200: "OK",
    301: "Moved Permanently",
    302: "Found",
    404: "Not Found",
    410: "Gone",
    500: "Internal Server Error",
    503: "Service Unavailable",
}


def http_response(capture: Capture) -> bytes:
    """The status line, headers and payload of a capture."""
    payload = b"" if capture.revisit_of else capture.payload()
    lines = [f"HTTP/1.1 {capture.status} {_REASONS[capture.status]}", "Server: nginx"]
    if capture.content_type is not None:
        lines.append(f"Content-Type: {capture.content_type}")
    if capture.coding:
        lines.append(f"Content-Encoding: {capture.coding}")
    lines.append("Transfer-Encoding: chunked" if capture.chunked else f"Content-Length: {len(capture.payload())}")
    lines += [f"{name}: {value}" for name, value in capture.headers]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + payload


def record_id(*parts: str | int) -> str:
    """A urn:uuid whose digits are a hash of the parts."""
    raw = digest("record", *parts).hex()
    return f"<urn:uuid:{raw[:8]}-{raw[8:12]}-{raw[12:16]}-{raw[16:20]}-{raw[20:]}>"


def encode(body: bytes, coding: Coding) -> bytes:
    """The body under a content coding, always with the same settings."""
    if coding == "gzip":
        return gzip_member(body)
    if coding == "deflate":
        return zlib.compress(body, 6)
    if coding == "br":
        return bytes(brotli.compress(body, quality=5))
    return body


def gzip_member(raw: bytes) -> bytes:
    """One gzip member with a header that names no time and no system."""
    deflater = zlib.compressobj(6, zlib.DEFLATED, -zlib.MAX_WBITS)
    trailer = zlib.crc32(raw).to_bytes(4, "little") + (len(raw) & 0xFFFFFFFF).to_bytes(4, "little")
    return b"\x1f\x8b\x08\0\0\0\0\0\0\xff" + deflater.compress(raw) + deflater.flush() + trailer


def in_chunks(body: bytes, size: int = 1000) -> bytes:
    """HTTP chunked transfer coding."""
    pieces = [body[at : at + size] for at in range(0, len(body), size)]
    return b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in pieces) + b"0\r\n\r\n"
