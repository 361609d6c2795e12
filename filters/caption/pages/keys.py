"""Keys that match pages with pictures: digests of canonical addresses, of three kinds that never equal each other."""

from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from winnow.filters.operators import KEYS
from winnow.filters.url.canonical import CanonicalConfig, canonical

SHOWN: Final = 0  # the address of a picture that pages show
LOADED: Final = 1  # the address of a picture that a browser loaded for a page
PAGE: Final = 2  # the address of a page on which a picture was found

_URL = "samples.url"
_RULES: Final = CanonicalConfig(routes=True)  # no picture has a route, and no crawler reports a page's
_BYTES: Final = 16
_KINDS: Final = 3  # the bits of the last byte that hold the kind


def keys_of(urls: pa.Array, kind: int) -> pa.Array:
    """The key of each address; null if it is invalid."""
    digests = digests_of(urls)
    if not len(digests):
        return pa.array([], KEYS)
    bounds = digests.offset * _BYTES, (digests.offset + len(digests)) * _BYTES
    raw = np.frombuffer(digests.buffers()[1], np.uint8)[slice(*bounds)].reshape(-1, _BYTES).copy()
    raw[:, -1] = raw[:, -1] & ~np.uint8(_KINDS) | kind
    return pc.if_else(digests.is_valid(), pa.Array.from_buffers(KEYS, len(raw), [None, pa.py_buffer(raw)]), None)


def digests_of(urls: pa.Array) -> pa.Array:
    """The digest of each canonical address; null if it is invalid."""
    batch = pa.RecordBatch.from_arrays([urls.cast(pa.string())], names=[_URL])
    return canonical(batch, _RULES).column("digest")


def kind_of(key: bytes) -> int:
    """The kind of a key."""
    return key[-1] & _KINDS
