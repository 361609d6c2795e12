"""`winnow fetch` as the command line runs it, on a crawl that this machine serves; and what follows of it."""

import gzip
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tests.messages import assert_told
from tests.pipelines.fetch.archives.loopback import NAME, Crawl, Server, pages
from tests.runners.inspect.opened_stores import ask, opened
from winnow import open_store
from winnow.pipelines.fetch.log import read_log
from winnow.pipelines.processes.identity import Process
from winnow.pipelines.store.location import open_location
from winnow.runners.commands.main import main

RECIPE = """\
version: 1
store: {{path: {store}}}
sources:
  isl:
    commoncrawl: {{crawl: {crawl}, index: {index}, data: "{data}", where: "content_languages = 'isl'"{more}}}
    class: web
annotate: [text.length]
"""


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Crawl, Server]]:
    crawl = Crawl(tmp_path_factory.mktemp("crawl"), pages(60))
    with Server(crawl.folder) as server:
        yield crawl, server


def recipe(folder: Path, served: tuple[Crawl, Server], name: str = "r", more: str = "") -> str:
    crawl, server = served
    file = folder / f"{name}.yaml"
    file.write_text(RECIPE.format(store=f"store-{name}", crawl=NAME, index=crawl.index, data=server.address, more=more))
    return str(file)


def told(capsys: pytest.CaptureFixture[str], *arguments: str, status: int = 0) -> str:
    """What a command prints."""
    assert main(list(arguments)) == status
    shown = capsys.readouterr()
    return shown.out + shown.err


def test_a_plan_says_what_a_fetch_costs_and_reads_no_record(
    tmp_path: Path, served: tuple[Crawl, Server], capsys: pytest.CaptureFixture[str]
) -> None:
    file = recipe(tmp_path, served)
    said = told(capsys, "fetch", file, "--plan")
    assert re.search(r"records +size +requests .*\n.*\nisl +20 ", said)
    assert not list(tmp_path.rglob("*.warc.gz"))
    assert_told(told(capsys, "ingest", file, status=1), f"{file}:5: sources.isl", f"winnow fetch {file}")


@pytest.mark.processes
def test_a_run_fetches_first_and_a_second_one_has_nothing_to_do(
    tmp_path: Path, served: tuple[Crawl, Server], capsys: pytest.CaptureFixture[str]
) -> None:
    file = recipe(tmp_path, served)
    said = told(capsys, "run", file)
    assert re.search(r"isl +fetched +ok +20 ", said)
    tree = open_store(tmp_path / "store-r").require_latest().tree_hash
    again = told(capsys, "run", file)
    assert "nothing is left to fetch" in again
    assert open_store(tmp_path / "store-r").require_latest().tree_hash == tree
    audit = told(capsys, "audit", file)
    assert "20 rows of fetches: 20 records" in audit
    assert "audit   clean" in audit
    assert "not files of the store" not in audit


@pytest.mark.processes
def test_an_engine_and_references_give_the_same_store(
    tmp_path: Path, served: tuple[Crawl, Server], capsys: pytest.CaptureFixture[str]
) -> None:
    trees = set()
    for name, more, flags in (("one", "", []), ("two", "", ["--workers", "2"]), ("ref", ", fetch: by_reference", [])):
        file = recipe(tmp_path, served, name, more)
        told(capsys, "fetch", file, *flags)
        told(capsys, "run", file)
        trees.add(open_store(tmp_path / f"store-{name}").require_latest().tree_hash)
        assert "audit   clean" in told(capsys, "audit", file)
    assert len(trees) == 1


def test_the_report_has_the_decisions_and_the_sites(
    tmp_path: Path, served: tuple[Crawl, Server], capsys: pytest.CaptureFixture[str]
) -> None:
    file = recipe(tmp_path, served)
    told(capsys, "run", file)
    page = (tmp_path / "store-r/report.html").read_text("utf-8")
    assert 'id="fetched"' in page
    assert "What became of addresses" in page
    assert "isl: sites with the most addresses" in page
    (shown,) = ask(opened(Path(file)), "fetched")["sources"]
    assert (shown["source"], shown["addresses"], len(shown["sites"])) == ("isl", 20, 8)
    assert [(one["decision"], one["reason"], one["addresses"]) for one in shown["ended"]] == [("fetched", "ok", 20)]
    told(capsys, "forget", file, "--domain", shown["sites"][0]["site"])
    assert shown["sites"][0]["site"] not in {
        one["site"] for one in ask(opened(Path(file)), "fetched")["sources"][0]["sites"]
    }


@pytest.mark.processes
def test_what_is_forgotten_is_neither_fetched_again_nor_left_in_a_file(
    tmp_path: Path, served: tuple[Crawl, Server], capsys: pytest.CaptureFixture[str]
) -> None:
    file, folder = recipe(tmp_path, served), tmp_path / "store-r/fetched/isl"
    told(capsys, "run", file)
    log = read_log(open_location(str(folder))).to_pylist()
    by_url, by_id, kept = log[3]["url"], log[7]["url"], log[8]["url"]
    rows = open_store(tmp_path / "store-r").table(["samples.id", "samples.url"]).to_arrow().to_pylist()
    named = next(row["samples.id"] for row in rows if row["samples.url"] == by_id)
    sizes = {path: path.stat().st_size for path in folder.glob("warc/*")}
    told(capsys, "forget", file, "--url", by_url, "--id", named)
    assert "would empty   2 rows of fetches" in told(capsys, "gc", file, "--purge", "--dry-run")
    assert "emptied       2 rows of fetches" in told(capsys, "gc", file, "--purge")
    raw = b"".join(gzip.decompress(path.read_bytes()) for path in sizes)
    assert [url.encode() in raw for url in (by_url, by_id, kept)] == [False, False, True]
    assert {path: path.stat().st_size for path in folder.glob("warc/*")} == sizes
    left = {row["url"]: row["reason"] for row in read_log(open_location(str(folder))).to_pylist()}
    assert (by_url in left, by_id in left, kept in left) == (False, False, True)
    assert sorted(left.values()) == ["forgotten"] * 2 + ["ok"] * 18
    for _ in range(2):
        assert "audit   clean" in told(capsys, "audit", file)
        assert "emptied" not in told(capsys, "gc", file, "--purge")
        told(capsys, "run", file)


def test_a_forgotten_address_is_not_fetched(
    tmp_path: Path, served: tuple[Crawl, Server], capsys: pytest.CaptureFixture[str]
) -> None:
    file, folder = recipe(tmp_path, served), tmp_path / "store-r/fetched/isl"
    told(capsys, "fetch", file, "--plan")
    told(capsys, "forget", str(tmp_path / "store-r"), "--domain", "site2.is", status=3)
    told(capsys, "fetch", file)
    log = read_log(open_location(str(folder))).to_pylist()
    assert {row["reason"] for row in log if "site2.is" in row["url"]} == {"forgotten"}
    assert {row["reason"] for row in log if "site2.is" not in row["url"]} == {"ok"}


def test_an_audit_names_rows_whose_record_is_another(
    tmp_path: Path, served: tuple[Crawl, Server], capsys: pytest.CaptureFixture[str]
) -> None:
    file, folder = recipe(tmp_path, served), tmp_path / "store-r/fetched/isl"
    told(capsys, "run", file)
    (path,) = folder.glob("log/*.parquet")
    rows = pq.ParquetFile(path).read()
    urls = rows["url"].to_pylist()
    changed = rows.set_column(rows.schema.get_field_index("url"), rows.schema.field("url"), [[*urls[1:], urls[0]]])
    pq.write_table(changed, path)
    assert_told(told(capsys, "audit", file, status=1), "log/", "a record of", "not of")
    (warc,) = folder.glob("warc/*.warc.gz")
    warc.unlink()
    assert_told(told(capsys, "audit", file, status=1), "names fetched/isl/warc/", "does not exist", "winnow fetch")


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (", addresses: none.txt", "none.txt"),
        (", limit: 0", "limit … from 1"),
        (", sample: {share: 0.0}", "no record"),
    ],
)
def test_a_query_that_cannot_be_fetched_is_named_with_its_line(
    more: str, message: str, tmp_path: Path, served: tuple[Crawl, Server], capsys: pytest.CaptureFixture[str]
) -> None:
    file = recipe(tmp_path, served, more=more)
    assert_told(told(capsys, "fetch", file, "--plan", status=1), "r.yaml:", "sources.isl", message)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--source", "icl"], "--source icl … 'isl'"),
        (["--refetch", "robots"], "--refetch robots … reason=REASON … 'robots'"),
        (["--refetch", "reason=sleepy"], "--refetch reason=sleepy … busy"),
        (["--limit", "0"], "--limit 0"),
        (["--limit", "1k"], "--limit 1k"),
    ],
)
def test_what_is_wrong_on_the_command_line(
    arguments: list[str], message: str, tmp_path: Path, served: tuple[Crawl, Server], capsys: pytest.CaptureFixture[str]
) -> None:
    assert_told(told(capsys, "fetch", recipe(tmp_path, served), *arguments, status=1), message)


def test_a_recipe_that_fetches_nothing_is_no_recipe_to_fetch(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "r.yaml"
    file.write_text("version: 1\nstore: {path: s}\nsources: {a: {root: r, files: [x], class: web}}\n")
    assert_told(told(capsys, "fetch", str(file), status=1), "r.yaml", "'commoncrawl' or 'addresses'")


def test_garbage_collection_removes_what_a_killed_fetch_was_writing_and_nothing_that_is_fetched(
    tmp_path: Path, served: tuple[Crawl, Server], capsys: pytest.CaptureFixture[str]
) -> None:
    file, folder = recipe(tmp_path, served), tmp_path / "store-r/fetched/isl"
    told(capsys, "run", file)
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    (folder / ".tmp").mkdir(exist_ok=True)
    dead = replace(Process.this(), number=999_999_999)
    (folder / ".tmp" / f"{dead.prefix}x.warc.gz").write_bytes(b"half a file")
    told(capsys, "gc", file, "--keep", "1")
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before
    assert "audit   clean" in told(capsys, "audit", file)


def test_a_fetch_without_any_record_says_what_to_do_instead_of_a_run(
    tmp_path: Path, served: tuple[Crawl, Server], capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "list.txt").write_text("https://nowhere.is/\n")
    file = recipe(tmp_path, served)
    Path(file).write_text(Path(file).read_text().replace("where: \"content_languages = 'isl'\"", "addresses: list.txt"))
    for _ in range(2):
        said = told(capsys, "fetch", file)
        assert_told(said, "next … isl: no address gave a record", f"winnow fetch {file} --refetch reason=")
        assert f"winnow run {file}" not in said
    assert_told(told(capsys, "run", file, status=1), "no address gave a record")


@pytest.mark.processes
def test_an_operator_may_read_the_captures_of_robots_txt_that_are_yet_to_be_fetched(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    robots = {f"www.site{number}.is": "User-agent: GPTBot\nDisallow: /pages/\n" for number in range(2)}
    crawl = Crawl(tmp_path / "crawl", pages(40), robots=robots)
    annotate = "annotate: [text.length, {url.robots: {rules: store-r/fetched/isl/robots/host_files.jsonl.gz}}]"
    refused = []
    with Server(crawl.folder) as server:
        for command in ("fetch", "run"):
            folder = tmp_path / command
            folder.mkdir()
            file = recipe(folder, (crawl, server))
            Path(file).write_text(Path(file).read_text().replace("annotate: [text.length]", annotate))
            told(capsys, "fetch", file, "--plan")
            if command == "fetch":
                told(capsys, "fetch", file)
            told(capsys, "run", file)
            found = open_store(folder / "store-r").table(["samples.url", "url.robots.disallowed"]).to_arrow()
            refused.append({row["samples.url"] for row in found.to_pylist() if row["url.robots.disallowed"]})
    assert refused[0] == refused[1]
    assert {url.split("/")[2] for url in refused[0]} == {"www.site0.is", "www.site1.is"}


@pytest.mark.parametrize("command", ["plan", "ingest", "annotate", "mix"])
def test_a_command_before_the_fetch_whose_files_of_hosts_an_operator_reads_says_to_fetch_first(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, robots = listed(tmp_path), tmp_path / "s/fetched/a/robots"
    first = f"r.yaml:5: annotate[0].url.robots: {robots}/host_files.jsonl.gz: sources.a is not fetched yet; run: "
    assert_told(told(capsys, command, file, status=1), first, f"winnow fetch {file}")
    other = "host_file.jsonl.gz"
    Path(file).write_text(Path(file).read_text().replace("host_files.jsonl.gz", other))
    for refused in (command, "fetch"):  # which will never write it
        assert_told(told(capsys, refused, file, status=1), f"{robots}/{other}: no such file")
    assert not robots.exists()


def test_a_fetch_that_meets_no_files_of_hosts_says_so_in_an_empty_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, written = listed(tmp_path), tmp_path / "s/fetched/a/robots/host_files.jsonl.gz"
    told(capsys, "fetch", file)
    assert written.read_bytes() == b""
    assert_told(told(capsys, "ingest", file, status=1), "no address gave a record")
    written.unlink()  # as a run does that is killed before it writes it
    assert "nothing is left to fetch" in told(capsys, "fetch", file)
    assert written.read_bytes() == b""


def listed(folder: Path) -> str:
    """A recipe for a list of an address that nobody asks for."""
    (folder / "list.txt").write_text("ftp://a.example/\n")
    file = folder / "r.yaml"
    file.write_text(
        "version: 1\nstore: {path: s}\nsources: {a: {addresses: {file: list.txt}, class: web}}\n"
        "fetch: {contact: 'mailto:you@example.org'}\n"
        "annotate: [{url.robots: {rules: s/fetched/a/robots/host_files.jsonl.gz}}]\nmix: {budget: 10}\n"
    )
    return str(file)
