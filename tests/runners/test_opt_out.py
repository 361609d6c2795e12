"""Opt-outs from a crawl's bytes to a plan's drops, from the command line."""

import gzip
import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tests.messages import assert_told
from tests.pipelines.ingest.made_archives import Capture, write_warc
from winnow.pipelines.store.generations import Store, open_store
from winnow.pipelines.store.location import open_location
from winnow.runners.commands.main import main

RECIPE = """
version: 1
store: {path: store, seed: 7, task_bytes: 1 KiB}
sources:
  crawl: {root: crawl, files: ["*.warc.gz"], class: web}
  notes: {root: notes, files: ["*.jsonl"], class: public}
annotate: [{page.opt_out: {preset: opt_out}}]
eligible: [{preset: opt_out}]
"""
PAGES: tuple[tuple[str, str, dict[str, str]], ...] = (
    ("silent", "", {}),
    ("welcome", '<meta name="robots" content="index, follow">', {"TDM-Reservation": "0"}),
    ("noindex", '<meta name="robots" content="noindex">', {}),
    ("noai", '<meta name="robots" content="noai">', {}),
    ("train", "", {"Content-Usage": "train-ai=n"}),
    ("tdm", "", {"TDM-Reservation": "1"}),
    ("illegible", "", {"X-Robots-Tag": "\0"}),
    ("named", "", {"X-Robots-Tag": "googlebot: noai"}),
    ("comment", '<!-- <meta name="robots" content="noai"> -->', {}),
)


AFTERWARDS = """
version: 1
store: {path: store, seed: 7}
sources:
  crawl: {root: crawl, files: ["*.warc.gz"], class: web}
annotate: [{url.robots: {rules: robots.jsonl}}]
eligible: [{preset: opt_out@robots}]
"""


def write(folder: Path) -> None:
    (folder / "recipe.yaml").write_text(RECIPE)
    (folder / "crawl").mkdir()
    (folder / "notes").mkdir()
    captures = [
        Capture(f"https://e.org/{name}", f"<html><head>{meta}</head><body>a".encode(), headers=headers)
        for name, meta, headers in PAGES
    ]
    for part in range(3):
        write_warc(folder / "crawl" / f"{part}.warc.gz", captures[3 * part : 3 * part + 3])
    (folder / "notes" / "notes.jsonl").write_text('{"text": "a", "opt_out": true}\n')


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def run_by(place: Path, workers: str) -> tuple[Path, Store]:
    folder = place / workers
    folder.mkdir()
    write(folder)
    assert main(["run", str(folder / "recipe.yaml"), "--workers", workers]) == 0
    return folder, open_store(open_location(str(folder / "store")))


@pytest.mark.processes
def test_one_worker_and_two_give_the_same_store(tmp_path: Path) -> None:
    one, two = (run_by(tmp_path, workers)[1].require_latest().tree_hash for workers in ("1", "2"))
    assert one == two


def test_pages_whose_site_says_no_are_dropped_and_why(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder, store = run_by(tmp_path, "1")
    assert main(["audit", str(folder / "recipe.yaml")]) == 0
    generation = store.require_latest()
    rows = {
        url or "notes": (said["status"], said["opted_out"])
        for samples, layer in zip(
            store.manifest(generation, "samples"), store.manifest(generation, "page.opt_out"), strict=True
        )
        for urls, batch in zip(store.batches(samples), store.batches(layer), strict=True)
        for url, said in zip(urls["url"].to_pylist(), batch.to_pylist(), strict=True)
    }
    refused = {"noai", "train", "tdm", "illegible"}
    assert rows.pop("notes") == ("no_response", None)
    assert rows == {f"https://e.org/{name}": ("ok", name in refused) for name, _, _ in PAGES}
    capsys.readouterr()
    assert main(["plan", str(folder / "recipe.yaml"), "--json"]) == 0
    plan = json.loads(capsys.readouterr().out)["rules"]
    assert {rule["reason"]: rule["dropped"]["rows"] for rule in plan["rules"]} == {
        "opt_out_ai": 2,
        "opt_out_tdm": 1,
        "opt_out_malformed": 1,
    }
    assert plan["kept"]["rows"] == 6


def test_what_sites_said_in_one_crawl_is_applied_to_another(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "crawl").mkdir()
    robots = [
        Capture("https://a.org/robots.txt", b"User-agent: GPTBot\nDisallow: /shut\n", "text/plain"),
        Capture("https://b.org/robots.txt", b"User-agent: *\nContent-Signal: ai-train=no\nAllow: /\n", "text/plain"),
        Capture("https://b.org/robots.txt", b"User-agent: *\nDisallow: /\n", "text/plain", status=404),
        Capture(
            "https://c.org/.well-known/tdmrep.json",
            b'[{"location": "/", "tdm-reservation": 1}]',
            "application/json",
        ),
        Capture("https://c.org/about/robots.txt", b"User-agent: *\nDisallow: /", "text/plain"),
    ]
    pages = [
        Capture(f"https://{host}.org/{path}", b"<html><body>a")
        for host, path in (("a", "shut"), ("a", "open"), ("b", "x"), ("c", "x"), ("d", "x"))
    ]
    write_warc(tmp_path / "crawl" / "0.warc.gz", [*robots, *pages])
    (tmp_path / "recipe.yaml").write_text(AFTERWARDS.partition("annotate")[0])
    assert main(["ingest", "recipe.yaml", "--workers", "1"]) == 0
    capsys.readouterr()
    assert main(["robots", "recipe.yaml", "--output", "robots.jsonl"]) == 0
    assert_told(capsys.readouterr().out, "robots.jsonl", "2 robots", "1", "1", whole=True)
    assert main(["robots", "recipe.yaml", "--output", "again.jsonl.gz"]) == 0
    assert gzip.decompress((tmp_path / "again.jsonl.gz").read_bytes()) == (tmp_path / "robots.jsonl").read_bytes()
    capsys.readouterr()
    assert main(["robots", "store", "--output", "less.jsonl"]) == 0
    assert_told(capsys.readouterr().out, "less.jsonl", "2 robots", "0", "1", "1", whole=True)
    (tmp_path / "recipe.yaml").write_text(AFTERWARDS)
    assert main(["annotate", "recipe.yaml", "--workers", "1"]) == 0
    assert main(["plan", "recipe.yaml", "--decisions", "dropped.parquet"]) == 0
    dropped = {row["url"]: row["reasons"] for row in pq.read_table(tmp_path / "dropped.parquet").to_pylist()}
    assert dropped == {
        "https://a.org/shut": ["robots_disallowed"],
        "https://b.org/robots.txt": ["robots_train_ai"],
        "https://b.org/x": ["robots_train_ai"],
        "https://c.org/.well-known/tdmrep.json": ["robots_tdm"],
        "https://c.org/about/robots.txt": ["robots_tdm"],
        "https://c.org/x": ["robots_tdm"],
    }


def test_an_error_that_the_source_accepts_is_collected_with_its_status(tmp_path: Path) -> None:
    (tmp_path / "crawl").mkdir()
    error = Capture("https://a.org/robots.txt", b"User-agent: *\nDisallow: /\n", "text/plain", status=503)
    write_warc(tmp_path / "crawl" / "0.warc.gz", [error])
    recipe = AFTERWARDS.partition("annotate")[0].replace("class: web", "class: web, accept_status: [200, 503]")
    (tmp_path / "recipe.yaml").write_text(recipe)
    assert main(["ingest", "recipe.yaml", "--workers", "1"]) == 0
    assert main(["robots", "recipe.yaml", "--output", "robots.jsonl"]) == 0
    assert json.loads((tmp_path / "robots.jsonl").read_text())["status"] == 503


def test_a_store_without_such_files_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(tmp_path)
    assert main(["ingest", "recipe.yaml", "--workers", "1"]) == 0
    assert main(["robots", "recipe.yaml", "--output", "robots.jsonl"]) == 3
    assert main(["robots", "recipe.yaml", "--output", "no/where.jsonl"]) == 1
    assert "its folder does not exist" in capsys.readouterr().err
    (tmp_path / "recipe.yaml").write_text(AFTERWARDS.replace("{rules: robots.jsonl}", "{}"))
    assert main(["plan", "recipe.yaml"]) == 1
    assert "url.robots: `rules` is not set" in capsys.readouterr().err
