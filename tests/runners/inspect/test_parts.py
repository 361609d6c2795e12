"""Shards that are read together give what each gives alone, and small ones are opened once for all views."""

import os
import shutil
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from tests.runners.inspect.opened_stores import ask, opened, write_store
from winnow.pipelines.store.facade import ObjectStore
from winnow.pipelines.store.tables import read_batches
from winnow.runners.commands.main import main
from winnow.runners.inspect import parts as module
from winnow.runners.inspect.frame import Frame, frame_of
from winnow.runners.inspect.opened import Opened
from winnow.runners.inspect.parts import Packs, Part, parts_of

CHARTS = [{"column": name} for name in ("source", "reason", "domain", "day", "text.length.characters")]
ASKED: tuple[tuple[str, dict[str, Any]], ...] = (
    ("linked", {"dimensions": CHARTS, "filters": {"domain": ["site1.example"]}}),
    ("funnel", {}),
    ("rules", {}),
    ("heatmap", {}),
    ("domains", {}),
    ("samples", {"order": "-text.gopher.words"}),
    ("samples", {"filter": {"text": "pears"}}),
    ("simulate", {"changes": [{"reason": "short", "cut": 0, "value": 30}]}),
    (
        "simulate",
        {"changes": [{"list": "keep", "drop": "samples.text LIKE '%pears%'", "reason": "wide", "when_null": "keep"}]},
    ),
)


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store of six shards of which two have forgotten rows."""
    found = write_store(tmp_path_factory.mktemp("parts") / "made", rows=260)
    ids = [row["id"] for row in ask(opened(found), "samples", size=100)["rows"]]
    assert main(["forget", str(found), "--id", ids[3], "--id", ids[40]]) == 0
    return found


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often each object was read by parts of several shards."""
    counts: Counter[str] = Counter()

    def counted(store: ObjectStore, path: str, columns: list[str] | None = None) -> Iterator[pa.RecordBatch]:
        counts[path] += 1
        return read_batches(store, path, columns)

    monkeypatch.setattr(module, "read_batches", counted)
    return counts


def arrays_of(frame: Frame) -> list[Any]:
    decided = (frame.fired, frame.first, frame.source, frame.language, frame.size, frame.starts)
    return [array.tolist() for array in decided]


def answers(shown: Opened) -> list[Any]:
    return [ask(shown, view, **asked) for view, asked in ASKED]


def test_views_say_the_same_however_many_shards_are_read_together(
    file: Path, monkeypatch: pytest.MonkeyPatch, reads: Counter[str]
) -> None:
    together = opened(file)
    assert [part.is_joined for part in frame_of(together).parts] == [True, True]  # a source each
    expected, arrays = answers(together), arrays_of(frame_of(together))
    assert reads
    reads.clear()
    for rows, shards in ((1, 1_024), (110, 1_024), (16_384, 2)):
        monkeypatch.setattr(module, "PART_ROWS", rows)
        monkeypatch.setattr(module, "PART_SHARDS", shards)
        shown = opened(file)
        assert arrays_of(frame_of(shown)) == arrays
        assert answers(shown) == expected
        assert bool(reads) == (rows > 1)


def test_each_small_object_is_opened_once_for_all_columns_of_plain_values(file: Path, reads: Counter[str]) -> None:
    shown = opened(file)
    ask(shown, "linked", dimensions=[{"column": name} for name in ("text.gopher.words", "text.length.bytes")])
    first = dict(reads)
    more = ("text.gopher.mean_word_length", "text.length.lines", "source", "domain", "samples.mime")
    ask(shown, "linked", dimensions=[{"column": name} for name in more])
    assert reads == first
    layers = {path: times for path, times in reads.items() if path.startswith("layers/text.")}
    assert set(layers.values()) == {1}


def test_a_rule_that_cannot_be_decided_is_named(file: Path, tmp_path: Path) -> None:
    folder = tmp_path / "copy"
    shutil.copytree(file.parent, folder)
    text = (folder / file.name).read_text()
    rule = '  - {drop: "CAST(samples.url AS INTEGER) > 1", reason: odd, when_null: keep}\n'
    (folder / file.name).write_text(text.replace("keep:\n", f"keep:\n{rule}", 1))
    why = frame_of(opened(folder / file.name)).why_no_rules
    assert why is not None
    assert "the condition of 'odd' fails on a row" in why


def test_what_finds_no_room_on_the_disk_is_read_again(
    file: Path, monkeypatch: pytest.MonkeyPatch, reads: Counter[str]
) -> None:
    def full(*_: object) -> int:
        raise OSError("no space left")

    expected = answers(opened(file))
    monkeypatch.setattr(os, "pwrite", full)
    shown = opened(file)
    assert answers(shown) == expected
    assert max(reads.values()) > 2


def test_parts_have_shards_of_one_source_up_to_a_number_of_rows() -> None:
    rows = [10_000, 6_000, 385, 20_000, 5, 5, 0, 5]
    starts = np.cumsum([0, *rows])
    found = parts_of(starts, ["a", "a", "a", "a", "a", "b", "b", "b"])
    assert [(part.first, part.end) for part in found] == [(0, 2), (2, 3), (3, 4), (4, 5), (5, 8)]
    assert [(part.start, part.rows) for part in found][-1] == (36_390, 10)
    assert parts_of(np.zeros(1, np.int64), []) == ()
    many = parts_of(np.arange(2_500, dtype=np.int64), ["a"] * 2_499)
    assert [part.end - part.first for part in many] == [1_024, 1_024, 451]


def test_packs_give_back_what_was_put_and_nothing_else() -> None:
    packs, batch = Packs(), pa.RecordBatch.from_pydict({"a": [1, None, 3], "b": ["x", "y", "z"]})
    part = Part(0, 3, 0, 2)
    assert packs.find(("samples", ("a", "b"), part)) is None
    packs.put(("samples", ("a", "b"), part), batch)
    packs.put(("samples", ("c",), part), batch.select(["a"]))
    assert packs.find(("samples", ("a", "b"), part)) == batch
    assert packs.find(("samples", ("a", "b"), Part(0, 3, 1, 3))) is None
