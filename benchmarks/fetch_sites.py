"""How fast addresses of many sites are fetched, beside img2dataset on the same sites in the same run.

    python -m benchmarks.fetch_sites [--quick] [--json]

50,000 small pictures lie on 500 hosts of loopback (each an address of its own in 127.0.0.0/8), which have a robots.txt.
winnow asks a host one thing at a time, and leaves it alone for 20 ms after each answer; the server notes every request
that is earlier or beside another one. img2dataset asks as fast as it can, from two processes of 256 threads, and writes
the bytes as they come, as winnow does: no picture is decoded. Both use all cores; wall time, start-up included.
"""

import argparse
import asyncio
import io
import random
import re
import sys
import tempfile
import time
import urllib.request
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, cast

import orjson
from PIL import Image

from benchmarks.measuring.environments import peer_python
from benchmarks.measuring.reporting import (
    Amounts,
    Limit,
    Measured,
    benchmark_arguments,
    compared,
    measure,
    show,
    timed,
    wall_seconds,
)
from benchmarks.measuring.serving import serve, served

FULL, QUICK, SMALL = 50_000, 10_000, 500
HOSTS: Final = 500
WORKERS: Final = "2"
SECONDS_BETWEEN: Final = 0.02
FLOOR: Final = 0.8  # on quiet cores it is 1.2; the goal is 1.5
RECIPE = """
version: 1
store: {{path: {folder}/store}}
fetch:
  contact: mailto:benchmarks@example.org
  seconds_between: {between}
  ports: [{port}]
  allow_hosts: [{hosts}]
sources: {{pictures: {{addresses: {{file: {file}}}, class: web}}}}
"""
PEER = """
import sys
from img2dataset import download
if __name__ == "__main__":
    download(url_list=sys.argv[1], output_folder=sys.argv[2], input_format="txt", output_format="webdataset",
             processes_count=2, thread_count=256, resize_mode="no", disable_all_reencoding=True,
             encode_format="jpg", number_sample_per_shard=10_000, timeout=30, retries=2)
    print()
"""


def main() -> int:
    """Measure and print."""
    parser = benchmark_arguments(__doc__ or "")
    parser.add_argument("--serve", type=Path, help=argparse.SUPPRESS)  # the file that gets the port
    options = parser.parse_args()
    if options.serve is not None:
        asyncio.run(_serve(options.serve))
        return 0
    count = QUICK if options.quick else FULL
    rounds = 1 if options.quick else 3
    amounts = Amounts(now=count, full=FULL, small=SMALL)
    python = str(peer_python("img2dataset"))
    asked = violations = 0
    with (
        tempfile.TemporaryDirectory(prefix="winnow-sites-") as name,
        served("benchmarks.fetch_sites", Path(name) / "port") as port,
    ):

        def ours(size: int) -> Measured:
            nonlocal asked, violations
            _log(port)
            took = _ours(Path(name), port, size)
            log = _log(port)
            asked += log["asked"]
            violations += log["early"] + log["beside"]
            return took

        mine = timed("winnow fetch", "addresses", amounts, ours, rounds, wall_seconds)
        theirs = timed(
            "img2dataset",
            "addresses",
            amounts,
            lambda size: _peer(python, _addresses(Path(name), port, size), size),
            rounds,
            wall_seconds,
        )
    print(f"{violations:,} of winnow's {asked:,} requests were earlier or more than a host was promised")
    report = compared(
        "fetch_sites",
        "addresses/s",
        mine,
        {"img2dataset": theirs},
        floors={"img2dataset": FLOOR},
        limit=Limit("requests that were not polite", violations, 0, "requests"),
        rows=[mine, theirs],
        quick=options.quick,
    )
    return show(report, options.json)


def _addresses(folder: Path, port: int, count: int) -> Path:
    """A list in an order of chance, so that no peer asks one host for all at once."""
    file = folder / f"{count}.txt"
    if not file.exists():
        names = [f"http://{_host(number % HOSTS)}:{port}/{number}.jpg" for number in range(count)]
        random.Random(7).shuffle(names)
        file.write_text("\n".join(names) + "\n")
    return file


def _host(number: int) -> str:
    return f"127.1.{number // 250}.{number % 250 + 1}"


def _ours(folder: Path, port: int, count: int) -> Measured:
    with tempfile.TemporaryDirectory(dir=folder) as place:
        recipe = Path(place) / "recipe.yaml"
        hosts = ", ".join(map(_host, range(HOSTS)))
        file = _addresses(folder, port, count)
        recipe.write_text(RECIPE.format(folder=place, between=SECONDS_BETWEEN, port=port, hosts=hosts, file=file))
        took = measure([sys.executable, "-m", "winnow", "fetch", str(recipe), "--workers", WORKERS])
        kept = sum(len(one.read_bytes()) for one in Path(place).glob("store/fetched/pictures/warc/*"))
        assert kept > count * 500, f"{kept} bytes are there of {count} addresses"
        return took


def _peer(python: str, addresses: Path, count: int) -> Measured:
    with tempfile.TemporaryDirectory(dir=addresses.parent) as place:
        took = measure([python, "-c", PEER, str(addresses), f"{place}/out"], {"NO_ALBUMENTATIONS_UPDATE": "1"})
        stats = [orjson.loads(one.read_bytes()) for one in Path(place).glob("out/*_stats.json")]
        had = sum(one["successes"] for one in stats)
        assert had > 0.99 * count, f"img2dataset had {had} of {count}: {[one['status_dict'] for one in stats]}"
        return took


def _log(port: int) -> dict[str, int]:
    """What the server noted since it was asked last."""
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/log") as answer:
        return cast(dict[str, int], orjson.loads(answer.read()))


@dataclass
class _Noted:
    """What was asked of the hosts."""

    asked: int = 0
    early: int = 0  # requests sooner after an answer than was promised
    beside: int = 0  # requests while another one was open
    ended: dict[str, float] = field(default_factory=dict)
    open: dict[str, int] = field(default_factory=lambda: defaultdict(int))


class _Site(asyncio.Protocol):
    """One connection to any of the hosts."""

    noted = _Noted()
    picture = b""

    def __init__(self) -> None:
        self._held = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._host = str(self._transport.get_extra_info("sockname")[0])

    def data_received(self, data: bytes) -> None:
        self._held += data
        while (end := self._held.find(b"\r\n\r\n")) >= 0:
            head, self._held = self._held[:end], self._held[end + 4 :]
            path = head.split(b" ", 2)[1].decode()
            if path == "/log":
                noted = _Site.noted
                self._send(orjson.dumps({"asked": noted.asked, "early": noted.early, "beside": noted.beside}), "json")
                _Site.noted = _Noted()
            else:
                self._note()
                asyncio.get_running_loop().call_later(0.005, self._answer, path, head)

    def _note(self) -> None:
        noted = _Site.noted
        noted.asked += 1
        noted.beside += noted.open[self._host] > 0
        noted.early += time.monotonic() - noted.ended.get(self._host, 0.0) < SECONDS_BETWEEN
        noted.open[self._host] += 1

    def _answer(self, path: str, head: bytes) -> None:
        noted = _Site.noted
        noted.open[self._host] -= 1
        noted.ended[self._host] = time.monotonic()
        if path == "/robots.txt":
            self._send(b"User-agent: *\nAllow: /\n", "plain")
        elif number := re.fullmatch(r"/(\d+)\.jpg", path):
            self._send(self.picture + number[1].encode(), "jpeg")  # each has bytes of its own
        else:
            self._send(b"", "plain", "404 Not Found")
        if b"connection: close" in head.lower():
            self._transport.close()

    def _send(self, body: bytes, kind: str, status: str = "200 OK") -> None:
        sort = "image" if kind == "jpeg" else "text"
        head = f"HTTP/1.1 {status}\r\nContent-Type: {sort}/{kind}\r\nContent-Length: {len(body)}\r\n\r\n"
        self._transport.write(head.encode() + body)


async def _serve(told: Path) -> None:
    drawn = io.BytesIO()
    Image.effect_noise((48, 48), 64).convert("RGB").save(drawn, "jpeg", quality=70)
    _Site.picture = drawn.getvalue()
    await serve(_Site, "0.0.0.0", told)


if __name__ == "__main__":
    sys.exit(main())
