"""Whatever a reader, a prober or a library raises on content costs its range; any other error passes."""

import io
import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa
import pytest

from tests.faults.winnow import assert_clean, run_here
from tests.pipelines.ingest.bad_files import arrow, lines, parquet, seeds
from winnow.filters.extraction.extract_main import EXTRACTOR
from winnow.pipelines.decoding.probe import Probe, probe_bytes
from winnow.pipelines.ingest import row_maker, task
from winnow.pipelines.ingest.boundary import GuardedReader
from winnow.pipelines.ingest.planning.context import BoundExtractor
from winnow.pipelines.ingest.records import Covered, Event, ReadLimits, Record, Span, Unreadable
from winnow.pipelines.ingest.shards import extract
from winnow.pipelines.ingest.tables import arrow_tables, jsonl
from winnow.pipelines.store.location import open_store_at
from winnow.pipelines.store.tables import read_batches
from winnow.schemas.errors import StoreError
from winnow.schemas.records import FilePart

RECIPE = """
version: 1
store: {path: store, seed: 7}
sources:
  files: {root: files, files: ["*"], class: web}
"""


def failing(real: Callable[..., Any], word: str) -> Callable[..., Any]:
    """In place of a function: raises where its first argument holds a word."""

    def fails(*arguments: Any, **named: Any) -> Any:
        if word in repr(arguments[0]):
            raise IndexError("list index out of range")
        return real(*arguments, **named)

    return fails


def ingested(folder: Path, files: dict[str, bytes]) -> tuple[str, list[tuple[str, str]], list[str]]:
    """What ingest prints, the quarantined ranges, and the keys of rows by file; everything is accounted for."""
    (folder / "files").mkdir()
    for name, raw in files.items():
        (folder / "files" / name).write_bytes(raw)
    (folder / "recipe.yaml").write_text(RECIPE)
    done = run_here(folder, "ingest", "recipe.yaml", "--workers", "1")
    assert done.status == 0, done.err
    assert_clean(folder)
    store = open_store_at(folder / "store")
    generation = store.require_latest()
    ranges = [one.quarantine for one in store.each_task(generation) if one.quarantine is not None]
    refused = [row for one in ranges for batch in read_batches(store.objects, one.path) for row in batch.to_pylist()]
    shards = store.manifest(generation, "samples")
    rows = [origin for shard in shards for batch in store.batches(shard, ["source"]) for origin in batch[0].to_pylist()]
    return (
        done.out + done.err,
        sorted((row["path"], row["reason"]) for row in refused),
        sorted(f"{row['path']} {row['record']}" for row in rows),
    )


@pytest.mark.parametrize(
    ("name", "raw", "module", "function"),
    [
        ("bad.jsonl", lines(), jsonl, "parse_row"),
        ("bad.jsonl.zst", seeds()["tables"][".jsonl.zst"], jsonl, "parse_row"),
        ("bad.parquet", parquet(), arrow_tables, "row_event"),
        ("bad.arrow", arrow(in_file=True), arrow_tables, "row_event"),
    ],
)
def test_a_reader_that_fails_costs_what_it_had_not_read(
    name: str, raw: bytes, module: Any, function: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, function, failing(getattr(module, function), "zweiter"))
    said, refused, rows = ingested(tmp_path, {name: raw, "good.txt": b"A text.", "good.html": b"<p>A page.</p>"})
    assert refused == [(name, "reader_failed")]
    assert [row for row in rows if row.startswith("good")] == ["good.html file", "good.txt file"]
    assert sum(row.startswith("bad") for row in rows) == (2 if function == "row_event" else 1)
    assert "reader_failed 1" in said
    assert "please report" in said


def test_a_prober_that_fails_costs_its_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(row_maker, "probe_bytes", failing(probe_bytes, "PNG"))
    _, refused, rows = ingested(tmp_path, {"a.png": seeds()["album"][".png"], "good.txt": b"A text."})
    assert refused == [("a.png", "reader_failed")]
    assert rows == ["good.txt file"]


def test_a_row_that_no_column_holds_costs_itself_and_no_row_of_its_batch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(row_maker, "probe_bytes", lambda *_: Probe(frames=1 << 40))
    _, refused, rows = ingested(tmp_path, {"a.png": seeds()["album"][".png"], "b.txt": b"A text.", "c.txt": b"Two."})
    assert refused == [("a.png", "reader_failed")]
    assert rows == ["b.txt file", "c.txt file"]


def test_an_extractor_that_fails_on_a_page_fails_on_that_page_alone() -> None:
    def kernel(pages: pa.RecordBatch, config: object) -> pa.RecordBatch:
        if "bad" in str(pages["html"].to_pylist()):
            raise ValueError("a bug")
        return EXTRACTOR.kernel(pages, config)

    bound = BoundExtractor(replace(EXTRACTOR, kernel=kernel), EXTRACTOR.config(), None)
    html = ["<p>One page of text.</p>", "<p>bad</p>", None, "<p>Another page of text.</p>"]
    pages = pa.RecordBatch.from_pydict(
        {"html": pa.array(html, pa.large_string()), "url": pa.array([None] * 4, pa.string())}
    )
    made = extract(bound, pages, pages)
    assert made["status"].to_pylist() == ["ok", "failed", "not_html", "ok"]


def reading(error: Exception) -> list[Event]:
    def read(stream: BinaryIO, part: FilePart, limits: ReadLimits) -> Iterator[Event]:
        yield Record(Span(0, 4), None, "file", text="one")
        raise error

    events = GuardedReader(read)(io.BytesIO(bytes(10)), FilePart("a", 10, 0, 10), ReadLimits())
    return [one for one in events if not isinstance(one, Covered)]


@pytest.mark.parametrize(
    "error", [MemoryError(), pa.ArrowMemoryError("no room"), OSError(5, "Input/output error"), StoreError("gone")]
)
def test_what_says_nothing_of_the_content_passes(error: Exception) -> None:
    with pytest.raises(type(error)):
        reading(error)


@pytest.mark.parametrize(
    "error", [AssertionError(), KeyError("x"), RecursionError(), OSError("bad content"), UnicodeError("\udc80")]
)
def test_the_rest_of_the_part_is_quarantined(error: Exception) -> None:
    *_, last = reading(error)
    assert isinstance(last, Unreadable)
    assert (last.span, last.reason) == (Span(4, 6), "reader_failed")
    assert last.detail.isprintable()


def test_what_is_said_does_not_differ_from_run_to_run() -> None:
    *_, last = reading(ValueError(f"<object at {hex(id(object()))}>\n"))
    assert isinstance(last, Unreadable)
    assert last.detail == "ValueError: <object at 0x…>\\n"


def test_a_failing_system_fails_the_task(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "files").mkdir()
    (tmp_path / "files/a.jsonl").write_text(json.dumps({"text": "A text."}) + "\n")
    (tmp_path / "recipe.yaml").write_text(RECIPE)

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(task, "sample_batch", full)
    monkeypatch.setattr("winnow.pipelines.ingest.shards.sample_batch", full)
    assert run_here(tmp_path, "ingest", "recipe.yaml", "--workers", "1", "--quiet").status == 1
