"""Parses requests to forget, from options and from a list, into selectors, and reports invalid ones.

A list has one selector per line, `url https://…` or `domain example.com`. A byte order mark, CRLF line ends, blank
lines and lines that begin with `#` are allowed.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from winnow.filters.web.urls import canonical_host, registered_domain
from winnow.pipelines.store.hiding.addresses import address_of
from winnow.schemas.errors import WinnowError
from winnow.schemas.problems import nearest, shown
from winnow.schemas.tombstones import KINDS, SelectorKind, Selectors, gate, parents, selector_hash

MAX_LINE_BYTES = 1 << 20

_HEX = {"id": 32, "sha256": 64}


class RequestError(WinnowError):
    """A selector that cannot be parsed."""


@dataclass(frozen=True, slots=True)
class Selection:
    """One selector as written, and the hashes of which a row must match one."""

    kind: SelectorKind
    value: str
    hashes: frozenset[bytes]
    gates: frozenset[bytes]

    def __str__(self) -> str:
        return f"{self.kind} {self.value}"


def parse_selector(kind: SelectorKind, value: str) -> Selection:
    """Parses the value of a selector; RequestError if it is not a valid address, host, id or SHA-256."""
    value = value.strip()
    if not value:
        raise RequestError(f"{kind}: the value is empty")
    match kind:
        case "url":
            return _address(value)
        case "domain":
            return _domain(value)
        case "id" | "sha256":
            if re.fullmatch(f"[0-9a-fA-F]{{{_HEX[kind]}}}", value) is None:
                raise RequestError(f"{kind} {shown(value)}: expected {_HEX[kind]} hexadecimal digits")
            named = bytes.fromhex(value) if kind == "id" else selector_hash(kind, value.lower())
            return Selection(kind, value, frozenset([named]), frozenset())


def _address(value: str) -> Selection:
    address = address_of(value)
    return Selection("url", value, frozenset(selector_hash("url", key) for key in address.keys), address.gates)


def _domain(value: str) -> Selection:
    host = canonical_host(value.removeprefix("*").removeprefix("."))
    if host is None:
        raise RequestError(f"domain {shown(value)}: expected a host name such as example.com, without scheme and path")
    address = ":" in host or host.rpartition(".")[2].isdigit()
    if not address and registered_domain(f"http://x.{host}/") != registered_domain(f"http://{host}/"):
        raise RequestError(
            f"domain {shown(value)}: is a public suffix, under which everybody can have a site; name the sites"
        )
    return Selection("domain", value, frozenset([selector_hash("domain", host)]), frozenset(map(gate, parents(host))))


def read_list(file: Path) -> tuple[list[Selection], list[str]]:
    """The selectors of a list, and an error for each invalid line; RequestError if the file cannot be read."""
    selections: list[Selection] = []
    bad: list[str] = []
    try:
        with open(file, "rb") as stream:
            number = 0
            while raw := stream.readline(MAX_LINE_BYTES):
                number += 1
                place = f"{file}:{number}"
                if len(raw) == MAX_LINE_BYTES and not raw.endswith(b"\n"):
                    bad.append(f"{place}: a line of more than {MAX_LINE_BYTES} bytes")
                    while raw and not raw.endswith(b"\n"):
                        raw = stream.readline(MAX_LINE_BYTES)
                    continue
                try:
                    line = raw.decode("utf-8-sig" if number == 1 else "utf-8").strip()
                    if line and not line.startswith("#"):
                        selections.append(_line(line))
                except UnicodeDecodeError:
                    bad.append(f"{place}: not UTF-8")
                except RequestError as error:
                    bad.append(f"{place}: {error}")
    except OSError as error:
        raise RequestError(f"--file {file}: {error.strerror or error}") from None
    return selections, bad


def _line(line: str) -> Selection:
    word, _, value = line.partition(" ") if " " in line else line.partition("\t")
    kind = next((kind for kind in KINDS if kind == word.rstrip(":").lower()), None)
    if kind is None:
        near = nearest(word.lower(), KINDS)
        hint = f"did you mean {near!r}?" if near else "a line is `url …`, `domain …`, `id …` or `sha256 …`"
        raise RequestError(f"{shown(word)} is not a kind of selector ({hint})")
    return parse_selector(kind, value)


def selectors_of(selections: Iterable[Selection]) -> Selectors:
    """Combines the selectors."""
    hashes: dict[SelectorKind, set[bytes]] = {kind: set() for kind in KINDS}
    gates: set[bytes] = set()
    for selection in selections:
        hashes[selection.kind] |= selection.hashes
        gates |= selection.gates
    return Selectors(
        frozenset(hashes["url"]),
        frozenset(hashes["domain"]),
        frozenset(hashes["id"]),
        frozenset(hashes["sha256"]),
        frozenset(gates),
    )
