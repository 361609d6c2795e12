"""Images for tasks: a bounded number at once, and a row says that it has none only where that is so."""

import json
import os
import shutil
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import cast

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from numpy.typing import NDArray
from rich.console import Console

from tests.pipelines.export.test_media import png
from winnow.pipelines.binding import scores as binding
from winnow.pipelines.binding.bound_recipe import bind
from winnow.pipelines.binding.scores import BoundScore, Condition, check_scores
from winnow.pipelines.media.references import media_sources
from winnow.pipelines.media.score_inputs import BYTES, ROWS, Inputs
from winnow.pipelines.query.columns import Column
from winnow.pipelines.running.ledger.strikes import STRIKES, Mark, Position, put_strikes
from winnow.pipelines.running.row_layers import RowLayerTask
from winnow.pipelines.running.worker import Heartbeats
from winnow.pipelines.score.example_buffer import bytes_of
from winnow.pipelines.score.examples import DECODED, Collected, ScoredShard, collect_examples, encoded_rows
from winnow.pipelines.score.trace import MeasureTracer, TraceContext, trace_shard
from winnow.pipelines.store.generations import Store
from winnow.pipelines.store.location import open_store_at
from winnow.runners.engines.engine import Engine
from winnow.runners.stages.store_stages import ingest
from winnow.schemas.errors import ScoreError, StageError
from winnow.schemas.recipe import Recipe, load_recipe
from winnow.scoring.tasks.protocol import IMAGE, NO_INPUT, OK, TEXT, Encoded, Files, Floats, Task, TaskKind

RECIPE = """
version: 1
store: {path: store, seed: 7}
sources:
  crawl: {root: pictures, files: ["*.png"], class: web}
  pages: {root: pages, files: ["*.jsonl"], class: web, key: id}
score:
  size: {task: size}
"""
SMALL, LARGE = 300, 20  # how many images
MIB = 1 << 20


@dataclass(frozen=True)
class NoConfig:
    """A task without options."""


@dataclass(frozen=True)
class Sizes:
    """How long each image's file is."""

    lengths: NDArray[np.int64]


@dataclass
class Size:
    """Measures the bytes of an image."""

    reads: tuple[str, ...] = (IMAGE,)
    batch_size: int = 0
    example_bytes: int = 0
    calls: list[tuple[int, int]] = field(default_factory=list)  # rows and bytes that were read at once

    def encode(self, rows: pa.RecordBatch) -> Encoded:
        lengths = np.array([len(one or b"") for one in rows[IMAGE].to_pylist()], np.int64)
        self.calls.append((len(lengths), int(lengths.sum())))
        good = lengths > 0
        return Encoded(np.where(good, OK, NO_INPUT).astype(object), Sizes(lengths[good]), int(good.sum()))

    def joined(self, parts: Sequence[Sizes]) -> Sizes:
        return Sizes(np.concatenate([part.lengths for part in parts]))

    def chosen(self, examples: Sizes, which: NDArray[np.int64]) -> Sizes:
        return Sizes(examples.lengths[which])

    def values(self, examples: Sizes) -> Floats:
        return examples.lengths.astype(float)


def load(_config: NoConfig, _files: Files) -> Size:
    return Size()


def reads(_config: NoConfig) -> tuple[str, ...]:
    return (IMAGE,)


SIZE = TaskKind("size", 1, "the bytes of an image", NoConfig, load, reads, measures=True)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("whole")
    (folder / "pictures").mkdir()
    (folder / "pages").mkdir()
    for number in range(SMALL):
        (folder / "pictures" / f"{number:03d}.png").write_bytes(picture(number))
    for number in range(LARGE):
        (folder / "pictures" / f"large-{number:02d}.png").write_bytes(png(number) + bytes(MIB))
    (folder / "pages" / "a.jsonl").write_text(json.dumps({"id": "1", "text": "No picture here."}) + "\n")
    (folder / "recipe.yaml").write_text(RECIPE)
    ingest(bind(load_recipe(folder / "recipe.yaml")), Engine("local", 1), Console(quiet=True))
    return folder


def picture(number: int) -> bytes:
    return png(number % 256) + bytes(number)


@pytest.fixture
def scores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(binding, "find_task", lambda _name: SIZE)


@pytest.fixture
def folder(whole: Path, tmp_path: Path, scores: None) -> Path:
    return Path(shutil.copytree(whole, tmp_path / "copy"))


@dataclass
class Traced:
    """A trace of every shard."""

    statuses: dict[str, str] = field(default_factory=dict)  # by the file of the row
    values: dict[str, float | None] = field(default_factory=dict)
    calls: list[tuple[int, int]] = field(default_factory=list)

    @property
    def counted(self) -> Counter[str]:
        return Counter(self.statuses.values())


def parts_of(folder: Path) -> tuple[Recipe, Store, BoundScore, Inputs]:
    recipe = load_recipe(folder / "recipe.yaml")
    (bound,) = bind(recipe).scores
    return recipe, open_store_at(folder / "store"), bound, Inputs(media_sources(recipe))


def trace(folder: Path, measure: Size | None = None) -> Traced:
    measure = measure or Size()
    _, store, bound, inputs = parts_of(folder)
    context, traced = TraceContext(store, bound, None, (), inputs), Traced()
    for shard in store.manifest(store.require_latest(), "samples"):
        missing = {bound.entry.trace: "0" * 32}
        task = RowLayerTask(shard.shard, shard.source, {"samples": shard.object}, missing)
        trace_shard(context, MeasureTracer(measure), task, Heartbeats(store.objects, task.commit))
        (path,) = (info.path for info in store.objects.list("layers/") if shard.shard in info.path)
        found = pq.read_table(folder / "store" / path).to_pydict()
        files = paths_of(folder, shard.object)
        traced.statuses |= dict(zip(files, found["status"], strict=True))
        traced.values |= dict(zip(files, found["m1"], strict=True))
    traced.calls = measure.calls
    return traced


def collected(folder: Path, max_samples: int = 1000, **more: int) -> Collected:
    _, store, bound, inputs = parts_of(folder)
    rows = store.manifest(store.require_latest(), "samples")
    shards = [ScoredShard(one.shard, one.source, {"samples": one.object}) for one in rows]
    task = cast(Task, Size())
    found = collect_examples(store, task, bound, shards, Condition(None, ()), "reference", max_samples, inputs, **more)
    most_rows, most_bytes = (max(one) for one in zip(*cast(Size, task).calls, strict=True))
    assert most_rows <= ROWS
    assert most_bytes <= BYTES
    return found


def paths_of(folder: Path, samples: str) -> list[str]:
    table = pq.read_table(folder / "store" / samples, columns=["source"])
    return [one["path"] for one in table["source"].to_pylist()]


def poison(folder: Path, path: str) -> None:
    store = open_store_at(folder / "store")
    put_strikes(store.objects, [Mark("trace.size/crawl", "a-shard", Position(path, 0, 0))] * STRIKES)


def test_so_many_rows_and_bytes_of_images_are_read_at_once(folder: Path) -> None:
    traced = trace(folder)
    assert traced.counted == {"ok": SMALL + LARGE, "no_input": 1}
    assert traced.statuses["a.jsonl"] == "no_input"
    for number in (0, 1, ROWS - 1, ROWS, SMALL - 1):
        assert traced.values[f"{number:03d}.png"] == len(picture(number))
    assert max(rows for rows, _ in traced.calls) == ROWS
    assert BYTES - 2 * MIB < max(size for _, size in traced.calls) <= BYTES


def test_an_image_that_is_larger_than_all_may_be_is_read_alone(folder: Path) -> None:
    _, store, _, inputs = parts_of(folder)
    shards = store.manifest(store.require_latest(), "samples")
    (shard,) = (one for one in shards if one.source == "crawl")
    media = pa.concat_arrays([batch["media"] for batch in store.batches(shard, ["media"])])
    places = {path: place for place, path in enumerate(paths_of(folder, shard.object))}
    some = [places[f"{number:03d}.png"] for number in (1, 2, 290, 3)]
    cuts = [one.rows for one in inputs.images(media.take(pa.array(some)), "crawl", max_rows=3, max_bytes=200)]
    assert [(one.start, one.stop) for one in cuts] == [(0, 2), (2, 3), (3, 4)]


def test_as_many_images_are_read_at_once_as_may_be_decoded(folder: Path) -> None:
    calls = trace(folder, Size(example_bytes=DECODED // 10)).calls
    assert max(rows for rows, _ in calls) == 10
    calls = trace(folder, Size(example_bytes=2 * DECODED)).calls
    assert {rows for rows, _ in calls} == {1}


def test_an_image_that_has_changed_is_unreadable(folder: Path) -> None:
    (folder / "pictures" / "007.png").write_bytes(png(99))
    traced = trace(folder)
    assert traced.statuses["007.png"] == "unreadable"
    assert traced.counted == {"ok": SMALL + LARGE - 1, "no_input": 1, "unreadable": 1}
    assert collected(folder).excluded == {"no_input": 1, "unreadable": 1}


def test_a_source_that_is_not_there_fails_the_task_and_leaves_no_trace(folder: Path) -> None:
    (folder / "pictures").rename(folder / "elsewhere")
    for mount_point in (False, True):  # where a disk is not mounted stands an empty folder
        if mount_point:
            (folder / "pictures").mkdir()
        for read in (trace, collected):
            with pytest.raises(StageError) as error:
                read(folder)
            assert str(error.value) == (
                f"source crawl: its images must be read again, but its root {folder / 'pictures'} is missing or empty; "
                "mount it and run again"
            )
    assert not list((folder / "store/commits").rglob("trace.size/**/*.json"))
    (folder / "pictures").rmdir()
    (folder / "elsewhere").rename(folder / "pictures")
    assert trace(folder).counted["ok"] == SMALL + LARGE


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
    assert traced.counted == {"ok": SMALL + LARGE - 1, "no_input": 1, "image_missing": 1}
    assert collected(folder).excluded == {"image_missing": 1, "no_input": 1}


def test_a_file_that_another_run_may_reach_fails_the_task(folder: Path) -> None:
    file = folder / "pictures" / "007.png"
    file.unlink()
    file.symlink_to(file.name)  # opening it goes round in circles, as a share that is stale fails in its own way
    with pytest.raises(StageError) as error:
        trace(folder)
    assert "source crawl: cannot read an image again from 007.png under " in str(error.value)
    assert str(error.value).endswith("or exclude its samples with 'where', or forget them")


def test_rows_that_have_killed_workers_are_not_trained_on(folder: Path) -> None:
    before = collected(folder)
    assert (before.count, before.matching) == (SMALL + LARGE, SMALL + LARGE + 1)
    poison(folder, "250.png")
    after = collected(folder)
    assert (after.count, after.matching) == (SMALL + LARGE - 1, SMALL + LARGE + 1)
    assert after.excluded == {"left_out": 1, "no_input": 1}
    lost = Counter(before.examples.lengths.tolist()) - Counter(after.examples.lengths.tolist())
    assert list(lost) == [len(picture(250))]
    assert trace(folder).statuses["250.png"] == "left_out"


def test_examples_are_in_the_order_of_their_hashes_however_few_are_wanted(folder: Path) -> None:
    all_of_them, ten = collected(folder).examples.lengths, collected(folder, 10).examples.lengths
    assert 9 <= len(ten) <= 10  # one row has no image
    np.testing.assert_array_equal(ten, all_of_them[: len(ten)])


def test_examples_that_are_larger_than_may_be_held_are_said_in_one_line(folder: Path) -> None:
    with pytest.raises(ScoreError) as error:
        collected(folder, max_bytes=400)
    said = str(error.value)
    assert said.startswith("score.size: the examples to train the reference on take too much memory: ")
    assert " of 321 samples take " in said
    assert " bytes, over the limit of 400; lower max_samples to " in said
    assert "\n" not in said
    assert collected(folder, 40, max_bytes=640).count >= 39


def test_bytes_of_examples_are_those_of_their_arrays() -> None:
    numbers = np.zeros(100, np.int64)
    assert bytes_of(numbers) == 800
    assert bytes_of(Sizes(numbers)) == 800
    assert bytes_of({"a": [Sizes(numbers), numbers], "b": b"1234"}) == 1604


@dataclass
class Texts(Size):
    """Measures the bytes of a text."""

    reads: tuple[str, ...] = (TEXT,)

    def encode(self, rows: pa.RecordBatch) -> Encoded:
        return super().encode(pa.record_batch({IMAGE: rows[TEXT].cast(pa.large_binary())}))


def test_as_many_texts_are_examples_at_once_as_their_bytes_allow(folder: Path) -> None:
    _, _, bound, inputs = parts_of(folder)
    bound = replace(bound, text=(Column("samples", "text"),))
    texts = ["x" * (5 * MIB), None, "x" * (11 * MIB), "y", "z" * (17 * MIB), "too long" * (9 * MIB), "end"]
    read = {"samples.text": pa.array(texts, pa.large_string())}
    measure = Texts()
    found = list(encoded_rows(measure, replace(bound, max_text_bytes=64 * MIB), read, inputs, "pages"))
    assert [(rows.start, rows.stop) for rows, _ in found] == [(0, 3), (3, 4), (4, 5), (5, 7)]
    assert [list(encoded.status) for _, encoded in found] == [[OK, NO_INPUT, OK], [OK], [OK], [NO_INPUT, OK]]
    assert measure.calls == [(3, 16 * MIB), (1, 1), (1, 17 * MIB), (2, 3)]
    assert not list(encoded_rows(measure, bound, {"samples.text": pa.array([], pa.large_string())}, inputs, "pages"))


def test_a_task_is_tried_once_in_a_process(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    loaded = []

    def counted(config: NoConfig, files: Files) -> Size:
        loaded.append(config)
        return load(config, files)

    kind = replace(SIZE, name="size_that_is_tried", load=counted)
    monkeypatch.setattr(binding, "find_task", lambda _name: kind)
    recipe, _, _, _ = parts_of(folder)
    for _ in range(3):
        check_scores(bind(recipe).scores)
    assert len(loaded) == 1
    text = (folder / "recipe.yaml").read_text()
    (folder / "recipe.yaml").write_text(text.replace("seed: 7", "seed: 8"))
    check_scores(bind(load_recipe(folder / "recipe.yaml")).scores)
    assert len(loaded) == 2
