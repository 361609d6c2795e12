"""Crawls of sites on loopback: a list, what became of its addresses, and what the sites saw."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from fastwarc.warc import ArchiveIterator, WarcRecordType

from tests.pipelines.fetch.farm.farm import Answer, Farm, Visit, page
from winnow.pipelines.fetch.live.crawl import LiveAsk, fetch_addresses, plan_addresses
from winnow.pipelines.fetch.log import read_log
from winnow.pipelines.fetch.progress import Progress, Tally
from winnow.pipelines.store.facade import ObjectStore
from winnow.pipelines.store.location import open_location
from winnow.schemas.recipe.fetch import AddressList

FILES = {"/robots.txt", "/.well-known/tdmrep.json", "/ai.txt"}


def site(robots: str | Answer | None = None, **pages: Answer) -> dict[str, Answer]:
    """A site with pages by name, `a` at /a, and a robots.txt."""
    found: dict[str, Answer] = {f"/{name}": answer for name, answer in pages.items()}
    if robots is not None:
        found["/robots.txt"] = page(robots, mime="text/plain") if isinstance(robots, str) else robots
    return found


def asking(
    farm: Farm, folder: Path, lines: Sequence[str], limits: Mapping[str, Any] | None = None, **more: Any
) -> LiveAsk:
    """A crawl of these lines under these limits."""
    (folder / "list.txt").write_text("\n".join(lines), "utf-8")
    return LiveAsk(
        addresses=AddressList(file=str(folder / "list.txt"), sitemaps=more.pop("sitemaps", None)),
        objects=open_location(str(folder / "fetched")),
        config=farm.config(**{"attempts": 2, **(limits or {})}),
        look_up=farm.look_up,
        tls=farm.tls(),
        **more,
    )


def crawl(asked: LiveAsk, told: list[Progress] | None = None) -> Tally:
    """Plan and fetch."""
    return fetch_addresses(plan_addresses(asked), asked, (told if told is not None else []).append)


def ends(objects: ObjectStore) -> dict[str, tuple[str, str]]:
    """The decision and the reason of each address and line."""
    rows = read_log(objects, ("url", "decision", "reason")).to_pylist()
    assert len({row["url"] for row in rows}) == len(rows)
    return {row["url"]: (row["decision"], row["reason"]) for row in rows}


def records(objects: ObjectStore, folder: str = "warc/") -> Counter[tuple[str, str]]:
    """The records: their types and the addresses of their targets."""
    found: Counter[tuple[str, str]] = Counter()
    for one in objects.list(folder):
        if one.path.endswith(".warc.gz"):
            with objects.open(one.path) as stream:
                for record in ArchiveIterator(stream, record_types=WarcRecordType.any_type, parse_http=False):
                    target = record.headers.get("WARC-Target-URI")
                    if target is not None:
                        found[record.headers["WARC-Type"], target] += 1
    return found


def visits(farm: Farm, *hosts: str) -> list[Visit]:
    """What these sites were asked for, but their files, in order of time."""
    return [visit for visit in farm.visits if visit.target not in FILES and (not hosts or visit.host in hosts)]


def by_host(farm: Farm) -> dict[str, list[Visit]]:
    """All visits of each host."""
    found = defaultdict(list)
    for visit in farm.visits:
        found[visit.host].append(visit)
    return found


__all__ = ["FILES", "Farm", "asking", "by_host", "crawl", "ends", "page", "records", "replace", "site", "visits"]
