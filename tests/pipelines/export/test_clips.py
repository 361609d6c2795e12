"""A clip that kills whatever cuts it is left out, and is not cut again; other clips of its video are."""

import io
from pathlib import Path
from typing import Any

import pytest

from tests.filters.video.films import Film
from tests.pipelines.media.deadly_decoder import arm_here
from winnow.filters.video.clips.cutting import CutClip
from winnow.filters.video.clips.options import ClipFile
from winnow.filters.video.decode.opening import VideoLimits
from winnow.filters.video.decode.signal_requests import Clip
from winnow.pipelines.export.media.fetching import MissingMedia
from winnow.pipelines.export.media.spool import write_clip
from winnow.pipelines.export.places.manifest import MEDIA_UNCHANGEABLE
from winnow.pipelines.ingest.files import FILE
from winnow.pipelines.media.references import MediaFinder, media_sources
from winnow.pipelines.running.ledger.crashes import CrashedVideos
from winnow.pipelines.store.location import open_location
from winnow.schemas.recipe import load_recipe

RECIPE = """
version: 1
store: {path: store}
sources: {films: {root: films, files: ["*.mp4"], class: public}}
"""
LIMITS = VideoLimits(max_packets=1_000_008)  # of this test, which so has processes of its own


@pytest.mark.processes
def test_a_clip_that_kills_its_process_is_not_cut_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    content = Film().encoded() + b"(fault)".rjust(16)
    (tmp_path / "films").mkdir()
    (tmp_path / "films" / "one.mp4").write_bytes(content)
    (tmp_path / "recipe.yaml").write_text(RECIPE)
    arm_here(tmp_path / "deadly", monkeypatch)
    finder = MediaFinder(media_sources(load_recipe(tmp_path / "recipe.yaml")), "films")
    store = open_location(str(tmp_path / "store"))

    def written(start: int, end: int) -> CutClip | MissingMedia:
        part = {"start": start, "end": end, "file": ClipFile().described()}
        where: dict[str, Any] = {"path": "one.mp4", "offset": 0, "length": len(content), "etag": None, "clip": part}
        medium = {"mime": "video/mp4", "sha256": "0" * 64, "ref": {**where, "container": FILE, "member": None}}
        return write_clip(finder, medium, LIMITS, CrashedVideos(store), io.BytesIO())

    died = written(0, 4096)
    monkeypatch.undo()  # from here on, nothing dies
    again, other = written(0, 4096), written(0, 6144)

    assert died == again == MissingMedia(MEDIA_UNCHANGEABLE, "one.mp4", "crashed")
    assert isinstance(other, CutClip)
    known = CrashedVideos(store)
    assert known.has("0" * 64, Clip(0, 4096))
    assert not known.has("0" * 64, Clip(0, 6144))
    assert not known.has("0" * 64, None)
    known.add("0" * 64, "all of it")
    assert known.has("0" * 64, Clip(0, 6144))
