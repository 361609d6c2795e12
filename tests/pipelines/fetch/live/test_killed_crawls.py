"""A crawl that is killed at any time loses only what it had not committed, and the next one goes on."""

import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from tests.pipelines.fetch.farm.farm import Answer, Farm, page
from tests.pipelines.fetch.live.crawls import ends, records, visits
from tests.property_sizes import scaled
from winnow.pipelines.store.location import open_location

HOSTS = [f"h{number}.example" for number in range(8)]
ADDRESSES = [f"http://{host}/{number}" for host in HOSTS for number in range(40)]


def start(folder: Path, farm: Farm) -> "subprocess.Popen[str]":
    module = "tests.pipelines.fetch.live.killed_crawl"
    words = [sys.executable, "-m", module, str(folder), str(farm.port), ",".join(HOSTS)]
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
            crawl = start(tmp_path, farm)
            assert crawl.stdout is not None
            crawl.stdout.readline()
            time.sleep(chance.uniform(0.1, 1.5))
            crawl.send_signal(how)
            crawl.wait(60)
            objects = open_location(str(tmp_path / "fetched"))
            committed = {url for url, (decision, _) in ends(objects).items() if decision == "fetched"}
            farm.visits.clear()
        last = start(tmp_path, farm)
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
