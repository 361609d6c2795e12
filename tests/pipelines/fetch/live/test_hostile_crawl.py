"""A crawl of a web in which every site means harm: each address has its end, and what is kept is what ingest reads."""

from functools import cache
from pathlib import Path

from tests.pipelines.fetch.farm import hostile
from tests.pipelines.fetch.farm.farm import Answer, Farm, page
from tests.pipelines.fetch.farm.hostile import OK, bomb, packed, redirect, sends
from tests.pipelines.fetch.live.crawls import asking, crawl, ends, site, visits
from winnow.pipelines.fetch.log import read_log
from winnow.pipelines.fetch.outcome import Reason
from winnow.pipelines.ingest.archives.warc import read_warc
from winnow.pipelines.ingest.records import Dropped, ReadLimits, Record
from winnow.schemas.records import FilePart

LIMITS = {"attempts": 1, "max_bytes": 4 << 20, "max_header_bytes": 16 << 10, "first_byte_seconds": 3.0}


@cache
def harmful() -> dict[str, tuple[Answer, Reason]]:
    """What a site answers to its only address, and how that ends."""
    return {
        "silent": (hostile.silent, Reason.TIMEOUT),
        "slow-header": (hostile.slow_header(), Reason.TOO_SLOW),
        "slow-body": (hostile.slow_body(), Reason.TOO_SLOW),
        "endless": (hostile.endless_body(), Reason.TOO_LARGE),
        "endless-chunks": (hostile.endless_chunks(), Reason.TOO_LARGE),
        "endless-header": (hostile.endless_header(), Reason.LARGE_HEADER),
        "endless-interim": (hostile.endless_interim(), Reason.PROTOCOL),
        "endless-trailers": (hostile.endless_trailers(), Reason.PROTOCOL),
        "tiny-chunks": (hostile.tiny_chunks(), Reason.PROTOCOL),
        "endless-error": (hostile.endless_error(), Reason.NOT_FOUND),
        "short": (sends(OK + b"Content-Length: 9\r\n\r\nshort"), Reason.CUT_OFF),
        "reset": (sends(resets=True), Reason.CUT_OFF),
        "no-http": (sends(b"SSH-2.0-OpenSSH_9.9\r\n"), Reason.PROTOCOL),
        "gzip-bomb": (bomb("gzip", megabytes=100), Reason.BOMB),
        "nested-bomb": (bomb("br, gzip", "br", "gzip", megabytes=100), Reason.BOMB),
        "circle": (redirect("/p"), Reason.REDIRECTS),
        "inside": (redirect("http://169.254.169.254/latest/meta-data/"), Reason.PRIVATE_ADDRESS),
        "by-name": (redirect("http://intranet.example/"), Reason.PRIVATE_ADDRESS),
        "file": (redirect("file:///etc/passwd"), Reason.REDIRECTS),
        "teapot": (page("short and stout", 418), Reason.CLIENT_ERROR),
        "part": (page("a part", 206), Reason.PROTOCOL),
        "packed": (packed("gzip", b"<p>good</p>", ["gzip"]), Reason.OK),
        "long-answer": (sends(OK + b"Content-Length: 4\r\n\r\ngood and more"), Reason.OK),
        "cookies": (page("good", headers={"Set-Cookie": "a=b"}), Reason.OK),
    }


def test_every_address_of_a_hostile_web_ends(tmp_path: Path) -> None:
    with Farm() as farm:
        for name, (answer, _) in harmful().items():
            farm.site(f"{name}.example", site(p=answer))
        farm.site("expired.example", site(p=page("x")), certificate="expired")
        farm.name("intranet.example", ["192.168.7.7"])
        farm.name("rebinding.example", ["8.8.8.8", "127.0.0.1"])
        lines = [f"http://{name}.example/p" for name in harmful()]
        lines += ["https://expired.example/p", "http://rebinding.example/p", "http://nowhere.example/p"]
        asked = asking(farm, tmp_path, lines, LIMITS)
        tally = crawl(asked)
        assert all(visit.headers.keys() <= {"host", "user-agent", "accept", "accept-encoding"} for visit in farm.visits)
        # A connection that breaks when it is used again may just have been idle for too long: it is replaced once.
        twice = [visit.host for visit in visits(farm)].count("reset.example") - 1
        assert len(visits(farm)) == len(harmful()) + twice
        assert twice <= 1
    reasons = {
        url.removeprefix("http://").removesuffix(".example/p"): reason
        for url, (_, reason) in ends(asked.objects).items()
    }
    assert reasons == {
        **{name: str(reason) for name, (_, reason) in harmful().items()},
        "https://expired": "robots_unreachable",
        "rebinding": "private_address",
        "nowhere": "no_host",
    }
    assert tally.addresses == len(lines)
    assert all(row["detail"] is None or row["detail"].isprintable() for row in read_log(asked.objects).to_pylist())
    (archive,) = (one.path for one in asked.objects.list("warc/"))
    size = asked.objects.size(archive)
    with asked.objects.open(archive) as stream:
        events = list(read_warc(stream, FilePart(archive, size, 0, size), ReadLimits()))
    kept = {one.url: one.body for one in events if isinstance(one, Record)}
    assert kept == {
        "http://packed.example/p": b"<p>good</p>",
        "http://long-answer.example/p": b"good",
        "http://cookies.example/p": b"good",
    }
    assert all(isinstance(one, Record | Dropped) for one in events)
