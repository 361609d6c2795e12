"""The purge of what was fetched: records of forgotten addresses lose their content, and their rows every address.

In the place of a record stands an empty one of the same length, so all others stay where rows and samples say. A row
keeps its place in its table; of its address a hash is left, by which nobody can read it. The WARC file is replaced
first: a purge that is killed in between finds the row again.
"""

import os
import struct
import tempfile
import zlib
from collections.abc import Callable, Iterator, Mapping, Set
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from isal import isal_zlib

from winnow.pipelines.processes.identity import Process
from winnow.pipelines.store import layout
from winnow.pipelines.store.facade import ObjectStore
from winnow.pipelines.store.generations import Store
from winnow.pipelines.store.hiding.hidden_rows import every_hidden_row
from winnow.pipelines.store.hiding.matching import Matcher
from winnow.pipelines.store.hiding.scans import Hiding, load_hiding
from winnow.pipelines.store.tables import read_batches
from winnow.schemas.errors import StoreError
from winnow.schemas.tombstones import FORGOTTEN, selector_hash

_ADDRESSES: Final = ("url", "canonical", "final_url")
_KEPT: Final = ("url", "decision", "reason", "attempts", "origin", "origin_offset")
_CHUNK: Final = 1 << 20
_HEAD_BYTES: Final = 1 << 16
_EMPTY: Final = (
    b"WARC/1.1\r\nWARC-Type: metadata\r\nWARC-Record-ID: <urn:uuid:00000000-0000-0000-0000-000000000000>\r\n"
    b"WARC-Date: 1970-01-01T00:00:00Z\r\nContent-Length: 0\r\n\r\n\r\n\r\n"
)

Forgotten = Callable[[str], bool]


@dataclass(frozen=True, slots=True)
class _Member:
    """A compressed record in its file."""

    offset: int
    length: int
    address: str  # that it is about; empty if it names none


def purge_fetched(store: Store, *, dry_run: bool = False) -> int:
    """Empty the records of forgotten addresses and rows; returns how many rows of logs named such a one.

    The caller holds the lease.
    """
    objects, hiding = store.objects, load_hiding(store.objects)
    logs = [info.path for info in objects.list(layout.FETCHED) if info.path.split("/")[2:3] == ["log"]]
    if not hiding or not logs:
        return 0
    forgotten, held = Matcher(hiding.selectors).address, _records_of_rows(store, hiding)
    count = 0
    for path in logs:
        folder = "/".join(path.split("/")[:2])
        rows = _read(objects, path)
        which = _named(rows, folder, forgotten, held)
        count += sum(which)
        if dry_run or not any(which):
            continue
        for warc in sorted(set(pc.drop_null(rows["warc"].filter(pa.array(which))).to_pylist())):
            file = f"{folder}/{warc}"
            _empty_records(objects, file, forgotten, held.get(file, frozenset()))
        _put(objects, path, _without_addresses(rows, which))
    return count


def _records_of_rows(store: Store, hiding: Hiding) -> dict[str, set[int]]:
    """Where the records of hidden samples begin, by the path of their file as if each source were fetched."""
    found: dict[str, set[int]] = {}
    latest = store.latest_record()
    for path, hidden in ({} if latest is None else every_hidden_row(store, latest, hiding)).items():
        rows = pa.Table.from_batches(read_batches(store.objects, path, ["source"])).take(hidden.rows)
        for source in rows["source"].to_pylist():
            found.setdefault(f"{layout.fetched(source['name'])}{source['path']}", set()).add(source["offset"])
    return found


def _read(objects: ObjectStore, path: str) -> pa.Table:
    try:
        with closing(objects.open(path)) as stream:
            return pq.read_table(stream)
    except (OSError, pa.ArrowException) as error:
        raise StoreError(f"{objects.root}/{path}: no rows of a fetch ({error}); remove it and purge again") from None


def _named(rows: pa.Table, folder: str, forgotten: Forgotten, held: Mapping[str, Set[int]]) -> list[bool]:
    """Which rows name a forgotten address or record; not those that are emptied already."""
    columns = (rows[name].to_pylist() for name in (*_ADDRESSES, "warc", "offset"))
    return [
        not names[0].startswith(f"{FORGOTTEN}:")
        and (offset in held.get(f"{folder}/{warc}", ()) or any(name is not None and forgotten(name) for name in names))
        for *names, warc, offset in zip(*columns, strict=True)
    ]


def _without_addresses(rows: pa.Table, which: list[bool]) -> pa.Table:
    """The rows, of which some say no more than that their address is forgotten."""
    mask = pa.array(which)
    hashes = [f"{FORGOTTEN}:{selector_hash('url', url).hex()}" for url in rows["url"].to_pylist()]
    stated = {"url": pa.array(hashes), "decision": pa.scalar("refused"), "reason": pa.scalar(FORGOTTEN)}
    columns = []
    for field in rows.schema:
        column = rows[field.name]
        if field.name in stated:
            column = pc.if_else(mask, stated[field.name], column)
        elif field.name not in _KEPT:
            column = pc.if_else(mask, pa.scalar(None, field.type), column)
        columns.append(column)
    return pa.Table.from_arrays(columns, schema=rows.schema)


def _put(objects: ObjectStore, path: str, rows: pa.Table) -> None:
    sink = pa.BufferOutputStream()
    pq.write_table(rows, sink, compression="zstd")
    objects.put(path, sink.getvalue().to_pybytes())


def _empty_records(objects: ObjectStore, path: str, forgotten: Forgotten, held: Set[int]) -> None:
    """Replace the records of forgotten addresses in a file, and those that begin at some offsets.

    The bytes of all others stay as and where they are.
    """
    if not objects.exists(path):  # only its ranges are noted: the bytes are elsewhere
        return
    with closing(objects.open(path)) as stream:
        every = list(_members(stream))
        of_rows = {one.address for one in every if one.offset in held}  # with their requests and metadata
        emptied = [one for one in every if one.address and (one.address in of_rows or forgotten(one.address))]
        if not emptied:
            return
        descriptor, name = tempfile.mkstemp(dir=objects.scratch(), prefix=Process.this().prefix, suffix=".warc.gz")
        unfinished = Path(name)
        try:
            with os.fdopen(descriptor, "wb") as target:
                at = 0
                for one in emptied:
                    _copy(stream, target, at, one.offset)
                    target.write(empty_member(one.length))
                    at = one.offset + one.length
                _copy(stream, target, at, stream.seek(0, os.SEEK_END))
            objects.put(path, unfinished)
        finally:
            unfinished.unlink(missing_ok=True)


def _copy(stream: BinaryIO, target: BinaryIO, start: int, stop: int) -> None:
    stream.seek(start)
    while start < stop:
        piece = stream.read(min(_CHUNK, stop - start))
        target.write(piece)
        start += len(piece)


def empty_member(length: int) -> bytes:
    """A gzip member of exactly this length with an empty record: its header has a comment of blanks."""
    deflated = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
    body = deflated.compress(_EMPTY) + deflated.flush()
    trailer = struct.pack("<II", zlib.crc32(_EMPTY), len(_EMPTY))
    room = length - 10 - len(body) - len(trailer)
    if room < 1:  # of a record that was shorter than an empty one: a member without content, or no more than a header
        body, trailer = b"\x03\x00", bytes(8)
        room = length - 20
    return b"\x1f\x8b\x08\x10\0\0\0\0\0\xff" + b" " * (room - 1) + b"\0" + body + trailer


def _members(stream: BinaryIO) -> Iterator[_Member]:
    """The compressed records of a file, in order. Memory: a MiB, whatever their sizes."""
    size = stream.seek(0, os.SEEK_END)
    at = 0
    while at < size:
        stream.seek(at)
        inflater = isal_zlib.decompressobj(31)
        head, end = b"", at
        while not inflater.eof and end < size:
            piece = inflater.unconsumed_tail or stream.read(_CHUNK)
            if not piece:
                break
            end = stream.tell()
            content: bytes = inflater.decompress(piece, _CHUNK)
            head = head or content[:_HEAD_BYTES]
        if not inflater.eof:  # no member of ours
            return
        end -= len(inflater.unused_data)
        yield _Member(at, end - at, _address(head))
        at = end


def _address(head: bytes) -> str:
    for line in head.partition(b"\r\n\r\n")[0].split(b"\r\n"):
        name, _, value = line.partition(b":")
        if name.strip().lower() == b"warc-target-uri":
            return value.strip().strip(b"<>").decode("utf-8", "replace")
    return ""
