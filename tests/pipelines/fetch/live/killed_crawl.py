"""A crawl in a process of its own, which a test kills: FOLDER PORT HOSTS."""

import sys
from pathlib import Path

from winnow.pipelines.fetch.live import record, segments
from winnow.pipelines.fetch.live.crawl import LiveAsk, fetch_addresses, plan_addresses
from winnow.pipelines.store.location import open_location
from winnow.schemas.recipe.fetch import AddressList, FetchConfig


def main(folder: str, port: str, hosts: str) -> None:
    """Crawl the list in a folder; segments are small, so that some are committed."""
    record.SEGMENT_ROWS = 20  # type: ignore[misc]
    segments.MAX_AGE = 0.3  # type: ignore[misc]

    async def look_up(_host: str, _port: int) -> list[tuple[str, int]]:
        return [("127.0.0.1", int(port))]

    config = FetchConfig(
        contact="mailto:you@example.org", seconds_between=0.005, attempts=2, allow_hosts=tuple(hosts.split(","))
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
