"""Workers that die under a living driver, and rows that kill whoever touches them."""

import json
import os
import signal
import time
from pathlib import Path

import psutil
import pytest

from tests.faults.crawl import write_crawl, write_recipe
from tests.faults.winnow import assert_clean, run, run_here, start, tree_hash

LETHAL = '''
"""An extractor that some pages kill, as a fault in a native library would."""

import os
import signal
from dataclasses import dataclass

import pyarrow as pa

from winnow.filters.extractors import Extractor
from winnow.schemas.rows.extraction import EXTRACTION


@dataclass(frozen=True)
class LethalConfig:
    deadly: str = "<title>7</title>"


def extract(pages: pa.RecordBatch, config: LethalConfig) -> pa.RecordBatch:
    rows = []
    for html in pages["html"].to_pylist():
        if html is not None and config.deadly in html:
            os.kill(os.getpid(), signal.SIGKILL)
        rows.append({"status": "not_html" if html is None else "ok", "text": html and html[:20]})
    return pa.RecordBatch.from_pylist(rows, schema=EXTRACTION)


EXTRACTOR = Extractor("lethal", 1, LethalConfig, extract)
'''


@pytest.fixture
def lethal(tmp_path: Path) -> dict[str, str]:
    """An installed third-party package that adds the extractor by entry point."""
    packages = tmp_path / "packages"
    info = packages / "winnow_lethal-1.0.dist-info"
    info.mkdir(parents=True)
    (packages / "winnow_lethal.py").write_text(LETHAL)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: winnow-lethal\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[winnow.extractors]\nlethal = winnow_lethal:EXTRACTOR\n")
    return {"PYTHONPATH": os.pathsep.join(filter(None, (str(packages), os.environ.get("PYTHONPATH"))))}


@pytest.mark.large
@pytest.mark.parametrize("late", [False, True], ids=["in the same read", "read again later"])
def test_a_row_that_kills_its_worker_three_times_is_left_out_and_stays_out(
    tmp_path: Path, lethal: dict[str, str], late: bool
) -> None:
    write_crawl(tmp_path, archives=1, pages=12)
    if late:
        write_recipe(tmp_path, name="without.yaml")
        assert run_here(tmp_path, "ingest", "without.yaml", "--workers", "1").status == 0
    write_recipe(tmp_path, "lethal")
    done = run(tmp_path, "ingest", "recipe.yaml", "--workers", "2", env=lethal)
    assert done.status == 0, done.out + done.err
    assert "skipped, as it repeatedly killed its worker" in done.out
    assert len(list((tmp_path / "store" / "poison" / "crawl").iterdir())) == 1
    summary = json.loads(run_here(tmp_path, "stats", "store", "--json").out)
    crawl = next(source for source in summary["sources"] if source["name"] == "crawl")
    layer = next(layer for layer in summary["layers"] if layer["name"] == "extract.lethal")
    if late:
        assert layer["statuses"]["ok"] == 11
    else:
        assert crawl["quarantined"]["killed_worker"] == 1
        assert crawl["samples"] == 11
    first = tree_hash(tmp_path)
    again = run(tmp_path, "ingest", "recipe.yaml", "--workers", "2", env=lethal)
    assert again.status == 0
    assert tree_hash(tmp_path) == first


def worker_processes(driver: int) -> list[psutil.Process]:
    found = []
    for child in psutil.Process(driver).children(recursive=True):
        try:
            if (
                "winnow.pipelines.running.fork_server" in child.cmdline() and child.ppid() != driver
            ):  # not the fork server itself
                found.append(child)
        except psutil.Error:  # it has just ended
            continue
    return found


@pytest.mark.large
def test_a_worker_that_is_killed_once_costs_nothing(tmp_path: Path) -> None:
    write_crawl(tmp_path)
    write_recipe(tmp_path, "fast")
    process = start(tmp_path, "ingest", "recipe.yaml", "--workers", "2")
    killed = False
    for _ in range(600):
        workers = worker_processes(process.pid)
        if workers and len(list((tmp_path / "store").glob("commits/samples/*/*"))) >= 2:
            os.kill(workers[-1].pid, signal.SIGKILL)
            killed = True
            break
        if process.poll() is not None:
            break
        time.sleep(0.02)
    assert killed, "the run ended before a worker could be killed"
    assert process.wait(120) == 0
    assert_clean(tmp_path)
    undisturbed = tmp_path / "undisturbed"
    write_crawl(undisturbed)
    write_recipe(undisturbed, "fast")
    assert run_here(undisturbed, "ingest", "recipe.yaml", "--workers", "1").status == 0
    assert tree_hash(tmp_path) == tree_hash(undisturbed)
    assert not (tmp_path / "store" / "poison").exists()
