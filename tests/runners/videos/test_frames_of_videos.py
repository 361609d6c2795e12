"""Operators on frames of videos from the command line, and rules that read what they say."""

from pathlib import Path

import pytest

from tests.faults.winnow import ended, run_here
from tests.filters.image.networks import loaded
from tests.filters.video.films import Film
from tests.runners.test_annotate import table

pytestmark = pytest.mark.processes

RECIPE = """
version: 1
store: {path: store, seed: 7}
sources:
  films: {root: films, files: ["**/*"], class: public}
annotate:
  - video.embedding
  - {video.text_area: {every_seconds: 1, max_frames: 2}}
keep:
  - {drop: list_min(video.embedding.similarity_worst) > 2, reason: never, when_null: drop}
  - {drop: list_max(video.text_area.area_mean) > 0.9, reason: text, when_null: keep}
"""


def test_frames_of_each_video_are_looked_at_and_rules_read_them(tmp_path: Path) -> None:
    for name in ("image.embedding", "image.text_area"):
        loaded(name)  # skips where its model is missing
    (tmp_path / "films").mkdir()
    (tmp_path / "films" / "a.mp4").write_bytes(Film(frames=75, gop=25, side=128).encoded())
    (tmp_path / "films" / "page.html").write_text("<p>No video.</p>")
    (tmp_path / "recipe.yaml").write_text(RECIPE)
    ended(run_here(tmp_path, "run", "recipe.yaml", "--workers", "1"))
    rows = table(tmp_path, "video.embedding").to_pylist()
    film, page = sorted(rows, key=lambda row: str(row["status"]), reverse=True)
    assert (page["status"], film["status"], film["items"], film["frames"]) == ("no_input", "ok", ["ok"], [3])
    assert film["seconds"] == [pytest.approx([0.0, 1.0, 2.0], abs=0.05)]
    assert len(film["vector"][0]) == 1280
    text = next(row for row in table(tmp_path, "video.text_area").to_pylist() if row["status"] == "ok")
    assert (text["frames"], len(text["area"][0])) == ([2], 2)
    assert "never" in ended(run_here(tmp_path, "plan", "recipe.yaml"))
