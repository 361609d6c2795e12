"""Read a user's file of many hosts' robots.txt and tdmrep.json, compactly enough for millions of hosts.

JSON lines, plain or gzip or zstd: `{"url": "https://host/robots.txt", "fetched_at": "2024-05-01T12:00:00Z",
"status": 200, "body": "User-agent: …"}`; `winnow robots` writes it from a store. The newest file of a host counts.
In memory a host takes 12 bytes, and each different content takes the lines about the crawlers in question.
"""

import gzip
import re
import zlib
from array import array
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import BinaryIO, Final, Literal, TypeAlias

import numpy as np
import numpy.typing as npt
import orjson
import zstandard

from winnow.filters.web.rights.robots_txt import MAX_BYTES, pack, relevant_lines
from winnow.filters.web.urls import canonical_url
from winnow.schemas.errors import RecipeError
from winnow.schemas.identity import Json, canonical_json, digest

Kind: TypeAlias = Literal["robots", "tdmrep"]
Refused: TypeAlias = Literal["unknown", "missing"]

PATHS: Final[Mapping[str, Kind]] = {"/robots.txt": "robots", "/.well-known/tdmrep.json": "tdmrep"}
MAX_LINE_BYTES: Final = 8 << 20
_STEP: Final = 1 << 20
_ZSTD_STEP: Final = 256  # 64 blocks of 4 bytes at most, each of up to 128 KiB
MAX_HELD_BYTES: Final = 4 << 30
_NEVER: Final = -(1 << 62)
_OK: Final = 200
_TOO_MANY_REQUESTS: Final = 429
_MARKUP: Final = re.compile(r"[\ufeff\s]*<")
_NO_RESERVATIONS: Final = "[]"
_EXPECTED: Final = '{"url": "https://host/robots.txt", "body": "…"}, with "fetched_at" and "status" if known'


@dataclass(frozen=True, slots=True)
class HostFiles:
    """The newest content for each host and kind of file."""

    keys: npt.NDArray[np.uint64]  # of host and kind, ascending
    contents: npt.NDArray[np.int32]  # the index of each content
    packed: tuple[bytes, ...]
    """Each different content of a kind. Two kinds never share one: the same bytes mean different things in them."""

    def find(self, host: str, kind: Kind) -> int | None:
        """The index of a host's content; None if the file has none."""
        key = _key(host, kind)
        at = int(np.searchsorted(self.keys, key))
        return int(self.contents[at]) if at < len(self.keys) and self.keys[at] == key else None


def split_url(url: str) -> tuple[str, str] | None:
    """Split an address into host with port and path with query; None if it is not an address.

    A host's files count for http and https alike: a crawl often has the pages of one and the files of the other.
    """
    canonical = canonical_url(url)
    if canonical is None:
        return None
    host = canonical.index("//") + 2
    path = canonical.index("/", host)
    return canonical[host:path], canonical[path:]


def host_file_line(url: str, fetched_at: str | None, body: str | None, status: int | None = None) -> bytes:
    """The line that says what a host's file was; `fetched_at` is ISO 8601."""
    entry: dict[str, Json] = {"url": url, "body": body}
    if fetched_at is not None:
        entry["fetched_at"] = fetched_at
    if status is not None and status != _OK:
        entry["status"] = status
    return canonical_json(entry).encode() + b"\n"


def is_page(body: str) -> bool:
    """Whether a body is a page, as servers send one in place of a file that they do not have."""
    return _MARKUP.match(body) is not None


def read_host_files(path: str, agents: frozenset[str], too_many_requests: Refused = "unknown") -> HostFiles:
    """Read the rules for these crawlers and for everybody.

    Args:
        path: The user's file.
        agents: Names of crawlers in lower case.
        too_many_requests: What the status 429 means: nothing is known of the file, or there is none.

    Raises:
        RecipeError: The file cannot be read, or a line is invalid.
    """
    keys, moments, contents = array("Q"), array("q"), array("l")
    distinct: dict[tuple[Kind, bytes], int] = {}
    held = 0
    for number, line in enumerate(_lines(path), start=1):
        if not line.strip():
            continue
        entry = _entry(path, number, line, too_many_requests)
        if entry is None:
            continue
        host, kind, moment, body = entry
        # Contents with the same rules for us are stored once, whatever else they contain.
        packed = pack(relevant_lines(body, agents)) if kind == "robots" else body[:MAX_BYTES].encode()
        content = kind, packed
        before = len(distinct)
        keys.append(int(_key(host, kind)))
        moments.append(moment)
        contents.append(distinct.setdefault(content, len(distinct)))
        if len(distinct) > before:
            held += len(packed)
        if held > MAX_HELD_BYTES:
            raise RecipeError(
                f"{path}: the rules for these crawlers take more than {MAX_HELD_BYTES} bytes; split the file"
            )
    return _newest(keys, moments, contents, tuple(packed for _, packed in distinct))


def _newest(keys: "array[int]", moments: "array[int]", contents: "array[int]", packed: tuple[bytes, ...]) -> HostFiles:
    key = np.frombuffer(keys, np.uint64) if keys else np.empty(0, np.uint64)
    moment = np.array(moments, np.int64)
    content = np.array(contents, np.int32)
    order = np.lexsort((np.arange(len(key)), moment, key))  # in a tie the last in the file
    key, content = key[order], content[order]
    last = np.append(key[1:] != key[:-1], True) if len(key) else np.empty(0, np.bool_)
    return HostFiles(key[last].copy(), content[last].copy(), packed)


def _key(host: str, kind: Kind) -> np.uint64:
    return np.uint64(int.from_bytes(digest(kind, host, size=8), "little"))


def _entry(path: str, number: int, line: bytes, too_many_requests: Refused) -> tuple[str, Kind, int, str] | None:
    """A line's host, kind, time and content; None for one without rules, such as a server error."""
    try:
        raw: Json = orjson.loads(line)
    except orjson.JSONDecodeError:
        raise RecipeError(f"{path}:{number}: not JSON; expected {_EXPECTED}") from None
    if not isinstance(raw, Mapping) or not isinstance(raw.get("url"), str):
        raise RecipeError(f"{path}:{number}: no url; expected {_EXPECTED}")
    status, body = raw.get("status"), raw.get("body")
    if status is not None and (not isinstance(status, int) or isinstance(status, bool)):
        raise RecipeError(f"{path}:{number}: the status {canonical_json(status)[:60]} is no number such as 404")
    if status == _TOO_MANY_REQUESTS and too_many_requests == "unknown":
        return None  # the server did not say whether there is a file
    if status is not None and 400 <= status < 500:
        body = ""  # RFC 9309: the file does not exist, so nothing is refused
    elif status is not None and not 200 <= status < 300:
        return None
    if not isinstance(body, str):
        raise RecipeError(f"{path}:{number}: no body; expected {_EXPECTED}")
    place = split_url(str(raw["url"]))
    kind = PATHS.get(place[1]) if place else None
    if place is None or kind is None:
        return None
    if kind == "tdmrep" and (not body or is_page(body)):
        body = _NO_RESERVATIONS  # there is no such file, or its address leads to a page
    return place[0], kind, _moment(path, number, raw.get("fetched_at")), body


def _moment(path: str, number: int, value: Json) -> int:
    """Microseconds since 1970; files without a time are older than all others."""
    if value is None:
        return _NEVER
    try:
        found = datetime.fromisoformat(str(value))
    except ValueError:
        raise RecipeError(f"{path}:{number}: fetched_at {str(value)[:60]!r} is not an ISO 8601 time") from None
    found = found if found.tzinfo else found.replace(tzinfo=UTC)
    return int(found.timestamp() * 1_000_000)


def _lines(path: str) -> Iterator[bytes]:
    """The lines of a file, plain or compressed."""
    number, rest = 1, bytearray()  # grows in place: a line may come in thousands of pieces
    try:
        with open(path, "rb") as stream:
            for chunk in inflated(stream):
                first, *others = chunk.split(b"\n")
                rest += first
                for other in others:
                    yield bytes(rest)
                    rest = bytearray(other)
                number += len(others)
                if len(rest) > MAX_LINE_BYTES:
                    raise RecipeError(f"{path}:{number}: longer than {MAX_LINE_BYTES} bytes; expected {_EXPECTED}")
    except (OSError, EOFError, zlib.error, zstandard.ZstdError) as error:
        raise RecipeError(f"{path}: {error}; expected lines of {_EXPECTED}") from None
    yield bytes(rest)


def inflated(stream: BinaryIO) -> Iterator[bytes]:
    """The decompressed bytes of a file; a truncated file is an error, as the lost part may refuse something."""
    magic = stream.read(4)
    stream.seek(0)
    if magic[:2] == b"\x1f\x8b":
        unpacked = gzip.GzipFile(fileobj=stream)
        while chunk := unpacked.read(_STEP):
            yield chunk
    elif magic == b"\x28\xb5\x2f\xfd":
        yield from _unzstd(stream)
    else:
        while chunk := stream.read(_STEP):
            yield chunk


def _unzstd(stream: BinaryIO) -> Iterator[bytes]:
    decoder = zstandard.ZstdDecompressor().decompressobj()
    offered = b""
    while offered := offered or stream.read(_ZSTD_STEP):
        if decoder.eof:
            decoder = zstandard.ZstdDecompressor().decompressobj()
        yield decoder.decompress(offered)
        offered = decoder.unused_data if decoder.eof else b""
    if not decoder.eof:
        raise EOFError("the compressed file is cut off")
