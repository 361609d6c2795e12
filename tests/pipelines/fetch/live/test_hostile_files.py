"""Sites whose files mean harm, beside good ones: they refuse, the good ones are fetched, and nothing hangs."""

from pathlib import Path

import pytest

from tests.pipelines.fetch.farm import hostile
from tests.pipelines.fetch.farm.farm import Answer, Farm, page
from tests.pipelines.fetch.live.crawls import asking, crawl, ends

HARM: dict[str, Answer] = {
    "silent": hostile.silent,
    "slow-header": hostile.slow_header(),
    "slow-body": hostile.slow_body(),
    "endless-body": hostile.endless_body(),
    "endless-chunks": hostile.endless_chunks(),
    "endless-header": hostile.endless_header(),
    "endless-fields": hostile.endless_fields(),
    "endless-interim": hostile.endless_interim(),
    "endless-error": hostile.endless_error(),
    "endless-trailers": hostile.endless_trailers(),
    "tiny-chunks": hostile.tiny_chunks(),
    "no-http": hostile.sends(b"SSH-2.0-OpenSSH_9\r\n"),
    "nothing": hostile.sends(b""),
    "reset": hostile.sends(b"HTTP/1.1 200 OK\r\n", resets=True),
    "short": hostile.sends(hostile.OK + b"Content-Length: 100\r\n\r\nshort"),
    "bomb": hostile.bomb("gzip", "gzip"),
    "cookies": page("x", headers={"Set-Cookie": "a=" + "b" * 3000}),
}
LIMITS = {
    "max_bytes": 200_000,
    "total_seconds": 3.0,
    "first_byte_seconds": 0.5,
    "min_bytes_a_second": 1000,
    "attempts": 1,
    "at_once": 64,
}


@pytest.mark.parametrize("where", ["/robots.txt", "/.well-known/tdmrep.json"])
def test_hostile_files_harm_only_their_sites(tmp_path: Path, where: str) -> None:
    with Farm() as farm:
        harm = {**HARM, "circle": hostile.redirect(where)}
        for name, answer in harm.items():
            farm.site(f"{name}.example", {"/page": page(f"of {name}"), where: answer})
        for number in range(10):
            farm.site(f"good{number}.example", {"/page": page(f"good {number}")})
        good = [f"http://good{number}.example/page" for number in range(10)]
        bad = [f"http://{name}.example/page" for name in harm]
        asked = asking(farm, tmp_path, [*bad, *good], LIMITS)
        crawl(asked)
    found = ends(asked.objects)
    assert {url: found[url] for url in good} == dict.fromkeys(good, ("fetched", "ok"))
    assert set(found) == {*good, *bad}
    harmless = {"http://cookies.example/page", "http://endless-error.example/page"}
    assert {found[url][0] for url in set(bad) - harmless} == {"refused"}
    assert {found[url] for url in harmless} <= {("fetched", "ok"), ("refused", "tdm_reserved")}
