"""Tombstones: hashed selectors of forgotten rows, which do not reveal their content.

A selector is kept, not only the rows that it met, so that a row that arrives later is hidden as well. Every hash is
over the selector's kind and its one spelling; whoever knows an address can ask whether it was forgotten, but no
address can be read from a tombstone.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias

from winnow.schemas.identity import digest

SelectorKind: TypeAlias = Literal["url", "domain", "id", "sha256"]
KINDS: tuple[SelectorKind, ...] = ("url", "domain", "id", "sha256")

FORGOTTEN = "forgotten"
"""The status of a forgotten row in a layer, its modality in `samples`, and its reason in a plan."""

GATE_BYTES = 3  # of a host's hash: enough to look at few rows, too few to tell the host from many others


@dataclass(frozen=True, slots=True)
class Tombstone:
    """`tombstones/<content>.json`: hashes in hexadecimal digits, sorted, each once."""

    version: int
    url: tuple[str, ...]
    domain: tuple[str, ...]
    id: tuple[str, ...]  # ids are hashes already
    sha256: tuple[str, ...]
    gates: tuple[str, ...]
    reason: str  # as it was given


@dataclass(frozen=True, slots=True)
class Selectors:
    """The selectors of one or several tombstones, ready to be looked up."""

    url: frozenset[bytes] = frozenset()
    domain: frozenset[bytes] = frozenset()
    id: frozenset[bytes] = frozenset()
    sha256: frozenset[bytes] = frozenset()
    gates: frozenset[bytes] = frozenset()  # of the hosts that addresses and domains lie under

    def __bool__(self) -> bool:
        return bool(self.url or self.domain or self.id or self.sha256)

    def __len__(self) -> int:
        return len(self.url) + len(self.domain) + len(self.id) + len(self.sha256)

    @classmethod
    def of(cls, tombstone: Tombstone) -> "Selectors":
        """Those of one tombstone."""
        return cls(
            **{name: frozenset(map(bytes.fromhex, getattr(tombstone, name))) for name in cls.__dataclass_fields__}
        )

    @classmethod
    def merged(cls, parts: Iterable["Selectors"]) -> "Selectors":
        """Those of all."""
        held = list(parts)
        if len(held) == 1:
            return held[0]
        return cls(
            **{name: frozenset().union(*(getattr(part, name) for part in held)) for name in cls.__dataclass_fields__}
        )

    def tombstone(self, reason: str) -> Tombstone:
        """The record that keeps them."""
        hashes = {
            name: tuple(sorted(value.hex() for value in getattr(self, name))) for name in self.__dataclass_fields__
        }
        return Tombstone(version=1, reason=reason, **hashes)


def selector_hash(kind: SelectorKind, value: str) -> bytes:
    """The hash of an address, a host or a text's SHA-256, in its one spelling."""
    return digest("forget", kind, value)


def gate(host: str) -> bytes:
    """A few bits of a host's hash."""
    return digest("gate", host, size=GATE_BYTES)


def parents(host: str) -> Iterator[str]:
    """A host and every domain above it; an IP address is under nothing."""
    yield host
    if ":" in host or host.rpartition(".")[2].isdigit():
        return
    while "." in host:
        host = host.partition(".")[2]
        yield host
