"""A video that cannot be watched is a row with a status; mixtures by seconds say that they cannot take it."""

from pathlib import Path

import pytest

from tests.faults.winnow import run_here
from tests.filters.video.films import Film, with_tracks
from tests.messages import assert_told
from tests.runners.test_annotate import table

pytestmark = pytest.mark.processes

RECIPE = """
version: 1
store: {path: store, seed: 7}
sources:
  films: {root: films, files: ["*.mp4"], class: public, format: video_folder}
annotate: [video.streams]
mix: {unit: seconds}
"""


def test_a_video_of_thousands_of_tracks_counts_no_seconds(tmp_path: Path) -> None:
    (tmp_path / "films").mkdir()
    whole = Film("mp4", "mpeg4", frames=4).encoded()
    (tmp_path / "films" / "many.mp4").write_bytes(with_tracks(whole, 3000))
    (tmp_path / "recipe.yaml").write_text(RECIPE)
    done = run_here(tmp_path, "run", "recipe.yaml", "--workers", "1", "--quiet")
    assert done.status == 1
    assert_told(done.err.splitlines()[-1], "recipe.yaml:7", "keep cannot", whole=True)
    (row,) = table(tmp_path, "video.streams").to_pylist()
    assert row["items"] == ["too_many_streams"]
    assert run_here(tmp_path, "audit", "recipe.yaml").status == 0
