"""A crawl that is killed at any time loses only what it had not committed, and the next one goes on."""

import asyncio
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from tests.pipelines.fetch.farm.farm import Answer, Farm, Visit, page
from tests.pipelines.fetch.live.crawls import ends, records, visits
from tests.property_sizes import scaled
from winnow.pipelines.fetch.live.segments import FEW_ROWS, longest_age
from winnow.pipelines.store.location import open_location

HOSTS = [f"h{number}.example" for number in range(8)]
ADDRESSES = [f"http://{host}/{number}" for host in HOSTS for number in range(40)]


def start(folder: Path, farm: Farm, *size: str) -> "subprocess.Popen[str]":
    module = "tests.pipelines.fetch.live.killed_crawl"
    words = [sys.executable, "-m", module, str(folder), str(farm.port), ",".join(HOSTS), *size]
    return subprocess.Popen(words, stdout=subprocess.PIPE, text=True)


@pytest.mark.processes
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_a_crawl_that_is_ended_again_and_again_fetches_everything(tmp_path: Path, how: signal.Signals) -> None:
    chance = random.Random(f"{how}")
    (tmp_path / "list.txt").write_text("\n".join([*ADDRESSES, "nonsense"]))
    with Farm() as farm:
        for host in HOSTS:
            answers: dict[str, Answer] = {f"/{number}": page(f"{host} {number} " * 50) for number in range(40)}
            farm.site(host, answers)
        for _ in range(scaled(12)):
            crawl = start(tmp_path, farm, "small")
            assert crawl.stdout is not None
            crawl.stdout.readline()
            time.sleep(chance.uniform(0.1, 1.5))
            crawl.send_signal(how)
            crawl.wait(60)
            objects = open_location(str(tmp_path / "fetched"))
            committed = {url for url, (decision, _) in ends(objects).items() if decision == "fetched"}
            farm.visits.clear()
        last = start(tmp_path, farm, "small")
        assert last.wait(120) == 0
        assert last.stdout is not None
        last.stdout.close()
        again = Counter(f"http://{visit.host}{visit.target}" for visit in visits(farm))
        assert committed & set(again) == set()  # what was committed is not asked again
        assert max(again.values(), default=0) <= 1
        found = ends(objects)
        assert found == {**dict.fromkeys(ADDRESSES, ("fetched", "ok")), "nonsense": ("failed", "no_address")}
        kept = Counter({url: count for (kind, url), count in records(objects).items() if kind == "response"})
        assert kept == Counter(ADDRESSES)  # a record each: those without rows are gone


def came(farm: Farm) -> set[str]:
    """The addresses that were answered."""
    return {f"http://{visit.host}{visit.target}" for visit in visits(farm) if visit.ended is not None}


@pytest.mark.processes
def test_what_came_is_committed_though_nothing_more_comes_and_a_kill_loses_none_of_it(tmp_path: Path) -> None:
    (tmp_path / "list.txt").write_text("\n".join(ADDRESSES))
    is_held = True

    async def held(visit: Visit, writer: asyncio.StreamWriter) -> None:
        while is_held and not writer.is_closing():
            await asyncio.sleep(0.05)
        await page("late")(visit, writer)

    objects = open_location(str(tmp_path / "fetched"))
    with Farm() as farm:
        for host in HOSTS:
            farm.site(host, {**{f"/{number}": page(f"{host} {number}") for number in range(39)}, "/39": held})
        crawl = start(tmp_path, farm)
        end = time.monotonic() + 300  # a guard against a test that never ends
        there: set[str] = set()
        while {visit.host for visit in visits(farm) if visit.target == "/39"} != set(HOSTS) or there != came(farm):
            there = set(ends(objects))
            assert time.monotonic() < end
            assert crawl.poll() is None
            time.sleep(0.1)
        crawl.kill()
        crawl.wait(60)
        farm.visits.clear()
        is_held = False
        last = start(tmp_path, farm)
        assert last.wait(120) == 0
        again = [f"http://{visit.host}{visit.target}" for visit in visits(farm)]
    assert not set(again) & there
    assert sorted([*again, *there]) == sorted(ADDRESSES)
    assert set(ends(objects).values()) <= {("fetched", "ok"), ("revisited", "same_bytes")}


def test_a_slow_crawl_makes_few_segments_and_a_fast_one_loses_half_a_minute() -> None:
    def segments(rows_a_second: float, seconds: int) -> list[tuple[int, int]]:
        """The seconds and the rows of each segment."""
        made: list[tuple[int, int]] = []
        age = 0
        for _ in range(seconds):
            age += 1
            if age >= longest_age(len(made), int(age * rows_a_second)):
                made.append((age, int(age * rows_a_second)))
                age = 0
        return made

    assert [age for age, _ in segments(100, 120)][:5] == [2, 4, 8, 16, 30]
    slow = segments(1, 86_400)
    assert max(rows for _, rows in slow) <= FEW_ROWS
    assert len(slow) < 1_400
    assert len(segments(0.1, 86_400)) < 300
