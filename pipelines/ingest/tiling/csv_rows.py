"""Proves, from the file alone, that each claim on a CSV table is one row, and that the claims make up the file (law 3).

Rows are found by their quotes and line ends, and not with the parser of the reader.
"""

import re
from collections.abc import Iterable
from typing import BinaryIO, Final

from winnow.pipelines.ingest.tables.csv_rows import delimiter_of
from winnow.pipelines.ingest.tiling.claims import MAX_FINDINGS, Claim
from winnow.pipelines.ingest.tiling.counting import check_ranges

_BOM: Final = b"\xef\xbb\xbf"
_START, _PLAIN, _QUOTED, _CLOSED = range(4)


def check_csv(stream: BinaryIO, path: str, claims: Iterable[Claim], size: int) -> list[str]:
    """Lists what is wrong with the claims on a file; empty if they are proved."""
    held = list(claims)
    stream.seek(0)
    delimiter = delimiter_of(path, stream.read(1 << 16).partition(b"\n")[0]).encode()
    findings = []
    for claim in held:
        span = claim.span
        if not claim.readable or not span.length or span.offset + span.length > size:
            continue
        stream.seek(span.offset)
        raw = stream.read(span.length)
        rows = count_rows(raw.removeprefix(_BOM) if span.offset == 0 else raw, delimiter)
        if rows != 1 or not (raw.endswith(b"\n") or span.offset + span.length == size):
            findings.append(f"bytes {span.offset} to {span.offset + span.length}: hold {rows} whole rows, not one")
    return [*check_ranges(size, [claim.span for claim in held]), *findings[:MAX_FINDINGS]]


def count_rows(raw: bytes, delimiter: bytes) -> int:
    """How many rows end in some bytes; the end of the bytes ends one too, outside quotes."""
    state, after, rows, ended = _START, 0, 0, 0
    for mark in re.finditer(rb'["\n' + re.escape(delimiter) + b"]", raw):
        if mark.start() > after and state in (_START, _CLOSED):
            state = _PLAIN
        after = mark.end()
        if mark[0] == b'"':
            state = {_START: _QUOTED, _PLAIN: _PLAIN, _QUOTED: _CLOSED, _CLOSED: _QUOTED}[state]
        elif state != _QUOTED:
            state = _START
            if mark[0] == b"\n":
                rows, ended = rows + 1, after
    return rows + (ended < len(raw) and state != _QUOTED)
