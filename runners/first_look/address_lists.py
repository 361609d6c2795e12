"""A list of addresses in place of files: what it holds, and the source of a recipe that fetches it."""

import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from winnow.filters.web.urls import canonical_url
from winnow.pipelines.fetch.live.addresses import read_addresses
from winnow.pipelines.ingest.formats import find_format, format_by_name
from winnow.pipelines.store.facade import ObjectInfo
from winnow.runners.first_look.found_files import Group, slug
from winnow.runners.first_look.proposal import ProposedSource
from winnow.runners.tables.table import Share, Table, heads
from winnow.runners.tables.units import COUNT, NAME, SHARE
from winnow.schemas.errors import SourceError

MOST_BATCHES: Final = 12  # of lines that are looked at: some 200,000
SHOWN_HOSTS: Final = 10
_LEAST_SHARE: Final = 0.9  # of the first lines that are addresses, in what is taken for a list of them
_FIRST_LINES: Final = 100


@dataclass(frozen=True, slots=True)
class AddressFile:
    """A text file with an address on each line."""

    file: str
    lines: int  # looked at
    is_whole: bool  # whether these are all
    repeated: int
    no_addresses: int
    hosts: tuple[tuple[str, int], ...]  # with their addresses, most first

    @property
    def source(self) -> ProposedSource:
        """The source of a recipe that fetches these addresses."""
        path = Path(self.file)
        name = slug(path.name.partition(".")[0])
        size = path.stat().st_size
        group = Group(name, str(path.parent), (), find_format("warc"), (ObjectInfo(path.name, size, ""),))
        return ProposedSource(group, "auto", addresses=self.file)

    def hosts_shown(self) -> Table:
        """The hosts with the most addresses."""
        whole = sum(count for _, count in self.hosts)
        rows = [(host, count, Share(count, whole)) for host, count in self.hosts[:SHOWN_HOSTS]]
        if rest := self.hosts[SHOWN_HOSTS:]:
            count = sum(one for _, one in rest)
            rows.append((f"{len(rest):,} more", count, Share(count, whole)))
        return Table("Hosts", heads(("host", NAME), ("addresses", COUNT), ("share", SHARE)), rows)

    def told(self) -> str:
        """How many addresses there are."""
        first = "" if self.is_whole else "first "
        parts = [f"{self.file}: {first}{self.lines:,} lines of {len(self.hosts):,} hosts"]
        parts += [f"{self.repeated:,} repeated"] * bool(self.repeated)
        parts += [f"{self.no_addresses:,} not an address"] * bool(self.no_addresses)
        return ", ".join(parts)


def address_file(places: Sequence[str]) -> AddressFile | None:
    """The list of addresses that these places are; None if they are anything else."""
    if len(places) != 1 or not os.path.isfile(places[0]):
        return None
    known_format = format_by_name(places[0])
    if known_format is not None and known_format.name != "text":
        return None
    try:
        batches = list(islice(read_addresses(places[0], "url"), MOST_BATCHES + 1))
    except SourceError:
        return None
    lines = [line for batch in batches[:MOST_BATCHES] for line in batch]
    first = [canonical_url(line.strip()) for line in lines[:_FIRST_LINES]]
    if not first or sum(one is not None for one in first) < _LEAST_SHARE * len(first):
        return None
    every = [canonical_url(line.strip()) for line in lines]
    known = Counter(one for one in every if one is not None)
    hosts = Counter(urlsplit(one).hostname or "" for one in known)
    return AddressFile(
        file=places[0],
        lines=len(lines),
        is_whole=len(batches) <= MOST_BATCHES,
        repeated=known.total() - len(known),
        no_addresses=len(every) - known.total(),
        hosts=tuple(sorted(hosts.items(), key=lambda one: (-one[1], one[0]))),
    )
