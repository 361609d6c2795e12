"""A reader that silently skips is caught by the audit, from the files alone."""

import gzip
import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard
from rich.console import Console

from tests.faults.crawl import write_crawl
from tests.messages import assert_told
from winnow import open_store
from winnow.pipelines.audit import Findings, audit_generation
from winnow.pipelines.binding.bound_recipe import bind
from winnow.pipelines.ingest.formats import container_reader
from winnow.pipelines.ingest.records import Covered, Event, Reader, ReadLimits
from winnow.pipelines.ingest.tables.columns import ColumnMapping
from winnow.runners.engines.engine import Engine
from winnow.runners.stages import store_stages as stages
from winnow.schemas.recipe import load_recipe
from winnow.schemas.records import FilePart

pytestmark = pytest.mark.processes

RECIPE = """
version: 1
store: {path: store}
sources:
  crawl: {root: crawl, files: ["*.warc.gz"], class: web}
  lines: {root: lines, files: ["*.jsonl"], class: public}
  packed: {root: packed, files: ["*.jsonl.gz"], class: public}
  table: {root: table, files: ["*.parquet"], class: public}
"""


@pytest.fixture
def crawl(tmp_path: Path) -> Path:
    write_crawl(tmp_path, archives=1, pages=20, lines=20)
    lines = b"".join(b'{"text": "line %d"}\n' % number for number in range(50))
    (tmp_path / "lines" / "a.jsonl").write_bytes(lines)
    (tmp_path / "packed").mkdir()
    (tmp_path / "packed" / "a.jsonl.gz").write_bytes(gzip.compress(lines))
    (tmp_path / "table").mkdir()
    pq.write_table(pa.table({"text": [f"row {number}" for number in range(50)]}), tmp_path / "table" / "a.parquet")
    (tmp_path / "recipe.yaml").write_text(RECIPE)
    return tmp_path


def audited(folder: Path) -> Findings:
    """Ingest in this process, then audit with the sources."""
    recipe = load_recipe(folder / "recipe.yaml")
    with open(os.devnull, "w") as nowhere:
        outcome = stages.ingest(bind(recipe), Engine("local", 1), Console(file=nowhere))
    return audit_generation(outcome.store, outcome.generation, bind(recipe).ingest(outcome.store))


def skipping(reader: Reader, *, stretch: bool) -> Reader:
    """A reader that leaves out the fifth event, and may stretch the one before it over the hole."""

    def read(stream: BinaryIO, part: FilePart, limits: ReadLimits) -> Iterator[Event]:
        held: Event | None = None
        events = (event for event in reader(stream, part, limits) if not isinstance(event, Covered))
        for number, event in enumerate(events):
            if number == 4 and held is not None:
                if stretch:
                    span = replace(held.span, length=held.span.length + event.span.length)
                    held = replace(held, span=span)
                continue
            if held is not None:
                yield held
            held = event
        if held is not None:
            yield held

    return read


def test_an_honest_store_is_clean(crawl: Path) -> None:
    findings = audited(crawl)
    assert findings.problems == []
    assert_told(findings.proved, "accounted for exactly")


@pytest.mark.parametrize("stretch", [False, True], ids=["leaves a hole", "stretches its neighbour over it"])
@pytest.mark.parametrize("source", ["crawl", "lines", "packed", "table"])
def test_a_reader_that_skips_is_caught(
    crawl: Path, monkeypatch: pytest.MonkeyPatch, source: str, stretch: bool
) -> None:
    def broken(format_name: str, path: str, columns: ColumnMapping, *, checked: bool, with_referrers: bool) -> Reader:
        reader = container_reader(format_name, path, columns, checked=checked, with_referrers=with_referrers)
        endings = {"crawl": ".warc.gz", "lines": ".jsonl", "packed": ".jsonl.gz", "table": ".parquet"}
        return skipping(reader, stretch=stretch) if path.endswith(endings[source]) else reader

    monkeypatch.setattr("winnow.pipelines.ingest.task.container_reader", broken)
    findings = audited(crawl)
    assert findings.problems
    assert all(problem.startswith(f"{source}: ") for problem in findings.problems)


def test_an_object_that_changed_is_caught(crawl: Path) -> None:
    audited(crawl)
    victim = next((crawl / "store" / "samples").glob("crawl-*.parquet"))
    raw = bytearray(victim.read_bytes())
    raw[len(raw) // 3] ^= 1
    victim.write_bytes(raw)
    assert any(victim.name in problem for problem in audited(crawl).problems)


def test_a_source_that_changed_is_caught(crawl: Path) -> None:
    recipe = load_recipe(crawl / "recipe.yaml")
    audited(crawl)
    archive = next((crawl / "crawl").iterdir())
    archive.write_bytes(archive.read_bytes()[:-100])
    store = open_store(crawl / "store")
    findings = audit_generation(store, store.require_latest(), bind(recipe).ingest(store))
    assert any("when it was ingested" in problem for problem in findings.problems)


@pytest.mark.parametrize("name", ["a.jsonl.gz", "a.jsonl.zst"])
@pytest.mark.parametrize("cut", [0.2, 0.5, 0.9])
def test_a_damaged_compressed_file_of_lines_is_answered_for(crawl: Path, name: str, cut: float) -> None:
    lines = b"".join(b'{"text": "line %d %d"}\n' % (number, number * 7919 % 10_007) for number in range(40_000))
    raw = gzip.compress(lines) if name.endswith("gz") else zstandard.compress(lines)
    (crawl / "packed" / "a.jsonl.gz").unlink()
    (crawl / "packed" / name).write_bytes(raw[: int(len(raw) * cut)])
    recipe = crawl / "recipe.yaml"
    recipe.write_text(recipe.read_text().replace("*.jsonl.gz", "*.jsonl.*"))
    assert audited(crawl).problems == []
