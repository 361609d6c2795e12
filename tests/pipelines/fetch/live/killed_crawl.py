"""A crawl in a process of its own, which a test kills: FOLDER PORT HOSTS [small]."""

import sys
from pathlib import Path

from winnow.pipelines.fetch.live import record, segments
from winnow.pipelines.fetch.live.crawl import LiveAsk, fetch_addresses, plan_addresses
from winnow.pipelines.store.location import open_location
from winnow.schemas.recipe.fetch import AddressList, FetchConfig


def main(folder: str, port: str, hosts: str, size: str = "") -> None:
    """Crawl the list in a folder; segments may be small, so that many are committed."""
    if size == "small":
        record.SEGMENT_ROWS = 20  # type: ignore[misc]
        segments.FIRST_AGE = segments.MAX_AGE = segments.MAX_AGE_OF_FEW = 0.3  # type: ignore[misc]

    async def look_up(_host: str, _port: int) -> list[tuple[str, int]]:
        return [("127.0.0.1", int(port))]

    config = FetchConfig(
        contact="mailto:you@example.org",
        seconds_between=0.005,
        attempts=2,
        first_byte_seconds=600.0,
        total_seconds=600.0,
        allow_hosts=tuple(hosts.split(",")),
    )
    asked = LiveAsk(
        addresses=AddressList(file=str(Path(folder) / "list.txt")),
        objects=open_location(str(Path(folder) / "fetched")),
        config=config,
        look_up=look_up,
    )
    fetch_addresses(plan_addresses(asked), asked, lambda _: print("going on", flush=True))


if __name__ == "__main__":
    main(*sys.argv[1:])
