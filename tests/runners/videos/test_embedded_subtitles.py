"""Subtitles within videos are captions of their samples, where the recipe says so: measured, ruled and exported."""

import json
from pathlib import Path

import pytest

from tests.faults.winnow import ended, run_here
from tests.filters.video.test_subtitles import SAID, subtitled

pytestmark = pytest.mark.processes

RECIPE = """
version: 1
store: {path: store}
sources: {films: {root: films, files: ["*.mkv", "*.mp4"], class: public, format: video_folder}}
annotate: [video.subtitles, caption.length]
captions: coalesce(samples.captions, video.subtitles.captions)
keep: [{drop: list_max(caption.length.characters) < 5, reason: silent, when_null: drop}]
mix: {unit: samples}
export: [{folder: {path: out, media: video}}]
"""


def test_they_are_the_captions_that_operators_measure_and_exports_write(tmp_path: Path) -> None:
    (tmp_path / "films").mkdir()
    for name, streams in (
        ("said.mp4", [("ger", "mov_text", SAID)]),
        ("beside.mkv", [("ger", "subrip", SAID)]),
        ("mute.mkv", []),
    ):
        container = "mp4" if name.endswith("mp4") else "matroska"
        (tmp_path / "films" / name).write_bytes(subtitled(container, streams))
    (tmp_path / "films/beside.txt").write_text("a caption beside it")
    (tmp_path / "recipe.yaml").write_text(RECIPE)
    ended(run_here(tmp_path, "run", "recipe.yaml", "--workers", "1"))
    (lines,) = (tmp_path / "out").glob("**/metadata.jsonl")
    texts = sorted(json.loads(line)["text"] for line in lines.read_text().splitlines())
    assert texts == ["Hello there\nand good & bye", "a caption beside it"]
    assert json.loads((tmp_path / "out/winnow.json").read_text())["files"]
