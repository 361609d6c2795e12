"""Fetching as a stage of Spark and Flink, for real: the same store as one process makes, and the same decisions."""

import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.faults.winnow import ended, run_here, tree_hash
from tests.pipelines.fetch.archives.loopback import NAME, Crawl, Server, pages
from tests.runners.engines.commands import ENGINES, require_job_server, small
from winnow import open_store
from winnow.pipelines.fetch.archives import planning
from winnow.pipelines.fetch.log import read_log
from winnow.pipelines.store.location import open_location
from winnow.runners.engines.java import EngineName

pytestmark = [pytest.mark.engines, pytest.mark.parametrize("engine", ENGINES)]

ARCHIVE = """\
version: 1
store: {{path: {name}, seed: 7}}
sources:
  isl:
    commoncrawl: {{crawl: {crawl}, index: {index}, data: "{data}", where: "content_languages = 'isl'", fetch: {how}}}
    class: web
extract: {{main: {{}}}}
text: coalesce(extract.main.text, samples.text)
annotate: [text.length, page.opt_out]
"""
LIST = """\
version: 1
store: {{path: {name}, seed: 7}}
sources: {{news: {{addresses: {{file: list.txt}}, class: web}}}}
fetch: {{contact: 'mailto:you@example.org', seconds_between: 0.01, ports: [{port}], allow_hosts: [{hosts}]}}
extract: {{main: {{}}}}
text: coalesce(extract.main.text, samples.text)
annotate: [text.length]
"""
HOSTS = ("127.0.0.2", "127.0.0.3", "127.0.0.4")


@pytest.mark.parametrize("how", ["copy", "by_reference"])
def test_records_of_an_archive_become_the_same_store(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, engine: EngineName, how: str
) -> None:
    require_job_server(engine)
    monkeypatch.setattr(planning, "TASK_BYTES", 2_000)  # several tasks
    robots = {f"www.site{number}.is": "User-agent: *\nDisallow: /no\n" for number in range(8)}
    crawl = Crawl(tmp_path / "crawl", pages(90), robots=robots)
    with Server(crawl.folder) as server:
        for name, flags in (("one", []), (engine, ["--runner", engine, "--workers", "2", "--", *small(engine)])):
            recipe = ARCHIVE.format(name=name, crawl=NAME, index=crawl.index, data=server.address, how=how)
            (tmp_path / f"{name}.yaml").write_text(recipe)
            ended(run_here(tmp_path, "fetch", f"{name}.yaml", *flags))
            ended(run_here(tmp_path, "run", f"{name}.yaml", *flags))
    folders = [open_location(str(tmp_path / name / "fetched/isl")) for name in ("one", engine)]
    found = [{one.path: one.size for one in folder.list() if not one.path.startswith("refs/")} for folder in folders]
    assert found[0] == found[1]
    assert sum(path.startswith("log/") for path in found[0]) > 3
    assert tree_hash(tmp_path, engine) == tree_hash(tmp_path, "one")


@contextmanager
def sites() -> Iterator[int]:
    """Some machines of loopback, each with pages, one of which leads to the next machine; their port."""

    class Site(BaseHTTPRequestHandler):
        def do_GET(self) -> None:  # the library's name
            here = self.headers["Host"].partition(":")[0]
            there = HOSTS[(HOSTS.index(here) + 1) % len(HOSTS)]
            number = self.path[1:]
            body, status = f"<p>{here} {number} {'and more words ' * 20}</p>".encode(), 200
            if self.path == "/robots.txt":
                body = b"User-agent: *\nDisallow: /9\n"
            elif self.path == "/go":
                status = 302
            elif not number.isdigit():
                status = 404
            self.send_response(status)
            self.send_header("Content-Type", "text/plain" if self.path == "/robots.txt" else "text/html")
            self.send_header("Content-Length", str(len(body)))
            if status == 302:
                self.send_header("Location", f"http://{there}:{port}/77")
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    with ExitStack() as stack:
        port = 0
        for host in HOSTS:
            server = stack.enter_context(ThreadingHTTPServer((host, port), Site))
            port = server.server_port
            thread = threading.Thread(target=server.serve_forever, daemon=True)
            thread.start()
            stack.callback(thread.join)
            stack.callback(server.shutdown)
        yield port


def test_a_list_of_addresses_has_the_same_decisions_and_texts(tmp_path: Path, engine: EngineName) -> None:
    require_job_server(engine)
    with sites() as port:
        lines = [f"http://{host}:{port}/{name}" for host in HOSTS for name in (*range(12), "go", "none")]
        (tmp_path / "list.txt").write_text("\n".join([*lines, "nonsense", "http://10.0.0.1:80/"]))
        found = []
        for name, flags in (("one", []), (engine, ["--runner", engine, "--workers", "2", "--", *small(engine)])):
            recipe = LIST.format(name=name, port=port, hosts=", ".join(HOSTS))
            (tmp_path / f"{name}.yaml").write_text(recipe)
            ended(run_here(tmp_path, "run", f"{name}.yaml", *flags))
            rows = read_log(open_location(str(tmp_path / name / "fetched/news")))
            texts = open_store(tmp_path / name).table(["samples.url", "text.length.characters"]).to_arrow()
            ends = {row["url"]: (row["decision"], row["reason"]) for row in rows.to_pylist()}
            found.append((ends, sorted(map(str, texts.to_pylist()))))
    assert found[0] == found[1]
    ends = found[0][0]
    assert len(ends) == len(lines) + 2
    assert {reason for _, reason in ends.values()} == {"ok", "robots", "not_found", "no_address", "port"}
