"""Where an address leads: its host, port and path, or why it is not asked. Nothing here uses a network."""

import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

from winnow.filters.web.urls import MAX_URL_CHARACTERS, canonical_url, registered_domain, resolve
from winnow.pipelines.fetch.live.exchange import Failed
from winnow.pipelines.fetch.outcome import Reason

__all__ = ["MAX_CHARACTERS", "Place", "place_of"]

MAX_CHARACTERS: Final = 2048  # of an address in its normal form; longer ones are made by traps
_PORTS: Final = {"http": 80, "https": 443}
_USUAL_PORTS: Final = (80, 443)
_CANONICAL: Final = re.compile(r"(https?)://((?:\[([0-9a-f:.]+)\]|([^/:]+))(?::(\d+))?)(.*)", re.DOTALL)
_AUTHORITY: Final = re.compile(r"[^:/\\?#]*:[/\\]{2,}([^/\\?#]*)")
_RELATIVE: Final = re.compile(r"[/\\]{2,}([^/\\?#]*)")
_EDGES: Final = "".join(map(chr, range(33)))
_DROPPED: Final = str.maketrans("", "", "\t\n\r")


@dataclass(frozen=True, slots=True)
class Place:
    """Where an address leads."""

    url: str  # in its normal form, which is what is requested
    scheme: str  # http or https
    host: str  # in lower-case ASCII, or an IP address without brackets
    port: int
    authority: str  # the host as requests name it, with a port that is not the usual one
    target: str  # path and query

    @property
    def domain(self) -> str:
        """The registered domain; the host if it has none."""
        return registered_domain(self.url) or self.host


def place_of(written: str, ports: Collection[int] = _USUAL_PORTS, base: str | None = None) -> Place | Failed:
    """Where an address leads, as a list or a redirect of `base` writes it; or why it must not be asked."""
    if len(written) > MAX_URL_CHARACTERS:
        return Failed(Reason.TOO_LONG, f"{len(written):,} characters")
    url = canonical_url(written) if base is None else resolve(base, written)
    if url is None:
        return Failed(Reason.NO_ADDRESS, "no http or https address")
    if _has_credentials(written):
        return Failed(Reason.CREDENTIALS, "a user or a password stands in it")
    if len(url) > MAX_CHARACTERS:
        return Failed(Reason.TOO_LONG, f"{len(url):,} characters")
    parts = _CANONICAL.fullmatch(url)
    assert parts is not None
    scheme, authority, literal, name, port, target = parts.groups()
    number = int(port) if port else _PORTS[scheme]
    if number not in ports:
        return Failed(Reason.PORT, f"port {number}; fetch.ports allows {', '.join(map(str, sorted(ports)))}")
    return Place(url, scheme, literal or name, number, authority, target)


def _has_credentials(written: str) -> bool:
    """Whether an address names a user, as browsers read it: `canonical_url` would drop the name."""
    cleaned = written.strip(_EDGES).translate(_DROPPED)
    found = _AUTHORITY.match(cleaned) or _RELATIVE.match(cleaned)
    return found is not None and "@" in found[1]
