"""Read a list's plain domains and addresses, millions per second; other lines are left to `entries_of`.

Plain lines mean the same there: hosts and addresses as in `scanning`, with `https://`, as `||domain^` or after the
`0.0.0.0` of a hosts file, that cannot be public suffixes.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from winnow.filters.language.kernels.hashes import mixed
from winnow.filters.web.url_lists.hashing import (
    PLACE_SEED,
    PRINT_SEED,
    Bytes,
    Hashes,
    below,
    hash_backwards,
    lowered,
    next_place,
    next_print,
)
from winnow.filters.web.url_lists.scanning import NOT_PLAIN, after_scheme, host_end, path_end
from winnow.filters.web.url_lists.table import Starts, Table, holds, made_table
from winnow.filters.web.urls import public_suffix_rules
from winnow.schemas.kernels import kernel, leaf

PLAIN_BYTES = 60_000  # longer lines are read one by one

COMMENT, ODD = 0, -1
DOMAIN, PATH = 1, 2


@dataclass(frozen=True, slots=True)
class Suffixes:
    """Possible public suffixes, for kernels, which leave such names to `entries_of`."""

    names: frozenset[str] | None  # None: all of the Public Suffix List, and single labels
    odd: Table  # suffixes
    parents: Table  # every host one label below these is a suffix


@lru_cache(maxsize=4)
def suffixes_of(names: frozenset[str] | None = None) -> Suffixes:
    """The suffixes of the Public Suffix List, or only these."""
    rules = public_suffix_rules() if names is None else sorted(names)
    plain = {rule.lstrip("!").removeprefix("*.") for rule in rules} | {"localhost.localdomain"}
    parents = {rule[2:] for rule in rules if rule.startswith("*.")}
    return Suffixes(names, _names_table(plain), _names_table(parents))


def _names_table(names: Iterable[str]) -> Table:
    encoded = [name.encode() for name in sorted(names)]
    offsets = np.cumsum([0, *map(len, encoded)], dtype=np.int64)
    places, prints, _ = hash_names(np.frombuffer(b"".join(encoded), np.uint8), offsets, offsets[1:])
    return made_table(places, prints)


@leaf  # type: ignore[untyped-decorator]
def _is_space(byte: int) -> bool:
    return byte == 32 or byte == 9 or byte == 13 or byte == 11 or byte == 12


@leaf  # type: ignore[untyped-decorator]
def _after_hosts_address(text: Bytes, at: int, end: int) -> int:
    """The position after the `0.0.0.0 ` or `127.0.0.1 ` of a hosts file's line; `at` if there is none."""
    null = end - at > 8 and text[at] == 48
    for place in range(7):
        null = null and text[at + place] == (46 if place % 2 else 48)
    behind = at + 7 if null else at
    if not null and end - at > 10 and text[at] == 49 and text[at + 1] == 50 and text[at + 2] == 55:
        local = text[at + 3] == 46 and text[at + 4] == 48 and text[at + 5] == 46 and text[at + 6] == 48
        if local and text[at + 7] == 46 and text[at + 8] == 49:
            behind = at + 9
    if behind == at or not _is_space(text[behind]):
        return at
    while behind < end and _is_space(text[behind]):
        behind += 1
    return behind


@leaf  # type: ignore[untyped-decorator]
def _line(
    text: Bytes,
    start: int,
    end: int,
    classes: Bytes,
    single_is_odd: bool,
    odd_starts: Starts,
    odd_prints: Hashes,
    parent_starts: Starts,
    parent_prints: Hashes,
) -> tuple[int, int, int, np.uint64, np.uint64, int]:
    """Classify a line: COMMENT, ODD, or DOMAIN or PATH with the ends of host and path, the host's hashes and dots."""
    while start < end and _is_space(text[start]):
        start += 1
    while end > start and _is_space(text[end - 1]):
        end -= 1
    if start == end or text[start] == 35 or text[start] == 33:
        return COMMENT, 0, 0, PLACE_SEED, PRINT_SEED, 0
    odd = (ODD, 0, 0, PLACE_SEED, PRINT_SEED, 0)
    if end - start > PLAIN_BYTES:
        return odd
    at, host_only = _after_hosts_address(text, start, end), False
    if at > start:
        host_only = True
    elif end - start > 3 and text[start] == 124 and text[start + 1] == 124 and text[end - 1] == 94:
        at, end, host_only = start + 2, end - 1, True
    else:
        behind = after_scheme(text, start, end)
        at = start if behind == NOT_PLAIN else behind
    last, _address = host_end(text, at, end, False, classes)
    if last == NOT_PLAIN:
        return odd
    # A possible public suffix is in the list, directly below one with a star, or a single label.
    dots = 0
    place, print_ = PLACE_SEED, PRINT_SEED
    parent_place, parent_print = place, print_
    for byte_at in range(last - 1, at - 1, -1):
        byte = lowered(text[byte_at])
        if byte == 46:
            dots += 1
            parent_place, parent_print = place, print_
        place, print_ = next_place(place, byte), next_print(print_, byte)
    if dots == 0 and single_is_odd:
        return odd
    if holds(odd_starts, odd_prints, mixed(place), mixed(print_)):
        return odd
    if dots and holds(parent_starts, parent_prints, mixed(parent_place), mixed(parent_print)):
        return odd
    if last == end:
        return DOMAIN, last, last, place, print_, dots
    if host_only or text[last] != 47:
        return odd
    stop = path_end(text, last, end, False, classes)
    if stop != end:
        return odd
    for path_at in range(last, end):
        if text[path_at] == 42 or text[path_at] == 94:  # * and ^ mean something
            return odd
    while stop > last and text[stop - 1] == 47:
        stop -= 1
    return (DOMAIN if stop == last else PATH), last, stop, place, print_, dots


@leaf  # type: ignore[untyped-decorator]
def _path_hashes(text: Bytes, start: int, end: int) -> tuple[np.uint64, np.uint64, int]:
    """The hashes of a path and its query, first byte first, and its number of parts."""
    place, print_ = PLACE_SEED, PRINT_SEED
    ends, query = 0, False
    for at in range(start, end):
        byte = text[at]
        if byte == 63 and not query:
            query = True
            ends += 1
        elif (byte == 47 and not query) or (byte == 38 and query):
            ends += 1
        place, print_ = next_place(place, byte), next_print(print_, byte)
    return place, print_, ends


@kernel  # type: ignore[untyped-decorator]
def read_lines(
    text: Bytes,
    ends: npt.NDArray[np.int64],
    classes: Bytes,
    single_is_odd: bool,
    odd_starts: Starts,
    odd_prints: Hashes,
    parent_starts: Starts,
    parent_prints: Hashes,
) -> tuple[npt.NDArray[np.int8], Hashes, Hashes, Hashes, Hashes, npt.NDArray[np.int64], int]:
    """The class of each line; the hashes of entries and their hosts; label counts as bits; path depths."""
    count = len(ends)
    kinds = np.zeros(count, np.int8)
    places, prints = np.zeros(count, np.uint64), np.zeros(count, np.uint64)
    host_places, host_prints = np.zeros(count, np.uint64), np.zeros(count, np.uint64)
    dots = np.zeros(count, np.int64)
    depth = 0
    start = 0
    for line in range(count):
        kind, last, stop, place, print_, dots[line] = _line(
            text,
            start,
            ends[line],
            classes,
            single_is_odd,
            odd_starts,
            odd_prints,
            parent_starts,
            parent_prints,
        )
        start = ends[line] + 1
        kinds[line] = kind
        if kind > 0:
            host_places[line], host_prints[line] = mixed(place), mixed(print_)
            places[line], prints[line] = host_places[line], host_prints[line]
        if kind == PATH:
            path_place, path_print, path_ends = _path_hashes(text, last, stop)
            places[line], prints[line] = mixed(below(place, path_place)), mixed(below(print_, path_print))
            depth = max(depth, path_ends)
    return kinds, places, prints, host_places, host_prints, dots, depth


@kernel  # type: ignore[untyped-decorator]
def hash_names(text: Bytes, offsets: npt.NDArray[np.int64], hosts: npt.NDArray[np.int64]) -> tuple[Hashes, Hashes, int]:
    """The finished hashes of names, and of paths on the hosts that end at these positions; the most parts of a path."""
    places, prints = np.empty(len(hosts), np.uint64), np.empty(len(hosts), np.uint64)
    depth = 0
    for at in range(len(hosts)):
        place, print_ = hash_backwards(text, offsets[at], hosts[at])
        if hosts[at] < offsets[at + 1]:
            path_place, path_print, ends = _path_hashes(text, hosts[at], offsets[at + 1])
            place, print_ = below(place, path_place), below(print_, path_print)
            depth = max(depth, ends)
        places[at], prints[at] = mixed(place), mixed(print_)
    return places, prints, depth
