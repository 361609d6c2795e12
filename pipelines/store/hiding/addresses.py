"""Normalises addresses for forgetting: their possible spellings and hosts.

Rows contain addresses that no crawl would accept: no scheme, a strange one, a port out of range, an invalid
host label. Such an address is read leniently and, if ambiguous, in every possible way: forgetting
too much can be repaired by reading the source again, keeping what should be forgotten cannot.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import unquote_to_bytes

import idna

from winnow.filters.web.urls import MAX_LABEL_CHARACTERS, canonical_host, canonical_url
from winnow.schemas.tombstones import gate, parents

MAX_HOST_TAIL = 4096
"""The most characters of a host that are considered: fits 253 bytes, each percent-encoded."""
MAX_LABELS = 128
MAX_SCHEMES = 4  # view-source:https://… has two

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):")
_AUTHORITY = re.compile(r"[^/\\?#]*")
_HOST = re.compile(r"""[^\s:<>"'()\[\]{},;|]+""")
_DOTS = re.compile("[.\u3002\uff0e\uff61]")
_WRAPPING = "".join(map(chr, range(33))) + "<>\"'()\xa0\ufeff\u200b\u200e\u200f\u2028\u2029\u3000"
_DROPPED = str.maketrans("", "", "\t\n\r")


@dataclass(frozen=True, slots=True)
class Address:
    """The forms by which an address is looked up."""

    keys: frozenset[str]  # http and https are equivalent
    hosts: frozenset[str]

    @property
    def gates(self) -> frozenset[bytes]:
        """The gates of the rows that may have it, whichever suffix list determined their domain."""
        return frozenset(gate(name) for host in self.hosts for name in parents(host))


def address_of(url: str) -> Address:
    """One spelling and host for an http or https address; otherwise every possible reading."""
    canonical = canonical_url(url)
    if canonical is not None:
        key = canonical.partition("://")[2]
        return Address(frozenset([key]), frozenset([_host_of_key(key)]))
    keys, hosts = {f":{url.strip()}"}, set()
    for scheme, rest in _readings(url):
        read = _read(scheme, rest)
        if read is not None:
            keys.add(read[0])
            hosts.add(read[1])
    return Address(frozenset(keys), frozenset(hosts))


def _host_of_key(key: str) -> str:
    authority = key.partition("/")[0]
    if authority.startswith("["):
        return authority[1:].partition("]")[0]
    return authority.partition(":")[0]


def _readings(url: str) -> Iterator[tuple[str, str]]:
    """Yields schemes and the text after them that may begin with the host."""
    text = url.translate(_DROPPED).strip(_WRAPPING)
    head, mark, tail = text.partition("://")
    if mark and _AUTHORITY.fullmatch(head):  # whatever precedes the scheme
        yield "https", tail.lstrip("/\\")
    scheme = ""
    for _ in range(MAX_SCHEMES):
        found = _SCHEME.match(text)
        after = text[found.end() :] if found else ""
        # `host:8080/x` looks like a scheme and its remainder, and so does `host.example:`.
        if found is None or "." in found[1] or after[:1].isdigit() or not after:
            yield scheme, text.lstrip("/\\")
        if found is None:
            return
        scheme, text = found[1].lower(), after.strip(_WRAPPING)
    yield scheme, text.lstrip("/\\")


def _read(scheme: str, rest: str) -> tuple[str, str] | None:
    """The spelling and host of text that begins with an authority; None if there is no host."""
    canonical = canonical_url(f"{'http' if scheme == 'http' else 'https'}://{rest}")
    if canonical is not None:
        key = canonical.partition("://")[2]
        return key, _host_of_key(key)
    match = _AUTHORITY.match(rest)
    authority = match[0] if match else ""
    place = authority.rpartition("@")[2].lstrip(_WRAPPING)
    if place.startswith("["):
        named = place.partition("]")[0] + "]"
        host = canonical_host(named)
    else:
        found = _HOST.match(place)
        named = found[0] if found else ""
        host = _tolerant_host(named)
    if not host:
        return None
    return f"{host}{place[len(named) :]}{_tolerant_path(rest[len(authority) :])}", host


def _tolerant_path(tail: str) -> str:
    """A path and query in canonical spelling, unless they are too long for an address."""
    tail = tail.partition("#")[0]
    canonical = canonical_url(f"http://h{tail}")
    return tail if canonical is None else canonical.removeprefix("http://h")


def _tolerant_host(named: str) -> str:
    """A host in lower-case ASCII where its labels allow; an invalid label does not affect those above it."""
    host = canonical_host(named)
    if host is not None:
        return host
    labels = (_label(label) for label in _DOTS.split(named[-MAX_HOST_TAIL:]))
    held = [label for label in ".".join(labels).split(".") if label]
    return ".".join(held[-MAX_LABELS:])


def _label(label: str) -> str:
    if label.isascii() and "%" not in label:
        return label.lower()
    try:
        mapped = idna.uts46_remap(unquote_to_bytes(label).decode(), std3_rules=False)
    except UnicodeError:  # idna's errors are UnicodeErrors
        return label.lower()
    if mapped.isascii() or len(mapped) > MAX_LABEL_CHARACTERS:  # a longer one is invalid, and takes quadratic time
        return mapped
    return ".".join(one if one.isascii() else "xn--" + one.encode("punycode").decode() for one in mapped.split("."))
