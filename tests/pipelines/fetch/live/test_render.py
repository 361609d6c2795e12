"""A command that takes addresses and writes WARC: what it writes is judged as what is asked here."""

import stat
import sys
from dataclasses import replace
from pathlib import Path

from tests.pipelines.fetch.farm.farm import Farm
from tests.pipelines.fetch.live.crawls import asking, crawl, ends, records, site, visits
from winnow.pipelines.fetch.log import read_log

A = "http://a.example"
BROWSER = """
import gzip, sys
folder, addresses, agent = sys.argv[1:]
assert agent.startswith("winnow/")
bodies = {
    "x": (200, "", "<p>rendered"),
    "noai": (200, "X-Robots-Tag: noai\\r\\n", "<p>no"),
    "go": (302, "Location: /x\\r\\n", ""),
    "away": (302, "Location: http://b.example/no\\r\\n", ""),
    "chunked": (200, "Transfer-Encoding: chunked\\r\\n", "3\\r\\nabc\\r\\n0\\r\\n\\r\\n"),
}
def record(url, status, fields, body, machine="93.184.216.34"):
    http = f"HTTP/1.1 {status} X\\r\\nContent-Type: text/html\\r\\n{fields}\\r\\n{body}".encode()
    head = (f"WARC/1.1\\r\\nWARC-Type: response\\r\\nWARC-Record-ID: <urn:uuid:{hash(url) % 10**9}>\\r\\n"
            f"WARC-Date: 2026-01-01T00:00:00Z\\r\\nWARC-Target-URI: {url}\\r\\nWARC-IP-Address: {machine}\\r\\n"
            f"Content-Type: application/http; msgtype=response\\r\\nContent-Length: {len(http)}\\r\\n\\r\\n").encode()
    return gzip.compress(head + http + b"\\r\\n\\r\\n")
with open(folder + "/out.warc.gz", "wb") as out:
    for url in open(addresses).read().split():
        name = url.rpartition("/")[2]
        if name in bodies:
            out.write(record(url, *bodies[name]))
        if name == "inside":
            out.write(record(url, 200, "", "secret", "192.168.0.1"))
        out.write(record("http://a.example/script.js", 200, "", "nobody asked"))
    out.write(record("http://b.example/no", 200, "", "refused"))
"""


def browser(folder: Path, script: str = BROWSER) -> tuple[str, ...]:
    file = folder / "browser.py"
    file.write_text(script)
    file.chmod(file.stat().st_mode | stat.S_IXUSR)
    return (sys.executable, str(file), "{folder}", "{addresses}", "{agent}")


def test_what_a_browser_writes_is_judged_and_recorded(tmp_path: Path) -> None:
    with Farm() as farm:
        farm.site("a.example", site("User-agent: *\nDisallow: /private"))
        farm.site("b.example", site("User-agent: *\nDisallow: /no"))
        names = ("x", "noai", "go", "away", "chunked", "inside", "private", "missing")
        asked = asking(farm, tmp_path, [f"{A}/{name}" for name in names], {"attempts": 1})
        asked = replace(asked, addresses=replace(asked.addresses, render=browser(tmp_path)))
        asked = replace(asked, config=replace(asked.config, per_host=4, same_bytes="keep"))
        crawl(asked)
        assert visits(farm) == []  # the browser asks, not we
    assert ends(asked.objects) == {
        f"{A}/x": ("fetched", "ok"),
        f"{A}/noai": ("refused", "opt_out"),
        f"{A}/go": ("fetched", "ok"),
        f"{A}/away": ("refused", "robots"),
        f"{A}/chunked": ("fetched", "ok"),
        f"{A}/inside": ("fetched", "ok"),  # `allow_hosts` names it
        f"{A}/private": ("refused", "robots"),
        f"{A}/missing": ("failed", "render_failed"),
    }
    kept = {target for kind, target in records(asked.objects) if kind == "response"}
    assert kept == {f"{A}/x", f"{A}/chunked", f"{A}/inside"}
    sizes = {row["url"]: row["body_bytes"] for row in read_log(asked.objects, ("url", "body_bytes")).to_pylist()}
    assert sizes[f"{A}/chunked"] == 3


def test_a_command_that_fails_is_told(tmp_path: Path) -> None:
    with Farm() as farm:
        farm.site("a.example", site())
        asked = asking(farm, tmp_path, [f"{A}/x"], {"attempts": 1})
        script = "import sys; sys.exit('no browser here')"
        asked = replace(asked, addresses=replace(asked.addresses, render=browser(tmp_path, script)))
        crawl(asked)
        (row,) = read_log(asked.objects).to_pylist()
        assert (row["reason"], "no browser here" in row["detail"]) == ("render_failed", True)
        asked = replace(asked, addresses=replace(asked.addresses, render=("/no/such/command",)))
        crawl(asked)
        (row,) = read_log(asked.objects).to_pylist()
        assert "/no/such/command" in row["detail"]


def test_a_command_that_never_ends_is_ended(tmp_path: Path) -> None:
    with Farm() as farm:
        farm.site("a.example", site())
        asked = asking(farm, tmp_path, [f"{A}/x"], {"attempts": 1, "total_seconds": 1.0})
        render = browser(tmp_path, "import time; time.sleep(600)")
        asked = replace(asked, addresses=replace(asked.addresses, render=render))
        crawl(asked)
    assert ends(asked.objects) == {f"{A}/x": ("failed", "render_failed")}
