"""Tombstones: hashed selectors of forgotten rows, which do not reveal their content.

Selectors are stored, not only the rows that they match, so that rows ingested later are hidden as well. Every hash
covers the selector's kind and its normalised spelling: one can check whether a known address was forgotten, but no
address can be recovered from a tombstone.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias

from winnow.schemas.identity import digest

SelectorKind: TypeAlias = Literal["url", "domain", "id", "sha256"]
KINDS: tuple[SelectorKind, ...] = ("url", "domain", "id", "sha256")

FORGOTTEN = "forgotten"
"""The status of a forgotten row in a layer, its modality in `samples`, and its reason in a plan."""

GATE_BYTES = 3  # of a host's hash: enough to select few rows, too few to identify the host


@dataclass(frozen=True, slots=True)
class Tombstone:
    """`tombstones/<content>.json`: hashes in hexadecimal digits, sorted, each once."""

    version: int
    url: tuple[str, ...]
    domain: tuple[str, ...]
    id: tuple[str, ...]  # ids are hashes already
    sha256: tuple[str, ...]
    gates: tuple[str, ...]
    reason: str  # as given by the user


@dataclass(frozen=True, slots=True)
class Selectors:
    """The selectors of one or several tombstones, for lookup."""

    url: frozenset[bytes] = frozenset()
    domain: frozenset[bytes] = frozenset()
    id: frozenset[bytes] = frozenset()
    sha256: frozenset[bytes] = frozenset()
    gates: frozenset[bytes] = frozenset()  # of the hosts of addresses and domains

    def __bool__(self) -> bool:
        return bool(self.url or self.domain or self.id or self.sha256)

    def __len__(self) -> int:
        return len(self.url) + len(self.domain) + len(self.id) + len(self.sha256)

    @classmethod
    def of(cls, tombstone: Tombstone) -> "Selectors":
        """The selectors of one tombstone."""
        return cls(
            **{name: frozenset(map(bytes.fromhex, getattr(tombstone, name))) for name in cls.__dataclass_fields__}
        )

    @classmethod
    def merged(cls, parts: Iterable["Selectors"]) -> "Selectors":
        """The selectors of several tombstones."""
        held = list(parts)
        if len(held) == 1:
            return held[0]
        return cls(
            **{name: frozenset().union(*(getattr(part, name) for part in held)) for name in cls.__dataclass_fields__}
        )

    def tombstone(self, reason: str) -> Tombstone:
        """The record that stores them."""
        hashes = {
            name: tuple(sorted(value.hex() for value in getattr(self, name))) for name in self.__dataclass_fields__
        }
        return Tombstone(version=1, reason=reason, **hashes)


def selector_hash(kind: SelectorKind, value: str) -> bytes:
    """The hash of an address, a host or a text's SHA-256, in its normalised spelling."""
    return digest("forget", kind, value)


def gate(host: str) -> bytes:
    """The first bits of a host's hash, which select the rows to check."""
    return digest("gate", host, size=GATE_BYTES)


def parents(host: str) -> Iterator[str]:
    """A host and its parent domains; an IP address has none."""
    yield host
    if ":" in host or host.rpartition(".")[2].isdigit():
        return
    while "." in host:
        host = host.partition(".")[2]
        yield host
