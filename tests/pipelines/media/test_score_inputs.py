"""Pictures for tasks: decoded as for operators, a bounded number at once, and each row says why it has none."""

import json
import os
import shutil
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from io import BytesIO
from pathlib import Path
from typing import Any, cast

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from numpy.typing import NDArray
from PIL import Image
from rich.console import Console

from tests.messages import assert_told
from winnow.pipelines.binding import scores as binding
from winnow.pipelines.binding.bound_recipe import bind
from winnow.pipelines.binding.scores import BoundScore, Condition
from winnow.pipelines.media.score_inputs import DECODED, ROWS, Inputs
from winnow.pipelines.media.thumbnails import picture_source
from winnow.pipelines.preflight.check import AskedScores, preflight
from winnow.pipelines.reading.columns import Column
from winnow.pipelines.running.ledger.worker_deaths import STRIKES, Mark, Position, record_deaths
from winnow.pipelines.running.row_layers import RowLayerTask
from winnow.pipelines.running.worker import HeartbeatWriter
from winnow.pipelines.score.example_buffer import bytes_of
from winnow.pipelines.score.examples import Collected, ScoredShard, collect_examples, encoded_rows
from winnow.pipelines.score.trace import MeasureTracer, TraceContext, trace_shard
from winnow.pipelines.store.generations import Store
from winnow.pipelines.store.location import open_store_at
from winnow.runners.engines.engine import Engine
from winnow.runners.stages.store_stages import ingest
from winnow.schemas.errors import ScoreError, StageError
from winnow.schemas.recipe import Recipe, load_recipe
from winnow.scoring.protocol import (
    IMAGE,
    NO_INPUT,
    OK,
    TEXT,
    Encoded,
    Files,
    Floats,
    Task,
    TaskKind,
    picture_type,
)

RECIPE = """
version: 1
store: {path: store, seed: 7}
sources:
  crawl: {root: pictures, files: ["*.png"], class: web}
  pages: {root: pages, files: ["*.jsonl"], class: web, key: id}
score:
  numbered: {task: numbered}
"""
COUNT = 300  # pictures
MIB = 1 << 20
SIDE = 8


@dataclass(frozen=True)
class NoConfig:
    """A task without options."""


@dataclass(frozen=True)
class Numbers:
    """A number for each example."""

    numbers: NDArray[np.int64]


@dataclass
class Numbered:
    """Measures which number's colour a picture has."""

    reads: tuple[str, ...] = (IMAGE,)
    batch_size: int = 0
    side: int = SIDE
    calls: list[int] = field(default_factory=list)  # rows that were read at once

    def encode(self, rows: pa.RecordBatch) -> Encoded:
        assert rows[IMAGE].type == picture_type(self.side)
        return self.examples([None if one is None else one[0] + 256 * one[1] for one in rows[IMAGE].to_pylist()])

    def examples(self, numbers: Sequence[int | None]) -> Encoded:
        self.calls.append(len(numbers))
        found = Numbers(np.array([one for one in numbers if one is not None], np.int64))
        status = np.array([NO_INPUT if one is None else OK for one in numbers], object)
        return Encoded(status, found, len(found.numbers))

    def joined(self, parts: Sequence[Numbers]) -> Numbers:
        return Numbers(np.concatenate([part.numbers for part in parts]))

    def chosen(self, examples: Numbers, which: NDArray[np.int64]) -> Numbers:
        return Numbers(examples.numbers[which])

    def values(self, examples: Numbers) -> Floats:
        return examples.numbers.astype(float)


def load(_config: NoConfig, _files: Files) -> Numbered:
    return Numbered()


def reads(_config: NoConfig) -> tuple[str, ...]:
    return (IMAGE,)


NUMBERED = TaskKind("numbered", 1, "the number of a picture", NoConfig, load, reads, measures=True)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("whole")
    (folder / "pictures").mkdir()
    (folder / "pages").mkdir()
    for number in range(COUNT):
        (folder / "pictures" / f"{number:03d}.png").write_bytes(picture(number))
    (folder / "pages" / "a.jsonl").write_text(json.dumps({"id": "1", "text": "No picture here."}) + "\n")
    (folder / "recipe.yaml").write_text(RECIPE)
    ingest(bind(load_recipe(folder / "recipe.yaml")), Engine("local", 1), Console(quiet=True))
    return folder


def picture(number: int, kind: str = "PNG", **options: Any) -> bytes:
    """A picture whose colour says its number."""
    file = BytesIO()
    Image.new("RGB", (12, 6), (number % 256, number // 256, 0)).save(file, kind, **options)
    return file.getvalue()


@pytest.fixture
def scores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(binding, "find_task", lambda _name: NUMBERED)


@pytest.fixture
def folder(whole: Path, tmp_path: Path, scores: None) -> Path:
    return Path(shutil.copytree(whole, tmp_path / "copy"))


@dataclass
class Traced:
    """A trace of every shard."""

    statuses: dict[str, str] = field(default_factory=dict)  # by the file of the row
    values: dict[str, float | None] = field(default_factory=dict)
    calls: list[int] = field(default_factory=list)

    @property
    def counted(self) -> Counter[str]:
        return Counter(self.statuses.values())


def parts_of(folder: Path) -> tuple[Recipe, Store, BoundScore, Inputs]:
    recipe = load_recipe(folder / "recipe.yaml")
    (bound,) = bind(recipe).scores
    return recipe, open_store_at(folder / "store"), bound, Inputs(picture_source(recipe))


def trace(folder: Path, measure: Numbered | None = None) -> Traced:
    measure = measure or Numbered()
    _, store, bound, inputs = parts_of(folder)
    context, traced = TraceContext(store, bound, None, (), None, inputs), Traced()
    for shard in store.manifest(store.require_latest(), "samples"):
        missing = {bound.entry.trace: "0" * 32}
        task = RowLayerTask(shard.shard, shard.source, {"samples": shard.object}, missing)
        trace_shard(context, MeasureTracer(measure), task, HeartbeatWriter(store.objects, task.commit))
        (path,) = (info.path for info in store.objects.list("layers/") if shard.shard in info.path)
        found = pq.read_table(folder / "store" / path).to_pydict()
        files = paths_of(folder, shard.object)
        traced.statuses |= dict(zip(files, found["status"], strict=True))
        traced.values |= dict(zip(files, found["m1"], strict=True))
    traced.calls = measure.calls
    return traced


def collected(folder: Path, max_samples: int = 1000, max_bytes: int = 4 << 30) -> Collected:
    _, store, bound, inputs = parts_of(folder)
    rows = store.manifest(store.require_latest(), "samples")
    shards = [ScoredShard(one.shard, one.source, {"samples": one.object}) for one in rows]
    task = cast(Task, Numbered())
    every = Condition(None, ())
    found = collect_examples(store, task, bound, shards, every, "reference", max_samples, inputs, max_bytes)
    assert max(cast(Numbered, task).calls) <= ROWS
    return found


def paths_of(folder: Path, samples: str) -> list[str]:
    table = pq.read_table(folder / "store" / samples, columns=["source"])
    return [one["path"] for one in table["source"].to_pylist()]


def poison(folder: Path, path: str) -> None:
    store = open_store_at(folder / "store")
    record_deaths(store.objects, [Mark("trace.numbered/crawl", "a-shard", Position(path, 0, 0))] * STRIKES)


def test_so_many_rows_of_pictures_are_read_at_once(folder: Path) -> None:
    traced = trace(folder)
    assert traced.counted == {"ok": COUNT, "no_input": 1}
    assert traced.statuses["a.jsonl"] == "no_input"
    assert {path: value for path, value in traced.values.items() if path != "a.jsonl"} == {
        f"{number:03d}.png": number for number in range(COUNT)
    }
    assert max(traced.calls) == ROWS


def test_as_many_pictures_are_read_at_once_as_may_be_decoded(folder: Path) -> None:
    side = 1024
    assert max(trace(folder, Numbered(side=side)).calls) == DECODED // (3 * side * side) == 21


def test_an_image_that_has_changed_is_unreadable(folder: Path) -> None:
    (folder / "pictures" / "007.png").write_bytes(picture(99))
    traced = trace(folder)
    assert traced.statuses["007.png"] == "unreadable"
    assert traced.counted == {"ok": COUNT - 1, "no_input": 1, "unreadable": 1}
    assert collected(folder).excluded == {"no_input": 1, "unreadable": 1}


def test_a_source_that_is_not_there_fails_the_task_and_leaves_no_trace(folder: Path) -> None:
    (folder / "pictures").rename(folder / "elsewhere")
    for mount_point in (False, True):  # where a disk is not mounted stands an empty folder
        if mount_point:
            (folder / "pictures").mkdir()
        for read in (trace, collected):
            with pytest.raises(StageError) as error:
                read(folder)
            assert_told(str(error.value), "source crawl", str(folder / "pictures"), whole=True)
    assert not list((folder / "store/commits").rglob("trace.numbered/**/*.json"))
    (folder / "pictures").rmdir()
    (folder / "elsewhere").rename(folder / "pictures")
    assert trace(folder).counted["ok"] == COUNT


@pytest.mark.parametrize("how", ["deleted", "a folder", "may not be read"])
def test_a_file_that_alone_is_not_there_is_missing_and_counted(folder: Path, how: str) -> None:
    file = folder / "pictures" / "007.png"
    if how == "may not be read":
        file.chmod(0)
        if os.access(file, os.R_OK):
            pytest.skip("this user may read every file")
    else:
        file.unlink()
    if how == "a folder":
        file.mkdir()
    traced = trace(folder)
    assert (traced.statuses["007.png"], traced.values["007.png"]) == ("image_missing", None)
    assert traced.counted == {"ok": COUNT - 1, "no_input": 1, "image_missing": 1}
    assert collected(folder).excluded == {"image_missing": 1, "no_input": 1}


def test_a_file_that_another_run_may_reach_fails_the_task(folder: Path) -> None:
    file = folder / "pictures" / "007.png"
    file.unlink()
    file.symlink_to(file.name)  # opening it goes round in circles, as a share that is stale fails in its own way
    with pytest.raises(StageError) as error:
        trace(folder)
    assert_told(str(error.value), "source crawl", "007.png")
    assert_told(str(error.value), "'where'", "forget them")


def test_rows_that_have_killed_workers_are_not_trained_on(folder: Path) -> None:
    before = collected(folder)
    assert (before.count, before.matching) == (COUNT, COUNT + 1)
    poison(folder, "250.png")
    after = collected(folder)
    assert (after.count, after.matching) == (COUNT - 1, COUNT + 1)
    assert after.excluded == {"left_out": 1, "no_input": 1}
    assert set(before.examples.numbers.tolist()) - set(after.examples.numbers.tolist()) == {250}
    assert trace(folder).statuses["250.png"] == "left_out"


def test_examples_are_in_the_order_of_their_hashes_however_few_are_wanted(folder: Path) -> None:
    all_of_them, ten = collected(folder).examples.numbers, collected(folder, 10).examples.numbers
    assert 9 <= len(ten) <= 10  # one row has no image
    np.testing.assert_array_equal(ten, all_of_them[: len(ten)])


def test_examples_that_are_larger_than_may_be_held_are_said_in_one_line(folder: Path) -> None:
    with pytest.raises(ScoreError) as error:
        collected(folder, max_bytes=400)
    said = str(error.value)
    assert_told(said, "score.numbered", "much memory")
    assert " of 301 samples take " in said
    assert_told(said, "400", "max_samples")
    assert "\n" not in said
    assert collected(folder, 40, max_bytes=640).count >= 39


def test_bytes_of_examples_are_those_of_their_arrays() -> None:
    numbers = np.zeros(100, np.int64)
    assert bytes_of(numbers) == 800
    assert bytes_of(Numbers(numbers)) == 800
    assert bytes_of({"a": [Numbers(numbers), numbers], "b": b"1234"}) == 1604


@dataclass
class Texts(Numbered):
    """Measures the bytes of a text."""

    reads: tuple[str, ...] = (TEXT,)

    def encode(self, rows: pa.RecordBatch) -> Encoded:
        return self.examples([None if one is None else len(one) for one in rows[TEXT].to_pylist()])


def test_as_many_texts_are_examples_at_once_as_their_bytes_allow(folder: Path) -> None:
    _, _, bound, inputs = parts_of(folder)
    bound = replace(bound, text=(Column("samples", "text"),))
    texts = ["x" * (5 * MIB), None, "x" * (11 * MIB), "y", "z" * (17 * MIB), "too long" * (9 * MIB), "end"]
    read = {"samples.text": pa.array(texts, pa.large_string())}
    measure = Texts()
    found = list(encoded_rows(measure, replace(bound, max_text_bytes=64 * MIB), read, inputs, "pages"))
    assert [(rows.start, rows.stop) for rows, _ in found] == [(0, 3), (3, 4), (4, 5), (5, 7)]
    assert [list(encoded.status) for _, encoded in found] == [[OK, NO_INPUT, OK], [OK], [OK], [NO_INPUT, OK]]
    assert measure.calls == [3, 1, 1, 2]
    assert not list(encoded_rows(measure, bound, {"samples.text": pa.array([], pa.large_string())}, inputs, "pages"))


def test_a_task_is_tried_once_in_a_process(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    loaded = []

    def counted(config: NoConfig, files: Files) -> Numbered:
        loaded.append(config)
        return load(config, files)

    kind = replace(NUMBERED, name="numbered_that_is_tried", load=counted)
    monkeypatch.setattr(binding, "find_task", lambda _name: kind)
    recipe, _, _, _ = parts_of(folder)
    bound = bind(recipe)
    for _ in range(3):
        preflight(AskedScores(recipe=bound, scores=bound.scores))
    assert len(loaded) == 1
    text = (folder / "recipe.yaml").read_text()
    (folder / "recipe.yaml").write_text(text.replace("seed: 7", "seed: 8"))
    bound = bind(load_recipe(folder / "recipe.yaml"))
    preflight(AskedScores(recipe=bound, scores=bound.scores))
    assert len(loaded) == 2
