"""Workers that die under a living driver, and rows that kill whoever touches them."""

import json
import os
from pathlib import Path

import pytest

from tests.faults.crawl import write_crawl, write_recipe
from tests.faults.winnow import run, run_here, tree_hash

pytestmark = pytest.mark.processes

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


def spared() -> bool:
    """Whether a worker was killed before, if one is to be."""
    try:
        os.close(os.open(os.environ["KILLED_ONCE"], os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return True
    except KeyError:
        pass
    return False


def extract(pages: pa.RecordBatch, config: LethalConfig) -> pa.RecordBatch:
    rows = []
    for html in pages["html"].to_pylist():
        if html is not None and config.deadly in html and not spared():
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


@pytest.mark.large
def test_a_worker_that_is_killed_once_costs_nothing(tmp_path: Path, lethal: dict[str, str]) -> None:
    """It dies in the middle of a task, when others are done."""
    mark = tmp_path / "killed"
    for name in ("killed once", "undisturbed"):
        write_crawl(tmp_path / name, archives=3, pages=40)
        write_recipe(tmp_path / name, "lethal")
        assert mark.exists() == (name == "undisturbed")
        done = run(tmp_path / name, "ingest", "recipe.yaml", "--workers", "2", env=lethal | {"KILLED_ONCE": str(mark)})
        assert done.status == 0, done.out + done.err
        assert not (tmp_path / name / "store" / "poison").exists()
    audited = run(tmp_path / "killed once", "audit", "recipe.yaml", env=lethal)
    assert audited.status == 0, audited.out + audited.err
    assert tree_hash(tmp_path / "killed once") == tree_hash(tmp_path / "undisturbed")
