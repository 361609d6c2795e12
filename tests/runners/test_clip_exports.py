"""From shots to files of clips by the command line: cut as they are written, described, balanced, equal when rerun."""

import io
import json
import shutil
from fractions import Fraction
from pathlib import Path

import pytest

from tests.faults.winnow import ended, run_here
from tests.filters.video.films import Film
from tests.runners.test_picture_exports import members
from winnow.filters.video.decode.opening import VideoLimits
from winnow.filters.video.decode.watching import VideoPass

FILMS = """
version: 1
store: {path: films-store, seed: 7}
sources:
  films: {root: films, files: ["**/*.mp4"], class: public}
annotate: [video.shots]
"""
CLIPS = """
version: 1
store: {path: clips-store, seed: 7}
sources:
  shots: {root: films.yaml, files: [films], format: clips, class: public, clips: {min_seconds: 0.5, max_seconds: 1}}
mix: {unit: seconds}
export:
  - webdataset: {path: tars, media: video, energon: true}
  - webdataset: {path: small, media: video, clips: {format: webm, copy: never, sound: false, quality: 40}}
  - folder: {path: files, media: video}
"""


@pytest.fixture(scope="module")
def exports(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The exports of the clips of two films."""
    folder = tmp_path_factory.mktemp("clips")
    (folder / "films").mkdir()
    for number, frames in enumerate((60, 50)):
        film = Film(container="mp4", codec="mpeg4", frames=frames, seed=number, gop=25, sound=2.0)
        (folder / "films" / f"{number}.mp4").write_bytes(film.encoded())
    (folder / "films.yaml").write_text(FILMS)
    (folder / "clips.yaml").write_text(CLIPS)
    ended(run_here(folder, "run", "films.yaml", "--workers", "1"))
    ended(run_here(folder, "run", "clips.yaml", "--workers", "1"))
    return folder


def again(folder: Path) -> str:
    """Exports what was exported before, from nothing; what the command says."""
    for name in ("tars", "small", "files"):
        shutil.rmtree(folder / name)
    return ended(run_here(folder, "export", "clips.yaml", "--workers", "1"))


def watched(raw: bytes, mime: str) -> tuple[int, float, int]:
    """Frames, seconds and sounds of a file."""
    passing = VideoPass(io.BytesIO(raw), mime, (), VideoLimits())
    list(passing.signals())
    return passing.facts.frames, passing.facts.seconds, passing.facts.audio_streams


def test_each_sample_is_its_clip_and_says_where_it_is_from(exports: Path) -> None:
    found = members(exports / "tars")
    assert len(found) == 4
    for sample in found.values():
        said = json.loads(sample["json"])
        (medium,) = json.loads(said["metadata"])["media"]
        clip = medium["clip"]
        tick = Fraction(clip["numerator"], clip["denominator"])
        frames, seconds, sounds = watched(sample["mp4"], "video/mp4")
        assert seconds == pytest.approx(float((clip["end"] - clip["start"]) * tick), abs=0.04)
        assert (frames, sounds) == (round(medium["seconds"] * 25), 1)
        assert (said["width"], said["height"]) == (64, 48)


def test_clips_are_encoded_as_the_options_say(exports: Path) -> None:
    for sample in members(exports / "small").values():
        assert set(sample) == {"webm", "json", "txt"}
        frames, seconds, sounds = watched(sample["webm"], "video/webm")
        assert (frames, sounds) == (25, 0)
        assert seconds == pytest.approx(1, abs=0.04)


def test_a_folder_has_the_same_files_as_the_tars(exports: Path) -> None:
    files = {path.stem: path.read_bytes() for path in (exports / "files").rglob("*.mp4")}
    assert files == {key: sample["mp4"] for key, sample in members(exports / "tars").items()}


def test_a_second_export_has_the_same_bytes_and_the_books_balance(exports: Path) -> None:
    first = {path.name: path.read_bytes() for path in (exports / "small").glob("*.tar")}
    assert first
    again(exports)
    assert {path.name: path.read_bytes() for path in (exports / "small").glob("*.tar")} == first
    ended(run_here(exports, "audit", "clips.yaml"))


def test_videos_that_are_gone_are_left_out_and_counted(exports: Path) -> None:
    (exports / "films" / "1.mp4").rename(exports / "films" / "1.gone")
    try:
        said = again(exports)
    finally:
        (exports / "films" / "1.gone").rename(exports / "films" / "1.mp4")
    assert "left out" in said
    assert len(members(exports / "tars")) == 2
