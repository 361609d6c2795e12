"""Lists of addresses or domains, matched with a crawl's index: what is in it, and how every other line ends.

The index is sorted by keys that begin with the host, turned around (`is,example)/path`), and its row groups say their
least and greatest key. Row groups without a key of a listed host are not read.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

import duckdb
import pyarrow as pa
import pyarrow.dataset as ds

from winnow.filters.web.urls import canonical_host, canonical_url
from winnow.pipelines.fetch.live.addresses import read_addresses
from winnow.pipelines.fetch.live.exchange import Failed
from winnow.pipelines.fetch.live.places import place_of
from winnow.pipelines.fetch.outcome import Decision, Outcome, Reason
from winnow.schemas.errors import SourceError

SORT_KEY: Final = "url_surtkey"
_ANY_PORT: Final = range(1, 65_536)
_BATCH: Final = 65_536
_WHOLE: Final = ")"  # ends the host in a key
_LISTED: Final = pa.schema([("line", pa.string()), ("name", pa.string()), ("host", pa.string())])


@dataclass
class Listed:
    """The lines of a list that ask for something, in a table `listed` of an engine; and how the others ended."""

    are_domains: bool
    hosts: list[str]  # distinct, of addresses; of domains, those below no other of the list
    ended: list[Outcome] = field(default_factory=list)

    @property
    def keys(self) -> list[str]:
        """What the keys of the index begin with for each host, sorted."""
        end = "" if self.are_domains else _WHOLE
        return sorted({f"{turned(host)}{end}" for host in self.hosts})


def turned(host: str) -> str:
    """A host as the keys of an index write it, without the `www` that these leave out."""
    if ":" in host or host.replace(".", "").isdigit():
        return host
    return ",".join(reversed(host.removeprefix("www.").split(".")))


def read_list(engine: duckdb.DuckDBPyConnection, file: str, *, are_domains: bool) -> Listed:
    """Reads a list into the table `listed`: each address or domain once; SourceError for one without any."""
    engine.execute("CREATE OR REPLACE TABLE listed (line VARCHAR, name VARCHAR, host VARCHAR)")
    found = Listed(are_domains, [])
    seen: set[str] = set()
    hosts: set[str] = set()
    lines = 0
    for batch in read_addresses(file, "domain" if are_domains else "url"):
        lines += len(batch)
        rows = list(_named(batch, seen, found.ended, are_domains))
        hosts |= {host for _, _, host in rows}
        columns = [pa.array(column, pa.string()) for column in zip(*rows, strict=True)] if rows else []
        if columns:
            engine.register("batch", pa.Table.from_arrays(columns, schema=_LISTED))
            engine.execute("INSERT INTO listed SELECT * FROM batch")
            engine.unregister("batch")
    if not seen:
        what = "domain, such as example.org" if are_domains else "address, such as https://example.org/page"
        why = f"none of its {lines:_} lines is one" if lines else "is empty"
        raise SourceError(f"{file}: {why}; expected one {what}, a line")
    found.hosts = sorted(_topmost(hosts)) if are_domains else sorted(hosts)
    return found


def _named(
    batch: Sequence[str], seen: set[str], ended: list[Outcome], are_domains: bool
) -> Iterator[tuple[str, str, str]]:
    """Lines that ask for something new: as written, in their normal form, and their host."""
    for line in batch:
        text = line.strip()
        if are_domains:
            host = _host_of(text)
            place: Failed | tuple[str, str] = (host, host) if host else Failed(Reason.NO_ADDRESS, "no domain")
        else:
            where = place_of(text, _ANY_PORT)
            place = where if isinstance(where, Failed) else (where.url, where.host)
        if isinstance(place, Failed):
            ended.append(Outcome(url=text, decision=Decision.FAILED, reason=place.reason, detail=place.detail))
        elif place[0] in seen:
            same = None if are_domains else place[0]
            ended.append(Outcome(url=text, decision=Decision.SKIPPED, reason=Reason.REPEATED, canonical=same))
        else:
            seen.add(place[0])
            yield text[:2048], place[0], place[1]


def _host_of(text: str) -> str | None:
    """The domain that a line names, as such or in an address."""
    whole = canonical_url(text if "://" in text else f"http://{text}/")
    if whole is None:
        return None
    return canonical_host(whole.split("/")[2].rpartition("@")[2].split(":")[0])


def _topmost(domains: set[str]) -> Iterator[str]:
    """The domains that are below none of the others."""
    for domain in domains:
        labels = domain.split(".")
        if not any(".".join(labels[at:]) in domains for at in range(1, len(labels))):
            yield domain


def row_groups_of(keys: Sequence[str], fragment: ds.ParquetFileFragment) -> list[int]:
    """The row groups of a file that may have a record whose key begins with one of these, which are sorted."""
    groups = fragment.row_groups
    return [group.id for group in groups if _may_have(keys, (group.statistics or {}).get(SORT_KEY))]


def _may_have(keys: Sequence[str], known: "dict[str, str] | None") -> bool:
    if not known or not isinstance(known.get("min"), str) or not isinstance(known.get("max"), str):
        return True
    least, most = known["min"], known["max"]
    at = bisect_left(keys, least)
    if at < len(keys) and keys[at] <= most:
        return True
    # A key that begins with one of these is greater than it: one that is less than the least may still begin it.
    before = bisect_right(keys, least)
    return any(least.startswith(key) for key in keys[max(0, before - 64) : before])


def match_domains(engine: duckdb.DuckDBPyConnection, table: ds.Dataset, host: str) -> None:
    """Make the table `hosts`: each host of the index that is a listed domain or below one, with that domain."""
    engine.register("index_files", table)
    try:
        engine.execute(f"CREATE OR REPLACE TABLE names AS SELECT DISTINCT {host} AS host FROM index_files")
    finally:
        engine.unregister("index_files")
    engine.execute(
        "CREATE OR REPLACE TABLE hosts AS SELECT below.host, max(name) AS name FROM (SELECT host, unnest("
        "list_transform(range(1, len(labels) + 1), lambda n: array_to_string(labels[n:], '.'))) AS domain FROM "
        "(SELECT host, string_split(host, '.') AS labels FROM names)) AS below "
        "JOIN listed ON domain = name GROUP BY below.host"
    )


def add_normal_forms(engine: duckdb.DuckDBPyConnection) -> None:
    """Make the table `normal_forms` of the addresses of `near` that are on the list, however they are written there."""
    engine.execute("CREATE OR REPLACE TABLE normal_forms (url VARCHAR, canonical VARCHAR)")
    engine.execute(
        "CREATE OR REPLACE TABLE urls AS SELECT row_number() OVER () AS n, url FROM (SELECT DISTINCT url FROM near)"
    )
    ((count,),) = engine.execute("SELECT count(*) FROM urls").fetchall()
    for start in range(1, count + 1, _BATCH):
        rows = engine.execute(f"SELECT url FROM urls WHERE n >= {start} AND n < {start + _BATCH}").fetchall()
        urls = [url for (url,) in rows]
        forms = [canonical_url(url) for url in urls]  # of addresses of listed hosts alone
        engine.register("batch", pa.table({"url": urls, "canonical": pa.array(forms, pa.string())}))
        engine.execute("INSERT INTO normal_forms SELECT * FROM batch WHERE canonical IN (SELECT name FROM listed)")
        engine.unregister("batch")


def unmatched(engine: duckdb.DuckDBPyConnection, listed: Listed) -> Iterable[Outcome]:
    """How the lines ended that chose no record: not in the index, or beyond the recipe's sample or limit."""
    if listed.are_domains:
        have, want = "SELECT name FROM hosts", "SELECT NULL WHERE false"
    else:
        have, want = "SELECT canonical FROM matched", "SELECT canonical FROM taken"
    rows = engine.execute(
        f"SELECT line, name, name IN ({have}) AS was_there FROM listed "
        f"WHERE {'NOT was_there' if listed.are_domains else f'name NOT IN ({want})'} ORDER BY name"
    ).fetchall()
    for line, name, was_there in rows:
        canonical = None if listed.are_domains else name
        if was_there:
            yield Outcome(url=line, canonical=canonical, decision=Decision.SKIPPED, reason=Reason.OVER_LIMIT)
        else:
            yield Outcome(url=line, canonical=canonical, decision=Decision.FAILED, reason=Reason.NOT_IN_INDEX)
