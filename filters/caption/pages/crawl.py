"""Which page shows a picture: keys that match pages with pictures, and what other records of a crawl say of it.

Keys are digests of canonical addresses, of five kinds that never equal each other.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from winnow.filters.caption.lists import lengths_of
from winnow.filters.operators import KEYS
from winnow.filters.url.canonical import CanonicalConfig, canonical
from winnow.schemas.rows import referrers

SHOWN: Final = 0  # the address of a picture that pages show
LOADED: Final = 1  # the address of a picture that a browser loaded for a page
PAGE: Final = 2  # the address of a page on which a picture was found
SHOWING: Final = 3  # the address of a picture, offered by pages that show it: so they are counted
REFUSING: Final = 4  # the address of a picture or of a page, offered by pages that opt out
_URL = "samples.url"
_RULES: Final = CanonicalConfig(routes=True)  # no picture has a route, and no crawler reports a page's
_BYTES: Final = 16
_KINDS: Final = 7  # the bits of the last byte that hold the kind


@dataclass(frozen=True, slots=True)
class Loading:
    """The pictures that a browser loaded for a page."""

    page: str
    images: list[str]


def referrers_of(metadata: pa.Array) -> list[list[str]]:
    """For each row, the addresses of the pages on which the crawler found it."""
    noted = pc.fill_null(pc.match_substring(metadata, f'"{referrers.REFERRERS}"'), False)
    found = pc.if_else(noted, metadata, None).to_pylist()  # only for pictures of crawls: most rows are not parsed
    return [_texts(_parsed(one).get(referrers.REFERRERS), referrers.MOST_REFERRERS) for one in found]


def loadings_of(urls: pa.Array, metadata: pa.Array) -> dict[int, Loading]:
    """The rows that list the pictures a page loaded, by row number."""
    lists = pc.fill_null(pc.starts_with(urls, referrers.PAGE_INFO), False)
    found = {}
    for row in pc.indices_nonzero(lists).to_pylist():
        said = _parsed(metadata[row].as_py()).get(referrers.LOADED)
        page = said.get("url") if isinstance(said, Mapping) else None
        if isinstance(said, Mapping) and isinstance(page, str):
            found[row] = Loading(page, _texts(said.get("images"), referrers.MOST_LOADED))
    return found


def _parsed(metadata: str | None) -> Mapping[str, object]:
    said = orjson.loads(metadata) if metadata else {}
    return said if isinstance(said, dict) else {}


def _texts(value: object, most: int) -> list[str]:
    """The strings of a list; sources other than crawls may use the same name for something else."""
    return [one for one in value if isinstance(one, str)][:most] if isinstance(value, list) else []


def keys_of(urls: pa.Array, kind: int) -> pa.Array:
    """The key of each address; null if it is invalid."""
    return keys_of_kinds(urls, kind)[0]


def keys_of_kinds(urls: pa.Array, *kinds: int) -> list[pa.Array]:
    """The same for each kind; what addresses have in common is found once."""
    digests = digests_of(urls)
    if not len(digests):
        return [pa.array([], KEYS)] * len(kinds)
    return [pc.if_else(digests.is_valid(), of_kind(digests, kind), None) for kind in kinds]


def image_keys(images: pa.StructArray) -> tuple[pa.Array, NDArray[np.int64]]:
    """The key of each address of images of pages, and the number of its image: all of an image together, as the page
    orders them."""
    others = pc.struct_field(images, "candidates")
    urls = pa.concat_arrays([pc.struct_field(images, "src"), others.flatten()])
    own = np.arange(len(images))
    places = np.concatenate([own, np.repeat(own, lengths_of(others))])
    order = np.lexsort((np.arange(len(places)), places))
    return keys_of(urls.take(pa.array(order)), SHOWN), places[order]


def of_kind(keys: pa.Array, kind: int) -> pa.Array:
    """The keys of the same addresses, of another kind; what a null becomes has no meaning."""
    raw = np.frombuffer(keys.buffers()[1], np.uint8)[keys.offset * _BYTES : (keys.offset + len(keys)) * _BYTES]
    raw = raw.reshape(-1, _BYTES).copy()
    raw[:, -1] = raw[:, -1] & ~np.uint8(_KINDS) | kind
    return pa.Array.from_buffers(KEYS, len(raw), [None, pa.py_buffer(raw)])


def digests_of(urls: pa.Array) -> pa.Array:
    """The digest of each canonical address; null if it is invalid."""
    batch = pa.RecordBatch.from_arrays([urls.cast(pa.string())], names=[_URL])
    return canonical(batch, _RULES).column("digest")


def kind_of(key: bytes) -> int:
    """The kind of a key."""
    return key[-1] & _KINDS
