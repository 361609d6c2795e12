"""Match addresses with a list's domains, hosts and paths, with at most one look-up per label of a host.

The most specific match wins: a path before its host, a host before its domain, and of several domains or paths the one
with most labels, then with most parts.
"""

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from winnow.filters.language.kernels.hashes import mixed
from winnow.filters.language.kernels.spans import Texts
from winnow.filters.web.url_lists.entries import Kind
from winnow.filters.web.url_lists.hashing import (
    PLACE_SEED,
    PRINT_SEED,
    Bytes,
    Hashes,
    below,
    lowered,
    next_place,
    next_print,
)
from winnow.filters.web.url_lists.index import UrlIndex
from winnow.filters.web.url_lists.scanning import CLASSES, scan
from winnow.filters.web.url_lists.table import EMPTY, Starts, holds
from winnow.schemas.kernels import kernel, leaf

NO_MATCH, NOT_READ = -1, -2

_DOMAIN, _HOST, _PATH = int(Kind.DOMAIN), int(Kind.HOST), int(Kind.PATH)

Found: TypeAlias = npt.NDArray[np.int32]
"""One row per address: the kind of the matching entry, and the starts and ends of its host and its path in the
address."""


@leaf  # type: ignore[untyped-decorator]
def _path_match(
    text: Bytes,
    start: int,
    query: int,
    end: int,
    host_place: np.uint64,
    host_print: np.uint64,
    depth: int,
    starts: Starts,
    prints: Hashes,
) -> int:
    """The end of the longest path listed for this host; -1 if there is none."""
    place, print_ = PLACE_SEED, PRINT_SEED
    found, parts = -1, 0
    for at in range(start, end + 1):
        part = at in (end, query)
        if not part:
            part = (text[at] == 47 and at < query) or (text[at] == 38 and at > query)
        if part and at > start:
            if holds(starts, prints, mixed(below(host_place, place)), mixed(below(host_print, print_))):
                found = at
            parts += 1
            if parts == depth:
                break
        if at < end:
            byte = text[at]
            place, print_ = next_place(place, byte), next_print(print_, byte)
    return found


@kernel  # type: ignore[untyped-decorator]
def _match(
    text: Bytes,
    offsets: npt.NDArray[np.int64],
    canonical: bool,
    classes: Bytes,
    label_counts: np.uint64,
    depth: int,
    domain_starts: Starts,
    domain_prints: Hashes,
    host_starts: Starts,
    host_prints: Hashes,
    path_host_starts: Starts,
    path_host_prints: Hashes,
    path_starts: Starts,
    path_prints: Hashes,
) -> Found:
    rows = len(offsets) - 1
    found = np.empty((rows, 5), np.int32)
    hosts, paths = len(host_prints) > 0, len(path_prints) > 0
    for row in range(rows):
        first, stop = offsets[row], offsets[row + 1]
        plain, address, start, last, path, query, end = scan(text, first, stop, canonical, classes)
        found[row, 0] = NO_MATCH if plain else NOT_READ
        if not plain:
            continue
        kind, host_from, path_to = NO_MATCH, start, path
        place, print_ = PLACE_SEED, PRINT_SEED
        labels = 0
        for at in range(last - 1, start - 2, -1):
            if at < start or (text[at] == 46 and not address):
                labels += 1
                whole = at < start
                listed = label_counts >> np.uint64(min(labels, 63)) & np.uint64(1) and not address
                if listed or paths or (whole and hosts):
                    full_place, full_print = mixed(place), mixed(print_)
                    # Each look-up may override those of shorter names and weaker kinds.
                    if listed and kind != _PATH and holds(domain_starts, domain_prints, full_place, full_print):
                        kind, host_from = _DOMAIN, at + 1
                    if whole and hosts and kind != _PATH and holds(host_starts, host_prints, full_place, full_print):
                        kind, host_from = _HOST, start
                    if (
                        paths
                        and (whole or not address)
                        and holds(path_host_starts, path_host_prints, full_place, full_print)
                    ):
                        to = _path_match(text, path, query, end, place, print_, depth, path_starts, path_prints)
                        if to >= 0:
                            kind, host_from, path_to = _PATH, at + 1, to
            if at >= start:
                byte = lowered(text[at])
                place, print_ = next_place(place, byte), next_print(print_, byte)
        found[row, 0] = kind
        found[row, 1] = host_from - first
        found[row, 2] = last - first
        found[row, 3] = path - first
        found[row, 4] = path_to - first
    return found


def match_places(index: UrlIndex, urls: Texts, canonical: bool, kinds: frozenset[Kind]) -> Found:
    """Match each address with a list's domains, hosts and paths.

    Args:
        index: The list.
        urls: The addresses.
        canonical: Whether they are canonical (`canonical_url`). Otherwise those that are not plain are NOT_READ.
        kinds: The kinds of entries that count.
    """
    tables = index.tables
    host = tables["host"] if Kind.HOST in kinds else EMPTY
    path = tables["path"] if Kind.PATH in kinds else EMPTY
    found: Found = _match(
        urls.buffer,
        urls.offsets,
        canonical,
        CLASSES,
        np.uint64(index.label_counts if Kind.DOMAIN in kinds else 0),
        index.path_depth,
        tables["domain"].starts,
        tables["domain"].prints,
        host.starts,
        host.prints,
        tables["path_host"].starts,
        tables["path_host"].prints,
        path.starts,
        path.prints,
    )
    return found
