"""Whatever bytes a server sends, a request ends in time with an answer or a reason, and leaves nothing open."""

import asyncio
import gc
import os
import random
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.pipelines.fetch.farm import hostile
from tests.pipelines.fetch.farm.farm import Farm, Visit, page
from tests.pipelines.fetch.farm.hostile import OK, bomb, redirect, sends
from tests.pipelines.fetch.live.asking import place, with_client
from winnow.pipelines.fetch.live.client import Client
from winnow.pipelines.fetch.live.exchange import Failed, Response, outcome_of_status
from winnow.pipelines.fetch.live.names import Names
from winnow.pipelines.fetch.outcome import Decision, Reason

MOST = 64 << 10
SEEDS = (
    OK + b"Content-Length: 5\r\nETag: x\r\n\r\nhello",
    OK + b"Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n1;a=b\r\nx\r\n0\r\nT: x\r\n\r\n",
    OK
    + b"Content-Encoding: gzip\r\nContent-Length: 25\r\n\r\n"
    + bytes.fromhex("1f8b08000000000000ffcb48cdc9c90700 86a6103605000000".replace(" ", "")),
    b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.0 302 Found\r\nLocation: /a\r\n folded\r\nConnection: keep-alive\r\n\r\n",
    b"HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n",
)
TOKENS = (
    *(b"\r\n", b"\n", b"\r", b"\0", b" ", b"\t", b":", b";", b",", b"0", b"-1", b"ffffffffffffffff", b"9" * 30),
    *(b"HTTP/1.1 ", b"HTTP/1.0 200 OK\r\n\r\n", b"Content-Length: ", b"Transfer-Encoding: chunked\r\n", b"\xff\xfe"),
    *(b"Connection: close\r\n", b"Content-Encoding: br\r\n", b"\r\n\r\n", b"0\r\n\r\n", b"x" * 5000),
)


def mutated(dice: random.Random) -> bytes:
    """A right answer with a few things wrong."""
    raw = bytearray(dice.choice(SEEDS))
    for _ in range(dice.randint(1, 6)):
        at = dice.randint(0, len(raw))
        match dice.randint(0, 3):
            case 0:
                raw[at:at] = dice.choice(TOKENS)
            case 1:
                del raw[at : at + dice.randint(1, 12)]
            case 2 if at < len(raw):
                raw[at] = dice.randrange(256)
            case _:
                raw[at : at + dice.randint(0, 8)] = dice.choice(TOKENS)
    return bytes(raw)


@pytest.fixture
def farm() -> Iterator[Farm]:
    with Farm() as farm:
        yield farm


def test_broken_answers_end_with_an_answer_or_a_reason(farm: Farm) -> None:
    dice = random.Random(7)
    answers = [mutated(dice) for _ in range(1500)]

    async def answer(visit: Visit, writer: asyncio.StreamWriter) -> None:
        writer.write(answers[int(visit.target[1:])])
        await writer.drain()
        writer.close()

    farm.site("a.example", answer)

    async def all_of_them(client: Client) -> list[Response | Failed]:
        turns = asyncio.Semaphore(20)

        async def one(number: int) -> Response | Failed:
            async with turns:
                return await client.ask(place(f"http://a.example/{number}"), max_bytes=MOST)

        return await asyncio.gather(*map(one, range(len(answers))))

    found = with_client(farm, farm.config(), all_of_them)
    good = [one for one in found if isinstance(one, Response)]
    assert 200 < len(good) < 1300  # both ways are taken
    for one in good:
        assert one.body.size <= 2 * MOST
        assert one.header.startswith(b"HTTP/1.")
        assert 200 <= one.status < 1000
        assert len(one.decoded(100)) <= 100
        one.redirect(), one.retry_after(), outcome_of_status(one.status)
        one.close()
    for failed in found:
        if isinstance(failed, Failed):
            assert failed.reason in (Reason.PROTOCOL, Reason.CUT_OFF, Reason.LARGE_HEADER, Reason.TOO_LARGE)
            assert failed.detail.isprintable()


def test_nothing_stays_open(farm: Farm) -> None:
    """Connections and files are closed after every kind of end, also of requests that are given up."""
    for number, answer in enumerate(
        (
            *(hostile.silent, hostile.slow_header(), hostile.endless_body(), hostile.endless_header(), bomb("gzip")),
            *(sends(OK + b"Content-Length: 9\r\n\r\nx"), sends(resets=True), redirect("/"), page(b"x" * 600_000)),
        )
    ):
        farm.site(f"{number}.example", answer)
    farm.site("tls.example", page("x"), certificate="expired")
    config = farm.config(max_bytes=1 << 20)

    async def every(client: Client, rounds: int) -> None:
        urls = [f"http://{number}.example/" for number in range(9)] + ["https://tls.example/", "http://no.example/"]
        for _ in range(rounds):
            asking = [asyncio.create_task(client.ask(place(url))) for url in urls]
            given_up = [asyncio.create_task(client.ask(place(url))) for url in urls]
            await asyncio.sleep(0.1)
            for task in given_up:
                task.cancel()
            for found in await asyncio.gather(*asking, *given_up, return_exceptions=True):
                if isinstance(found, Response):
                    found.close()
                assert isinstance(found, Response | Failed | asyncio.CancelledError)

    async def run(rounds: int) -> int:
        with tempfile.TemporaryDirectory() as folder:
            async with Client(config, Names(farm.look_up, config.allow_hosts), Path(folder), tls=farm.tls()) as client:
                await every(client, rounds)
        return len(os.listdir("/proc/self/fd")) - farm.open_connections

    with warnings.catch_warnings():
        warnings.simplefilter("error", ResourceWarning)
        few = asyncio.run(run(1))
        many = asyncio.run(run(6))
        gc.collect()
    assert many < few + 5  # one kind of leak would be five; the farm closes its side a moment later


def test_each_status_has_a_meaning() -> None:
    assert outcome_of_status(200) == (Decision.FETCHED, Reason.OK)
    assert outcome_of_status(206) == (Decision.FAILED, Reason.PROTOCOL)
    assert outcome_of_status(300) == (Decision.FAILED, Reason.REDIRECTS)
    assert outcome_of_status(304) == (Decision.REVISITED, Reason.UNCHANGED)
    assert outcome_of_status(403) == (Decision.FAILED, Reason.CLIENT_ERROR)
    assert outcome_of_status(404) == outcome_of_status(410) == (Decision.FAILED, Reason.NOT_FOUND)
    assert outcome_of_status(429) == outcome_of_status(503) == (Decision.FAILED, Reason.BUSY)
    assert outcome_of_status(500) == outcome_of_status(999) == (Decision.FAILED, Reason.SERVER_ERROR)
