"""The host after an at sign: labels, the dots between them in any notation, and its top-level domain."""

import re
import sys
from functools import lru_cache
from importlib.resources import files

import numpy as np
import numpy.typing as npt

from winnow.filters.language.kernels.classes import ALPHA, MARK, flags_by_point

__all__ = ["AT", "BRACKETED", "DOT", "SIGN", "SPELLED", "bracketed", "host_end", "is_reserved", "letters"]

SIGN, BRACKETED, SPELLED = range(1, 4)
"""Notations of an at sign: `@` or `%40`, `[at]` and the like, ` AT `."""

AT = ("at", "a", "@", "ät", "arroba", "arobase", "arobas", "chiocciola")
DOT = (".", "dot", "punkt", "punto", "ponto", "point", "kropka", "tečka")
"""What stands in brackets; `emails` looks for the first letters of the former."""

_MAX_DOMAIN = 253
_MAX_LABEL = 63
_ROOM = 2 * _MAX_DOMAIN + 8 * _MAX_LABEL  # bytes after an at sign that may matter

# Scripts that have no spaces between words, or append particles to names: Thai to Burmese, Khmer, Han, Kana, Hangul.
_UNSPACED = ((0x0E00, 0x109F), (0x1100, 0x11FF), (0x1780, 0x17FF), (0x2E80, sys.maxunicode))
_IS_UNSPACED = re.compile("[" + "".join(f"{chr(first)}-{chr(last)}" for first, last in _UNSPACED) + "]")
# As in `candidates`: with these, adjacent letters make a top-level domain part of a word.
_GLUED = re.compile(
    "[0-9A-Za-z\xaa\xb5\xba\xc0-\xd6\xd8-\xf6\xf8-\u037d\u037f-\u0386\u0388-\u0559\u0560-\u0588\u058b-\u05bf]"
)
_LITERAL = re.compile(r"\[(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})\]", re.ASCII)
_RESERVED = re.compile(rb"(?:\A|\.)example\.(?:com|net|org)\Z", re.IGNORECASE)
_ALNUM, _ASCII = re.compile("[0-9A-Za-z]+"), re.compile(r"[\x00-\x7f]+")

_NOT_OF_MAIL = frozenset(("zip", "mov", "map", "data", "foo", "java"))
"""Domains that end far more file names and program fields than addresses: `obj@meta.data`, `clip@2x.mov`."""

_RETIRED = frozenset(("an", "tp", "yu", "zr"))
"""Domains of former countries, which still occur in pages and archives."""


def bracketed(words: tuple[str, ...]) -> str:
    """A pattern of any of these words in brackets, whatever the case of its ASCII letters."""
    inside = f" ?(?ai:{'|'.join(map(re.escape, words))}) ?"
    return rf"(?:\({inside}\)|\[{inside}\]|\{{{inside}\}})"


_BETWEEN = {  # the dots between two labels
    SIGN: rf"\.| {bracketed(DOT)} ?|{bracketed(DOT)}",
    SPELLED: rf"\.| DOT | {bracketed(DOT)} ?|{bracketed(DOT)}",
    BRACKETED: rf"\.| (?:DOT|dot) | {bracketed(DOT)} ?|{bracketed(DOT)}",
}
_DOTS = {form: re.compile(pattern) for form, pattern in _BETWEEN.items()}
_PLAIN_DOT = re.compile(r"\.")


@lru_cache(maxsize=1)
def letters() -> tuple[str, str]:
    """Letters and marks beyond ASCII as ranges of a character class: of scripts with spaces, and of those without.

    They are those of the version of Unicode that the tables have.
    """
    flags = flags_by_point() & (ALPHA | MARK) > 0
    flags[:0x80] = False
    unspaced = np.zeros(len(flags), np.bool_)
    for first, last in _UNSPACED:
        unspaced[first : last + 1] = True
    return _ranges(flags & ~unspaced), _ranges(flags & unspaced)


def _ranges(flags: npt.NDArray[np.bool_]) -> str:
    edges = np.flatnonzero(np.diff(flags.astype(np.int8), prepend=0, append=0)).reshape(-1, 2)
    return "".join(f"{chr(first)}-{chr(behind - 1)}" for first, behind in edges.tolist())


@lru_cache(maxsize=1)
def _label() -> re.Pattern[str]:
    characters = "0-9A-Za-z" + "".join(letters())
    return re.compile(f"[{characters}][{characters}-]*")


@lru_cache(maxsize=1)
def _top_level_domains() -> frozenset[str]:
    """All top-level domains used in mail.

    They come from the Public Suffix List inside tldextract, as the list's own names and, for other scripts, also in
    ASCII (`рф`, `xn--p1ai`).
    """
    lines = (files("tldextract") / ".tld_set_snapshot").read_text(encoding="utf-8").splitlines()
    names = {line.strip().rpartition(".")[2] for line in lines if line.strip() and not line.startswith("//")}
    names = (names | _RETIRED) - _NOT_OF_MAIL
    return frozenset(names | {f"xn--{name.encode('punycode').decode()}" for name in names if not name.isascii()})


def _top_level_end(text: str, start: int, end: int) -> int:
    """The end of the top-level domain at the start of this label, if no word continues after it; else -1."""
    known = _top_level_domains()
    if text[start].isascii():
        punycode = text[start + 2 : start + 4] == "--" and end - start > 4
        found = (_ASCII if punycode else _ALNUM).match(text, start, end)
        at = found.end() if found else start
        glued = at < len(text) and _GLUED.match(text, at)
        return at if at - start >= 2 and not glued and text[start:at].lower() in known else -1
    top = -1
    for at in range(start, end):
        if text[at].isascii():
            break
        apart = at + 1 == end or _IS_UNSPACED.match(text, at) or _IS_UNSPACED.match(text, at + 1, end)
        if apart and text[start : at + 1] in known:
            top = at + 1
    return top


def _label_end(text: str, at: int) -> int:
    """The end of the label that begins here: letters, digits and inner hyphens."""
    found = _label().match(text, at)
    if found is None:
        return at
    end, size = found.end(), 0
    if 4 * (end - at) > 4 * _MAX_LABEL:  # in bytes it may be too long
        for place in range(at, end):
            size += len(text[place].encode())
            if size > 4 * _MAX_LABEL:
                end = place + 1
                break
    return at + len(text[at:end].rstrip("-"))


def host_end(text: bytes, at: int, form: int, spelled_out: bool) -> tuple[int, bool]:
    """The end of the host that begins here, or -1, and whether it has non-ASCII letters.

    This is the longest host whose last label is a top-level domain; but a capitalised last label after lower-case ones
    is the next sentence (`ada@host.org.It was`).
    """
    host = text[at : at + _ROOM].decode("utf-8", "ignore")
    if form == SIGN and host.startswith("["):
        found = _LITERAL.match(host)
        return (at + found.end() if found and all(int(one) <= 255 for one in found.groups()) else -1), False
    dots = _DOTS[form] if spelled_out else _PLAIN_DOT
    start, last, other, capitals, is_first = 0, -1, False, False, True
    while start < len(host) and len(host[:start].encode()) <= 2 * _MAX_DOMAIN:
        end = _label_end(host, start)
        if end == start:
            break
        label = host[start:end]
        capital = "A" <= label[0] <= "Z"
        shouted = capital and "A" <= label[1:2] <= "Z"
        if not is_first:
            top = _top_level_end(host, start, end)
            if top > 0 and (last < 0 or capitals or shouted or not capital):
                last = top
        elif len(label) == 2 and label[0] in "0123456789" and label[1] in "xX":
            return -1, False  # icon@2x.png and other image names
        other = other or not label.isascii()
        capitals = capitals or (capital and not shouted)
        is_first = False
        dot = dots.match(host, end)
        if dot is None:
            break
        start = dot.end()
    size = len(host[: max(last, 0)].encode())
    return (at + size if last >= 0 and size <= _MAX_DOMAIN + 64 else -1), other


def is_reserved(host: bytes) -> bool:
    """Whether the host is, or is below, one that is reserved for examples."""
    return _RESERVED.search(host) is not None
