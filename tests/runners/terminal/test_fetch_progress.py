"""What a fetch shows while it runs."""

from rich.console import Console

from winnow.pipelines.fetch.progress import Progress
from winnow.runners.terminal.progress.fetching import FetchProgress


def progress(source: str = "news") -> FetchProgress:
    return FetchProgress(Console(quiet=True), source)


def test_it_tells_addresses_bytes_hosts_and_the_most_frequent_reasons() -> None:
    shown = progress()
    assert shown.status().line().split() == ["fetch", "news", "beginning"]
    shown(Progress(50, 200, 3_000_000, 60, 7, {"ok": 40, "robots": 8, "timeout": 2}))
    status = shown.status()
    assert status.share == 0.25
    assert "news  50/200 addresses" in status.line()
    assert "7 hosts  ok 40, robots 8, timeout 2" in status.line()


def test_only_the_last_address_makes_it_whole_and_an_unknown_number_has_no_share() -> None:
    shown = progress()
    shown(Progress(199_999, 200_000, 0, 0, 1, {}))
    assert shown.status().share == 0.99
    shown(Progress(200_000, 200_000, 0, 0, 0, {}))
    assert shown.status().share == 1.0
    shown(Progress(3, None, 0, 0, 2, {}))
    assert shown.status().share is None
    assert "news  3 addresses" in shown.status().line()
