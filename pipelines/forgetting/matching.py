"""Which rows of `samples` selectors mean. Narrow columns decide for nearly all rows; few addresses are looked at."""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from winnow.filters.urls import canonical_url, registered_domain
from winnow.schemas.tombstones import Selectors, gate, parents, selector_hash

_NONE, _SOME, _ALL, _ALL_SEEN = range(4)
"""Of the rows of a registered domain none is meant; each must be looked at; all are; all are, and each is looked at."""


def address_key(url: str) -> str:
    """The one spelling of an address for forgetting: http and https are the same; what is no address is itself."""
    canonical = canonical_url(url)
    return f":{url.strip()}" if canonical is None else canonical.partition("://")[2]


def host_of_key(key: str) -> str | None:
    """The host of an address's one spelling; None for what is no address."""
    if key.startswith(":"):
        return None
    authority = key.partition("/")[0]
    if authority.startswith("["):
        return authority[1:].partition("]")[0]
    return authority.partition(":")[0]


def address_gates(url: str) -> frozenset[bytes]:
    """The gates of the rows that may have an address, whatever list of suffixes their domain was told by."""
    host = host_of_key(address_key(url)) or registered_domain(url)
    return frozenset(map(gate, parents(host))) if host else frozenset()


@dataclass
class Matcher:
    """Looks rows up among selectors. Keeps what it found of domains, so one serves many batches."""

    selectors: Selectors
    met: set[bytes] = field(default_factory=set)  # the hashes of the selectors that some row met
    note: bool = False  # whether to fill `met`
    _domains: dict[str | None, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._ids = pa.array(sorted(self.selectors.id), pa.binary(16))

    @property
    def columns(self) -> list[str]:
        """The columns of `samples` that are read."""
        wanted = ["modality"]
        wanted += ["id"] if self.selectors.id else []
        wanted += ["url", "domain"] if self.selectors.url or self.selectors.domain else []
        wanted += ["text", "media"] if self.selectors.sha256 else []
        return wanted

    def rows(self, samples: pa.RecordBatch) -> NDArray[np.bool_]:
        """Which rows of a batch of samples are meant; those that are neutral already are not told from others."""
        meant = np.zeros(samples.num_rows, np.bool_)
        if self.selectors.id:
            found = pc.is_in(samples["id"], value_set=self._ids)
            meant |= found.to_numpy(zero_copy_only=False)
            if self.note:
                self.met.update(samples["id"].filter(found).to_pylist())
        if self.selectors.url or self.selectors.domain:
            meant |= self._by_address(samples["domain"], samples["url"])
        if self.selectors.sha256:
            meant |= self.texts(samples["text"])
            meant |= self._by_media(samples["media"])
        return meant

    def texts(self, texts: pa.Array) -> NDArray[np.bool_]:
        """Which texts have a SHA-256 that is meant."""
        meant = np.zeros(len(texts), np.bool_)
        for row in np.flatnonzero(texts.is_valid().to_numpy(zero_copy_only=False)).tolist():  # each costs its hash
            meant[row] = self._has_digest(hashlib.sha256(texts[row].as_buffer()).hexdigest())
        return meant

    def _has_digest(self, digest: str) -> bool:
        return self._look_up(selector_hash("sha256", digest.lower()), self.selectors.sha256)

    def _look_up(self, value: bytes, among: frozenset[bytes]) -> bool:
        if value not in among:
            return False
        if self.note:
            self.met.add(value)
        return True

    def _by_media(self, media: pa.Array) -> NDArray[np.bool_]:
        meant = np.zeros(len(media), np.bool_)
        digests = pc.struct_field(media.flatten(), "sha256")
        if digests.null_count == len(digests):
            return meant
        rows = pc.list_parent_indices(media).to_pylist()
        for row, digest in zip(rows, digests.to_pylist(), strict=True):
            if digest is not None and self._has_digest(digest):
                meant[row] = True
        return meant

    def _by_address(self, domains: pa.Array, urls: pa.Array) -> NDArray[np.bool_]:
        coded = pc.dictionary_encode(domains, null_encoding="encode")
        fates = np.array([self._domain(name) for name in coded.dictionary.to_pylist()], np.int8)
        if not len(fates):
            return np.zeros(len(domains), np.bool_)
        fate = fates[coded.indices.to_numpy(zero_copy_only=False)]
        meant: NDArray[np.bool_] = fate >= _ALL
        seen = ((fate == _SOME) | (fate == _ALL_SEEN)) & urls.is_valid().to_numpy(zero_copy_only=False)
        for row in np.flatnonzero(seen).tolist():
            meant[row] |= self._address(urls[row].as_py())
        return meant

    def _domain(self, name: str | None) -> int:
        known = self._domains.get(name)
        if known is not None:
            return known
        fate = _SOME  # an address without a domain is none, or nobody has told it
        if name is not None:
            fate = _NONE
            above = [self._look_up(selector_hash("domain", one), self.selectors.domain) for one in parents(name)]
            behind_gate = gate(name) in self.selectors.gates
            if any(above):
                fate = _ALL_SEEN if behind_gate and self.note else _ALL
            elif behind_gate:
                fate = _SOME
        self._domains[name] = fate
        return fate

    def _address(self, url: str) -> bool:
        key = address_key(url)
        meant = self._look_up(selector_hash("url", key), self.selectors.url)
        host = host_of_key(key)
        for name in parents(host) if host else ():
            meant |= self._look_up(selector_hash("domain", name), self.selectors.domain)
        return meant


def merged_rows(parts: Iterable[NDArray[np.int64]]) -> NDArray[np.int64]:
    """Row numbers of several lists, sorted, each once."""
    held = list(parts)
    return np.unique(np.concatenate(held)) if held else np.zeros(0, np.int64)
