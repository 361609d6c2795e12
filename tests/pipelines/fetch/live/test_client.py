"""One request against servers of every kind: what is kept, what is refused, and that nothing waits or grows."""

import asyncio
import hashlib
import subprocess
import sys
import tracemalloc
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.pipelines.fetch.farm import hostile
from tests.pipelines.fetch.farm.certificates import Kind
from tests.pipelines.fetch.farm.farm import Answer, Farm, page
from tests.pipelines.fetch.farm.hostile import OK, bomb, packed, redirect, sends
from tests.pipelines.fetch.live.asking import answered, ask, failure, follow, place, with_client
from winnow.pipelines.fetch.live.client import Client, user_agent
from winnow.pipelines.fetch.live.exchange import Conditions, Failed, Hop, Response
from winnow.pipelines.fetch.live.names import Names
from winnow.pipelines.fetch.live.places import Place
from winnow.pipelines.fetch.outcome import Reason
from winnow.schemas.errors import RecipeError
from winnow.schemas.recipe.fetch import FetchConfig

CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"


@pytest.fixture
def farm() -> Iterator[Farm]:
    with Farm() as farm:
        yield farm


def test_what_was_sent_and_what_came_are_kept_as_they_were(farm: Farm) -> None:
    header = (
        b"HTTP/1.1 200  Fine \r\ncontent-TYPE:text/plain\r\nX-A: 1\r\nX-A:  2\r\nno field\r\nContent-Length: 5\r\n\r\n"
    )
    farm.site("a.example", {"/b?c=%20d": sends(header + b"hello")})
    found = answered(farm, "http://a.example/b?c=%20d")
    assert found.header == header
    assert found.body.read() == b"hello"
    assert found.body.sha256 == hashlib.sha256(b"hello").digest()
    assert found.request == farm.visits[0].raw
    assert found.request.startswith(b"GET /b?c=%20d HTTP/1.1\r\nHost: a.example\r\nUser-Agent: winnow/")
    assert (found.status, found.address, found.text("X-a")) == (200, "127.0.0.1", "1, 2")


def test_the_user_agent_says_who_asks(farm: Farm) -> None:
    farm.site("a.example", {"/": page()})
    answered(farm, "http://a.example/", farm.config(agent="example-bot", contact="https://example.org/bot"))
    assert farm.visits[0].headers["user-agent"].startswith("example-bot/")
    assert farm.visits[0].headers["user-agent"].endswith(" (+https://example.org/bot)")


def test_nobody_asks_without_a_contact() -> None:
    with pytest.raises(RecipeError, match=r"fetch\.contact is missing: .*; add 'fetch: \{contact: mailto:"):
        user_agent(FetchConfig())


@pytest.mark.parametrize(
    "answer",
    [
        sends(CHUNKED, b"3\r\nhel\r\n", b"2;x=y\r\nlo\r\n0\r\nTrailer: 1\r\n\r\n", closes=False),
        sends(OK + b"Content-Length: 5\r\n\r\nhello", closes=False),
        sends(OK + b"Content-Length: 5\r\nContent-Length: 5\r\n\r\nhello", closes=False),
        sends(OK + b"\r\nhello"),
        sends(b"HTTP/1.0 200 OK\r\n\r\nhello"),
        sends(b"HTTP/1.1 200 OK\nContent-Length: 5\n\nhello"),
        sends(b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 200\r\nContent-Length: 5\r\n\r\nhello"),
        sends(OK + b"Transfer-Encoding: identity\r\nContent-Length: 5\r\n\r\nhello"),
        sends(OK + b"Content-Length: 5\r\n\r\nhello and more than promised"),
        sends(*(bytes([byte]) for byte in OK + b"Content-Length: 5\r\n\r\nhello"), closes=False),
    ],
)
def test_a_body_ends_where_the_protocol_says(farm: Farm, answer: Answer) -> None:
    farm.site("a.example", answer)
    assert answered(farm, "http://a.example/").body.read() == b"hello"


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (hostile.silent, Reason.TIMEOUT),
        (hostile.slow_header(), Reason.TOO_SLOW),
        (hostile.slow_body(), Reason.TOO_SLOW),
        (sends(OK, b"\r\n", pause=3600), Reason.TOO_SLOW),
        (hostile.endless_body(), Reason.TOO_LARGE),
        (hostile.endless_chunks(), Reason.TOO_LARGE),
        (sends(OK + b"Content-Length: 99999999999\r\n\r\n"), Reason.TOO_LARGE),
        (hostile.endless_header(), Reason.LARGE_HEADER),
        (hostile.endless_fields(), Reason.LARGE_HEADER),
        (hostile.endless_interim(), Reason.PROTOCOL),
        (hostile.endless_trailers(), Reason.PROTOCOL),
        (hostile.tiny_chunks(), Reason.PROTOCOL),
        (hostile.long_extensions(), Reason.PROTOCOL),
        (sends(OK + b"Content-Length: 9\r\n\r\nshort"), Reason.CUT_OFF),
        (sends(CHUNKED + b"9\r\nshort"), Reason.CUT_OFF),
        (sends(CHUNKED + b"5\r\nshort\r\n"), Reason.CUT_OFF),
        (sends(OK), Reason.CUT_OFF),
        (sends(), Reason.CUT_OFF),
        (sends(resets=True), Reason.CUT_OFF),
        (sends(OK + b"Content-Length: 9\r\n\r\nshort", resets=True), Reason.CUT_OFF),
        (sends(OK + b"Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello"), Reason.PROTOCOL),
        (sends(OK + b"Content-Length: -5\r\n\r\nhello"), Reason.PROTOCOL),
        (sends(OK + b"Content-Length: five\r\n\r\nhello"), Reason.PROTOCOL),
        (sends(OK + b"Content-Length: 99999999999999999999999\r\n\r\nhello"), Reason.PROTOCOL),
        (sends(OK + b"Transfer-Encoding: gzip, chunked\r\n\r\n"), Reason.PROTOCOL),
        (sends(CHUNKED + b"no number\r\nhello"), Reason.PROTOCOL),
        (sends(CHUNKED + b"fffffffffffffffffffffff\r\nhello"), Reason.PROTOCOL),
        (sends(CHUNKED + b"-5\r\nhello\r\n"), Reason.PROTOCOL),
        (sends(CHUNKED + b"5\r\nhellohello\r\n"), Reason.PROTOCOL),
        (sends(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\n\r\n"), Reason.PROTOCOL),
        (sends(b"HTTP/1.1 099 Odd\r\n\r\n"), Reason.PROTOCOL),
        (sends(b"HTTP/1.1 OK\r\n\r\n"), Reason.PROTOCOL),
        (sends(b"SSH-2.0-OpenSSH_9.9\r\n"), Reason.PROTOCOL),
        (sends(b"<html>the oldest protocol</html>"), Reason.PROTOCOL),
        (sends(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), Reason.PROTOCOL),
        (sends(b"HTTP/2 200\r\n\r\n"), Reason.PROTOCOL),
        (sends(OK + b"Content-Encoding: gzip,gzip,gzip,gzip,gzip,gzip,gzip,gzip,gzip\r\n\r\nx"), Reason.PROTOCOL),
        (bomb("gzip"), Reason.BOMB),
        (bomb("br"), Reason.BOMB),
        (bomb("zstd"), Reason.BOMB),
        (bomb("gzip, gzip", "gzip", "gzip"), Reason.BOMB),
        (bomb("br, gzip", "br", "gzip"), Reason.BOMB),
    ],
)
def test_a_server_that_breaks_a_rule_or_a_limit_ends_with_its_reason(
    farm: Farm, answer: Answer, reason: Reason
) -> None:
    farm.site("a.example", answer)
    failed = failure(farm, "http://a.example/", farm.config(max_bytes=4 << 20))
    assert failed.reason is reason, failed
    assert failed.detail
    assert "\n" not in failed.detail


def test_all_limits_together_end_what_stays_just_above_the_least_rate(farm: Farm) -> None:
    farm.site("a.example", hostile.endless(OK + b"\r\n", b"x" * 64, 0.02))
    failed = failure(farm, "http://a.example/", farm.config(total_seconds=1.0))
    assert failed.reason is Reason.TIMEOUT
    assert failed.ms >= 1000
    assert failed.bytes > 64


def test_a_bomb_is_found_while_it_comes(farm: Farm) -> None:
    """Its first bytes are enough: the rest is never read."""
    whole = bytes(range(256)) * 4096
    farm.site("a.example", bomb("gzip", megabytes=300))
    farm.site("b.example", packed("gzip", whole, ["gzip"]))
    failed = failure(farm, "http://a.example/", farm.config(max_bytes=4 << 20))
    assert failed.reason is Reason.BOMB
    assert failed.bytes < 200_000
    assert answered(farm, "http://b.example/").decoded(1 << 30) == whole


def test_memory_stays_small_whatever_comes(farm: Farm) -> None:
    farm.site("a.example", hostile.endless_body())
    config = farm.config(max_bytes=64 << 20)

    async def many(client: Client) -> list[Response | Failed]:
        return await asyncio.gather(*(client.ask(place("http://a.example/")) for _ in range(4)))

    tracemalloc.start()
    try:
        found = with_client(farm, config, many)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert [one.reason for one in found if isinstance(one, Failed)] == [Reason.TOO_LARGE] * 4
    assert peak < 24 << 20


def test_content_is_decoded_only_on_request_and_codings_are_not_believed(farm: Farm) -> None:
    farm.site("a.example", packed("gzip", b"hello", ["gzip"]))
    farm.site("b.example", page("hello", headers={"Content-Encoding": "gzip"}))
    farm.site("c.example", page("hello", headers={"Content-Encoding": "utf-8"}))
    found = answered(farm, "http://a.example/")
    assert found.body.read(2) == b"\x1f\x8b"
    assert found.decoded(3) == b"hel"
    assert answered(farm, "http://b.example/").decoded(100) == b"hello"
    assert answered(farm, "http://c.example/").decoded(100) == b"hello"


@pytest.mark.parametrize("status", [204, 304, 400, 404, 410, 418, 429, 500, 503, 999])
def test_every_other_status_is_an_answer(farm: Farm, status: int) -> None:
    farm.site("a.example", sends(b"HTTP/1.1 %d Words\r\nRetry-After: 7\r\nContent-Length: 0\r\n\r\n" % status))
    found = answered(farm, "http://a.example/")
    assert (found.status, found.retry_after()) == (status, 7.0)


def test_the_body_of_an_error_is_not_read_to_its_end(farm: Farm) -> None:
    farm.site("a.example", hostile.endless_error())
    farm.site("b.example", sends(b"HTTP/1.1 503 Busy\r\nContent-Length: 100\r\n\r\nbroken"))
    found = answered(farm, "http://a.example/")
    assert found.status == 404
    assert found.body.size < 200_000
    assert answered(farm, "http://b.example/").status == 503


@pytest.mark.parametrize(
    ("written", "seconds"),
    [
        ("0", 0.0),
        ("120", 120.0),
        ("999999999999999999999999", 86_400.0),
        ("Wed, 21 Oct 2015 07:28:00 GMT", 0.0),
        ("Wed, 21 Oct 2099 07:28:00 GMT", 86_400.0),
        ("soon", None),
        ("-1", None),
        ("Wed, 99 Foo 2099", None),
        ("", None),
        ("ü", None),
    ],
)
def test_how_long_to_wait(farm: Farm, written: str, seconds: float | None) -> None:
    farm.site("a.example", page("", 429, headers={"Retry-After": written}))
    assert answered(farm, "http://a.example/").retry_after() == seconds


def test_what_is_known_is_told_to_the_server(farm: Farm) -> None:
    farm.site("a.example", page("", 304))
    when = "Wed, 21 Oct 2015 07:28:00 GMT"
    ask(farm, "http://a.example/", conditions=Conditions('"abc"', when))
    assert farm.visits[0].headers["if-none-match"] == '"abc"'
    assert farm.visits[0].headers["if-modified-since"] == when


@pytest.mark.parametrize("etag", ["a\r\nX-Evil: 1", "\0", "ü", " a", "x" * 5000, ""])
def test_what_a_server_once_said_cannot_change_a_request(farm: Farm, etag: str) -> None:
    farm.site("a.example", page())
    ask(farm, "http://a.example/", conditions=Conditions(etag, None))
    assert set(farm.visits[0].headers) == {"host", "user-agent", "accept", "accept-encoding"}


def test_cookies_are_never_sent_back(farm: Farm) -> None:
    farm.site("a.example", page("x", headers={"Set-Cookie": "id=1; Domain=.example"}))

    async def twice(client: Client) -> None:
        for _ in range(2):
            await client.ask(place("http://a.example/"))

    with_client(farm, farm.config(), twice)
    assert all("cookie" not in visit.headers for visit in farm.visits)
    assert len(farm.visits) == 2


def test_connections_are_used_again_but_not_after_a_broken_answer(farm: Farm) -> None:
    farm.site(
        "a.example", {"/": page("x"), "/broken": sends(OK + b"Content-Length: 1\r\n\r\nxHTTP/1.1 200", closes=False)}
    )

    async def several(client: Client) -> None:
        for path in ("", "", "broken", ""):
            found = await client.ask(place(f"http://a.example/{path}"))
            assert isinstance(found, Response)
            assert found.body.read() == b"x"

    with_client(farm, farm.config(), several)
    assert [visit.connection for visit in farm.visits] == [1, 1, 1, 2]


def test_an_answer_that_nobody_asked_for_is_given_to_nobody(farm: Farm) -> None:
    """A server that answers twice cannot answer for the next address."""
    one = OK + b"Content-Length: 5\r\n\r\n"
    farm.site("a.example", {"/": sends(one + b"right" + one + b"wrong", closes=False), "/next": page("right")})

    async def both(client: Client) -> list[bytes]:
        found = []
        for path in ("", "next"):
            response = await client.ask(place(f"http://a.example/{path}"))
            assert isinstance(response, Response)
            found.append(response.body.read())
        return found

    assert with_client(farm, farm.config(), both) == [b"right", b"right"]


def test_a_connection_that_closed_while_it_waited_is_replaced(farm: Farm) -> None:
    farm.site("a.example", {"/": sends(OK + b"Content-Length: 1\r\n\r\nx", b"", pause=0.05), "/next": page("y")})

    async def both(client: Client) -> bytes:
        await client.ask(place("http://a.example/"))
        found = await client.ask(place("http://a.example/next"))
        assert isinstance(found, Response)
        return found.body.read()

    assert with_client(farm, farm.config(), both) == b"y"


@pytest.mark.parametrize("kind", ["expired", "other_name", "self_signed"])
def test_a_certificate_that_is_not_right_is_refused_before_anything_is_sent(farm: Farm, kind: Kind) -> None:
    farm.site("a.example", {"/": page("x")}, certificate=kind)
    failed = failure(farm, "https://a.example/")
    assert failed.reason is Reason.TLS
    assert failed.detail
    assert farm.visits == []


def test_a_right_certificate_is_believed(farm: Farm) -> None:
    farm.site("a.example", {"/": page("x")})
    assert answered(farm, "https://a.example/").body.read() == b"x"
    assert farm.visits[0].is_secure


def test_a_certificate_of_an_unknown_authority_is_refused(farm: Farm, tmp_path: Path) -> None:
    farm.site("a.example", {"/": page("x")})
    config = farm.config()

    async def run() -> Response | Failed:
        async with Client(config, Names(farm.look_up, config.allow_hosts), tmp_path) as client:
            return await client.ask(place("https://a.example/"))

    found = asyncio.run(run())
    assert isinstance(found, Failed)
    assert found.reason is Reason.TLS


def test_plain_http_where_tls_is_expected_is_refused(farm: Farm) -> None:
    farm.site("a.example", {"/": page("x")})
    config = farm.config()

    async def impatient(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")
        await writer.drain()

    async def use(client: Client) -> Response | Failed:
        server = await asyncio.start_server(impatient, "127.0.0.1", 0)
        farm.tls_port = server.sockets[0].getsockname()[1]
        async with server:
            return await client.ask(place("https://a.example/"))

    found = with_client(farm, config, use)
    assert isinstance(found, Failed)
    assert found.reason is Reason.TLS


def test_nobody_listens(farm: Farm) -> None:
    farm.site("a.example", {"/": page("x")})
    farm.port = 1
    assert failure(farm, "http://a.example/").reason is Reason.CONNECT


def test_more_connections_than_the_system_allows_are_refused_before_the_first() -> None:
    code = "from winnow.pipelines.fetch.live.connection import allow_connections as allow; allow(100); allow(1000)"
    ended = subprocess.run(
        ["sh", "-c", f"ulimit -Sn 400; ulimit -Hn 1000; exec {sys.executable} -c '{code}'"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (
        "fetch.at_once: 1,000 needs 2,256 open files, and the system allows 1,000: set at_once to 372 or less, "
        "or raise the limit (ulimit -Hn)" in ended.stderr
    )


def test_redirects_are_followed_one_by_one_through_the_gate(farm: Farm) -> None:
    farm.site("a.example", {"/": redirect("/b"), "/b": redirect("https://c.example/d", 308)})
    farm.site("c.example", {"/d": page("end")})
    passed: list[str] = []

    @asynccontextmanager
    async def gate(at: Place) -> AsyncIterator[Failed | None]:
        passed.append(at.url)
        yield None

    found = with_client(farm, farm.config(), lambda client: client.follow(place("http://a.example/"), gate))
    assert isinstance(found.last, Response)
    assert found.place.url == "https://c.example/d"
    assert found.hops == (Hop("http://a.example/", 302), Hop("http://a.example/b", 308))
    assert passed == ["http://a.example/", "http://a.example/b", "https://c.example/d"]


def test_a_gate_that_is_closed_stops_a_redirect_before_its_request(farm: Farm) -> None:
    farm.site("a.example", {"/": redirect("http://b.example/")})
    farm.site("b.example", {"/": page("never")})

    @asynccontextmanager
    async def gate(at: Place) -> AsyncIterator[Failed | None]:
        yield Failed(Reason.ROBOTS, "Disallow: /") if at.host == "b.example" else None

    found = with_client(farm, farm.config(), lambda client: client.follow(place("http://a.example/"), gate))
    assert found.last == Failed(Reason.ROBOTS, "Disallow: /")
    assert [visit.host for visit in farm.visits] == ["a.example"]


@pytest.mark.parametrize(
    ("to", "reason"),
    [
        ("http://10.0.0.1/", Reason.PRIVATE_ADDRESS),
        ("http://169.254.169.254/latest/meta-data/", Reason.PRIVATE_ADDRESS),
        ("http://2130706433/", Reason.PRIVATE_ADDRESS),
        ("http://0x7f.1/", Reason.PRIVATE_ADDRESS),
        ("http://0177.0.0.1/", Reason.PRIVATE_ADDRESS),
        ("http://[::1]/", Reason.PRIVATE_ADDRESS),
        ("http://[::ffff:127.0.0.1]/", Reason.PRIVATE_ADDRESS),
        ("http://[64:ff9b::7f00:1]/", Reason.PRIVATE_ADDRESS),
        ("http://[2002:7f00:1::]/", Reason.PRIVATE_ADDRESS),
        ("http://[2001:0:7f00:1::]/", Reason.PRIVATE_ADDRESS),
        ("http://[fe80::1%25eth0]/", Reason.REDIRECTS),
        ("http://inside.example/", Reason.PRIVATE_ADDRESS),
        ("http://nowhere.example/", Reason.NO_HOST),
        ("http://user:word@a.example/", Reason.CREDENTIALS),
        ("//user@a.example/", Reason.CREDENTIALS),
        ("http://a.example:22/", Reason.PORT),
        ("file:///etc/passwd", Reason.REDIRECTS),
        ("gopher://a.example/", Reason.REDIRECTS),
        ("javascript:alert(1)", Reason.REDIRECTS),
        ("http://a.example/" + "x" * 5000, Reason.TOO_LONG),
        ("http://a.example/", Reason.REDIRECTS),
        ("", Reason.REDIRECTS),
    ],
)
def test_a_redirect_leads_only_where_a_request_may_go(farm: Farm, to: str, reason: Reason) -> None:
    farm.site("a.example", {"/": redirect(to)})
    farm.name("inside.example", ["192.168.1.1"])
    found = follow(farm, "http://a.example/")
    assert isinstance(found.last, Failed)
    assert found.last.reason is reason, found.last
    assert len(farm.visits) == 1


def test_redirects_end(farm: Farm) -> None:
    farm.site("a.example", {f"/{number}": redirect(f"/{number + 1}") for number in range(30)})
    found = follow(farm, "http://a.example/0", farm.config(max_redirects=5))
    assert isinstance(found.last, Failed)
    assert found.last.reason is Reason.REDIRECTS
    assert "more often than fetch.max_redirects" in found.last.detail
    assert len(farm.visits) == 6


def test_an_answer_that_changes_between_two_requests_changes_nothing(farm: Farm) -> None:
    """DNS rebinding: what was looked up first counts, and the connection goes there."""
    farm.site("a.example", {"/": page("x"), "/again": page("y")})
    farm.name("a.example", ["127.0.0.1"], ["10.0.0.1"])

    async def both(client: Client) -> list[bool]:
        return [isinstance(await client.ask(place(f"http://a.example/{path}")), Response) for path in ("", "again")]

    assert with_client(farm, farm.config(), both) == [True, True]
    assert farm.looked_up == ["a.example"]


@pytest.mark.parametrize(
    "answers", [["10.0.0.1"], ["8.8.8.8", "10.0.0.1"], ["::ffff:8.8.8.8"], ["fe80::1%eth0"], ["x"]]
)
def test_one_answer_that_is_not_public_refuses_the_host(farm: Farm, answers: list[str]) -> None:
    farm.name("b.example", answers)
    assert failure(farm, "http://b.example/").reason is Reason.PRIVATE_ADDRESS


def test_an_allowed_host_may_be_private_but_never_a_cloud_s_metadata(farm: Farm) -> None:
    farm.site("a.example", {"/": page("x")})
    farm.name("b.example", ["127.0.0.1"])
    farm.name("c.example", ["169.254.169.254"])
    config = farm.config(allow_hosts=("A.example", "c.example"))
    assert answered(farm, "http://a.example/", config).status == 200
    assert failure(farm, "http://b.example/", config).reason is Reason.PRIVATE_ADDRESS
    assert failure(farm, "http://c.example/", config).reason is Reason.PRIVATE_ADDRESS


def test_many_requests_at_once_ask_name_servers_once(farm: Farm) -> None:
    farm.site("a.example", {"/": page("x")})

    async def many(client: Client) -> int:
        found = await asyncio.gather(*(client.ask(place("http://a.example/")) for _ in range(20)))
        return sum(isinstance(one, Response) for one in found)

    assert with_client(farm, farm.config(), many) == 20
    assert farm.looked_up == ["a.example"]


def test_a_long_body_lies_in_a_file_that_goes_with_it(farm: Farm) -> None:
    content = bytes(range(256)) * 8192
    farm.site("a.example", page(content))
    found = answered(farm, "http://a.example/")
    assert b"".join(found.body.pieces()) == content
    assert found.body.sha256 == hashlib.sha256(content).digest()
    found.close()
