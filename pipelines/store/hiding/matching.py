"""Matches rows of `samples` against selectors. Narrow columns decide nearly all rows; few addresses are parsed."""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from winnow.pipelines.store.hiding.addresses import address_of
from winnow.schemas.tombstones import Selectors, gate, parents, selector_hash

_NONE, _SOME, _ALL, _ALL_SEEN = range(4)
"""For the rows of a registered domain: none match; check each; all match; all match, but check each."""


@dataclass
class Matcher:
    """Matches rows against selectors. Caches results by domain, so one instance serves many batches."""

    selectors: Selectors
    met: set[bytes] = field(default_factory=set)  # the hashes of the selectors that matched a row
    note: bool = False  # whether to fill `met`
    _domains: dict[str | None, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._ids = pa.array(sorted(self.selectors.id), pa.binary(16))

    @property
    def columns(self) -> list[str]:
        """The columns of `samples` that are needed."""
        wanted = ["modality"]
        wanted += ["id"] if self.selectors.id else []
        wanted += ["url", "domain"] if self.selectors.url or self.selectors.domain else []
        wanted += ["text", "media"] if self.selectors.sha256 else []
        return wanted

    def rows(self, samples: pa.RecordBatch) -> NDArray[np.bool_]:
        """Which rows of a batch of samples match, including rows that are already redacted."""
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
        """Which texts have a selected SHA-256."""
        meant = np.zeros(len(texts), np.bool_)
        for row in np.flatnonzero(texts.is_valid().to_numpy(zero_copy_only=False)).tolist():  # hashing dominates
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
            meant[row] |= self.address(urls[row].as_py())
        return meant

    def _domain(self, name: str | None) -> int:
        known = self._domains.get(name)
        if known is not None:
            return known
        fate = _SOME  # an address without a domain is invalid, or its domain is unknown
        if name is not None:
            fate = _NONE
            above = [self._look_up(selector_hash("domain", parent), self.selectors.domain) for parent in parents(name)]
            behind_gate = gate(name) in self.selectors.gates
            if any(above):
                fate = _ALL_SEEN if behind_gate and self.note else _ALL
            elif behind_gate:
                fate = _SOME
        self._domains[name] = fate
        return fate

    def address(self, url: str) -> bool:
        """Whether an address or its host is selected."""
        address = address_of(url)
        meant = False
        for key in address.keys:
            meant |= self._look_up(selector_hash("url", key), self.selectors.url)
        for host in address.hosts:
            for name in parents(host):
                meant |= self._look_up(selector_hash("domain", name), self.selectors.domain)
        return meant


def merged_rows(parts: Iterable[NDArray[np.int64]]) -> NDArray[np.int64]:
    """Merges lists of row numbers: sorted and distinct."""
    held = list(parts)
    return np.unique(np.concatenate(held)) if held else np.zeros(0, np.int64)
