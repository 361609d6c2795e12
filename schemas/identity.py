"""Names and hashes that depend only on their inputs (laws 4 and 5)."""

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import orjson

if TYPE_CHECKING:
    Json: TypeAlias = bool | int | float | str | Sequence["Json"] | Mapping[str, "Json"] | None
else:
    Json = Any  # Any, as recursive aliases cannot be resolved at run time

ID_BYTES = 16


def digest(*parts: bytes | str | int, size: int = ID_BYTES) -> bytes:
    """Blake2b over the parts, each preceded by its length, so that no two lists of parts collide."""
    return digest_of(parts, size=size)


def digest_of(parts: Iterable[bytes | str | int], *, size: int = ID_BYTES) -> bytes:
    """The same for parts that need not be in memory together."""
    state = hashlib.blake2b(digest_size=size)
    for part in parts:
        raw = part if isinstance(part, bytes) else str(part).encode("utf-8", "surrogatepass")
        state.update(len(raw).to_bytes(8, "little"))
        state.update(raw)
    return state.digest()


def sample_id(source: str, path: str, key: str) -> bytes:
    """The identity of a sample: its source's name, its file relative to the source's root, its key in the file."""
    return digest(source, path, key)


def seeded_hash(seed: int, purpose: str, sample: bytes) -> int:
    """The only source of randomness: 64 bits from the store's seed, the purpose and the sample."""
    return int.from_bytes(digest(seed, purpose, sample, size=8), "little")


def canonical_json(value: Json) -> str:
    """JSON with sorted keys and no spaces; equal values give equal bytes."""
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS).decode()


def fingerprint_of(value: Json) -> str:
    """A short name for a configuration: 16 hex digits of its canonical JSON's hash."""
    return digest(canonical_json(value), size=8).hex()


def content_name(raw: bytes) -> str:
    """The name of a data object: 16 hex digits of its bytes' hash."""
    return content_hash(raw).hexdigest()


def content_hash(raw: bytes = b"") -> "hashlib.blake2b":
    """The hash of that name, to which more bytes can be given."""
    return hashlib.blake2b(raw, digest_size=8)


def path_slug(text: str, limit: int = 40) -> str:
    """A readable, portable piece of an object name; uniqueness must come from an added hash."""
    return re.sub(r"[^A-Za-z0-9]+", "-", text).strip("-").lower()[:limit].strip("-") or "x"
