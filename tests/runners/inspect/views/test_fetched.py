"""What became of the addresses of fetched sources, on a disk and in a bucket."""

import shutil
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from benchmarks.inputs.loopback_s3 import BUCKET, serving
from tests.runners.inspect.asking import opened, opened_at, served
from winnow.pipelines.fetch.log import log_path, log_table
from winnow.pipelines.fetch.outcome import Decision, Outcome, Reason
from winnow.pipelines.forgetting.requests import parse_selector, selectors_of
from winnow.pipelines.store.hiding.scans import put_tombstone
from winnow.pipelines.store.location import open_store_at

OUTCOMES = [
    Outcome(url="https://a.example/1", decision=Decision.FETCHED, reason=Reason.OK, domain="a.example", body_bytes=7),
    Outcome(url="https://secret.example/", decision=Decision.REFUSED, reason=Reason.ROBOTS, domain="secret.example"),
    Outcome(url="no address", decision=Decision.FAILED, reason=Reason.NO_ADDRESS),
]


def test_addresses_are_counted_by_end_and_site_and_forgotten_sites_have_no_names(
    books: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "fetched"
    shutil.copytree(books, folder)
    log = folder / "store" / "fetched" / "crawl" / log_path("one")
    log.parent.mkdir(parents=True)
    pq.write_table(log_table(OUTCOMES), log)
    tombstone = selectors_of([parse_selector("domain", "secret.example")]).tombstone("")
    put_tombstone(open_store_at(str(folder / "store")).objects, tombstone)
    with served(opened(folder / "recipe.yaml")) as page:
        (found,) = page.view("fetched")["answer"]["sources"]
    assert (found["source"], found["addresses"]) == ("crawl", 3)
    assert [(row["decision"], row["reason"], row["addresses"], row["size"]) for row in found["ended"]] == [
        ("failed", "no_address", 1, 0),
        ("fetched", "ok", 1, 7),
        ("refused", "robots", 1, 0),
    ]
    assert [row["site"] for row in found["sites"]] == ["(none)", "a.example", "forgotten"]
    assert "secret" not in str(found)
    with serving(folder) as server:
        for name, value in server.environment.items():
            monkeypatch.setenv(name, value)
        with served(opened_at(f"s3://{BUCKET}/store")) as page:
            assert page.view("fetched")["answer"]["sources"] == [found]
