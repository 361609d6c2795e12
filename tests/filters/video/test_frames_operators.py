"""Operators on frames say of each frame what the operator on pictures says of it, and the mean and the worst."""

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from numpy.typing import NDArray

from tests.filters.image.networks import loaded, photograph
from tests.filters.image.test_network_goldens import assert_close, shortened
from tests.filters.image.test_quality import batch, noise
from tests.filters.image.test_scores import head
from tests.filters.video.watched import FACTS, stills, watched
from winnow.filters.image.models.scores import ScoreConfig
from winnow.filters.operators import find_operator
from winnow.filters.video.decode.operator import VideoOperator, Watcher
from winnow.filters.video.decode.signal_requests import Signal
from winnow.filters.video.stills.frames_operator import FrameWatcher
from winnow.pipelines.assets import AssetFiles

FOLDER = Path(__file__).parent / "golden"
STILLS = Signal("stills", 640)


def watcher(name: str, **settings: Any) -> Watcher:
    """A watcher of one video; the test is skipped where its package or model is missing."""
    operator = find_operator(name)
    assert isinstance(operator, VideoOperator)
    loaded("image.embedding" if name == "video.aesthetic" else f"image.{name.partition('.')[2]}")
    return operator.load(operator.config(**settings), AssetFiles())()


def frames() -> list[NDArray[np.uint8]]:
    return [photograph("astronaut"), noise(90, 120), noise(64, 64)]


def pinned(name: str, row: dict[str, object], tolerance: float) -> None:
    """The row is that of the operator's version: `UPDATE_GOLDEN=1` writes it anew."""
    version = find_operator(f"video.{name}").version
    found = {"operator": f"video.{name}", "version": version, "rows": [shortened(row)]}
    path = FOLDER / f"{name}.json"
    if os.environ.get("UPDATE_GOLDEN") == "1":
        path.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    assert_close(found, json.loads(path.read_text(encoding="utf-8")), tolerance)


@pytest.mark.parametrize(("name", "column"), [("text_area", "area"), ("nsfw", "score"), ("faces", "largest")])
def test_frames_are_measured_as_pictures_are(name: str, column: str) -> None:
    of_pictures = loaded(f"image.{name}")(batch(*frames()))[column].to_pylist()
    row = watched(watcher(f"video.{name}"), STILLS, [stills(frames()[:1]), stills(frames()[1:], 1)])
    assert (row["status"], row["frames"], row["seconds"]) == ("ok", 3, [0.0, 1.0, 2.0])
    assert row[column] == of_pictures
    assert row[f"{column}_worst"] == max(of_pictures)
    assert row[f"{column}_mean"] == pytest.approx(np.mean(of_pictures), abs=1e-5)
    pinned(name, row, 1e-3)


def test_the_vector_of_a_video_is_the_mean_of_its_frames() -> None:
    vectors = np.array(loaded("image.embedding")(batch(*frames()))["vector"].to_pylist())
    row = watched(watcher("video.embedding"), STILLS, [stills(frames())])
    mean = vectors.mean(axis=0) / np.linalg.norm(vectors.mean(axis=0))
    assert np.abs(np.array(row["vector"]) - mean).max() < 1 / 4096
    assert row["similarity"] == pytest.approx((vectors @ mean).tolist(), abs=2e-3)
    assert row["similarity_worst"] == min(row["similarity"])  # type: ignore[call-overload]
    pinned("embedding", row, 5e-4)
    alone = watched(watcher("video.embedding"), STILLS, [stills(frames()[:1])])
    assert alone["similarity_worst"] == pytest.approx(1, abs=1e-3)


def test_a_head_scores_the_vector_of_each_frame(tmp_path: Path) -> None:
    weights = np.random.default_rng(1).normal(size=(1, 1280)).astype(np.float32)
    model = head(tmp_path / "head.safetensors", weight=weights.tolist(), bias=[0.5])
    vectors = np.array(loaded("image.embedding")(batch(*frames()))["vector"].to_pylist())
    row = watched(watcher("video.aesthetic", image=ScoreConfig(model=model)), STILLS, [stills(frames())])
    scores = (vectors @ weights[0] + 0.5).tolist()
    assert row["score"] == pytest.approx(scores, abs=1e-4)
    assert row["score_worst"] == min(row["score"])  # type: ignore[call-overload]
    pinned("aesthetic", row, 5e-3)


@pytest.mark.parametrize("sizes", [(100,), (1,) * 100, (33, 67)])
def test_of_a_long_video_frames_are_taken_evenly_whatever_batches_they_come_in(sizes: tuple[int, ...]) -> None:
    pictures = [noise(4, 4)] * 100
    taken: list[list[float]] = []

    def measure(frames: pa.RecordBatch, seconds: pa.Array) -> pa.RecordBatch:
        assert len(frames) == len(seconds)
        taken.append(seconds.to_pylist())
        return pa.RecordBatch.from_pylist([{"frames": len(frames)}])

    watcher, at = FrameWatcher(8, measure), 0
    for size in sizes:
        watcher.see(STILLS, stills(pictures[at : at + size], at))
        at += size
    watcher.end(FACTS)
    assert taken == [[0.0, 16.0, 32.0, 48.0, 64.0, 80.0, 96.0]]


def test_a_video_without_frames_says_so() -> None:
    for name in ("video.text_area", "video.embedding"):
        row = watched(watcher(name), STILLS, [])
        assert (row.pop("status"), row.pop("frames"), row.pop("seconds")) == ("no_frames", 0, [])
        assert not any(row.values())
