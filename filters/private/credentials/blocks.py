"""Private keys in multi-line blocks: PEM, OpenSSH, SSH2, OpenPGP and PuTTY, with bounded size."""

import re
from typing import Final

from winnow.filters.private.credentials.scan import Anchored

PEM, PUTTY = 10, 11
ANCHORS = (Anchored("PRIVATE KEY", PEM), Anchored("PuTTY-User-Key-File-", PUTTY))

_MOST: Final = 64 << 10  # bytes of a block: a key of 16 384 bits has 13 kB, an OpenPGP key with subkeys some more
_HEADER: Final = 40  # bytes before `PRIVATE KEY` that contain `BEGIN`
_LEAST: Final = 32  # consecutive characters of base64; with fewer, a block is a mention, such as `BEGIN … END`
_GAP: Final = 17  # bytes between the lines of a key: breaks, indents, quote marks
_FIRST_GAP: Final = 401  # and before its first line: `Proc-Type`, `DEK-Info`, `Version`, `Comment`
_NAME: Final = b"PRIVATE KEY"

_HEADING = re.compile(rb"[A-Z0-9 ]*")
_DASHES = re.compile(rb"(?: BLOCK)?(?: *-+)?")
_MARK = re.compile(rb"BEGIN |(?:(?<=-)|(?<=-.))END ", re.DOTALL)
_SOLID = re.compile(rb"[A-Za-z0-9+/=]{%d}" % _LEAST)
_LINE = re.compile(rb"[A-Za-z0-9+/=]{16,}")
_PUTTY_MARK = re.compile(rb"PuTTY-User-Key-File-|Private-Lines:|Private-MAC:")
_CODE = re.compile(rb" *[A-Za-z0-9+/=]*")


def block_at(text: bytes, at: int, route: int) -> tuple[int, int]:
    """The byte range of the block with the anchor of a route at this position; an empty one if there is none."""
    return _pem(text, at) if route == PEM else _putty(text, at)


def _end(pattern: re.Pattern[bytes], text: bytes, at: int) -> int:
    """The end of the match, which may be empty, of a pattern here."""
    found = pattern.match(text, at)
    return found.end() if found else at


def _pem(text: bytes, at: int) -> tuple[int, int]:
    header = text.rfind(b"BEGIN ", max(0, at - _HEADER), at)
    if header < 0 or not _HEADING.fullmatch(text, header + 1, at - 5):
        return at, at
    start = header
    for sign in (32, 45):
        while start > 0 and text[start - 1] == sign:
            start -= 1
    body = _end(_DASHES, text, at + len(_NAME))
    last = min(len(text), body + _MOST)
    for mark in _MARK.finditer(text, body, min(len(text), last + 5)):
        if mark.start() >= last:
            break
        if mark[0] == b"BEGIN ":
            last = mark.start()
            break
        name = text.find(_NAME, mark.end(), mark.start() + _HEADER + len(_NAME) - 1)
        if name >= 0:
            stop = _end(_DASHES, text, name + len(_NAME))
            return (start, stop) if _SOLID.search(text, body, mark.start()) else (at, at)
    solid = body  # its end is cut off: use all its lines
    for line in _LINE.finditer(text, body, last):
        if line.start() - solid <= (_FIRST_GAP if solid == body else _GAP):
            solid = line.end()
    return (start, solid) if solid - body >= _LEAST and _SOLID.search(text, body, last) else (at, at)


def _putty(text: bytes, at: int) -> tuple[int, int]:
    """The key file that begins here; an empty range if no private lines follow."""
    last, lines = min(len(text), at + _MOST), False
    for mark in _PUTTY_MARK.finditer(text, at + 1, min(len(text), last + 20)):
        if mark.start() >= last or mark[0].startswith(b"PuTTY"):
            break
        if mark[0] == b"Private-MAC:" and lines:
            return at, _end(_CODE, text, mark.end())
        lines |= mark[0] == b"Private-Lines:"
    return at, at
