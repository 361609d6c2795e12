"""From shots to files of clips by the command line: cut as they are written, described, balanced, equal when rerun,
and played by the loaders of those who train with them."""

import io
import json
import shutil
from fractions import Fraction
from pathlib import Path

import pytest

from tests.faults.winnow import ended, run_here
from tests.filters.video.films import Film
from tests.runners.pictures.test_picture_exports import members
from tests.trainers import require_trainer_package, run_trainer
from winnow.filters.video.decode.opening import VideoLimits
from winnow.filters.video.decode.watching import VideoPass

pytestmark = pytest.mark.processes

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
  - webdataset:
      {path: small, media: video, energon: true, clips: {format: webm, copy: never, sound: false, quality: 40}}
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


PLAYER = """
import glob, io, json, sys
import av, webdataset
from megatron.energon import (
    Cooker, DefaultTaskEncoder, VidQASample, WorkerConfig, basic_sample_keys, get_loader, get_train_dataset, stateless
)

def has_sound(raw):
    with av.open(io.BytesIO(raw)) as container:
        return bool(container.streams.audio)

def decoded(raw):
    with av.open(io.BytesIO(raw)) as container:
        frames = list(container.decode(video=0))
    with av.open(io.BytesIO(raw)) as container:
        waves = list(container.decode(audio=0)) if container.streams.audio else []
    length = max(one.time + float(one.duration * one.time_base) for one in frames) - min(one.time for one in frames)
    sound = sum(one.samples / one.sample_rate for one in waves)
    return [len(frames), [frames[0].width, frames[0].height], length, sound]

def by_webdataset(folder, suffix):
    tars = sorted(glob.glob(folder + "/*.tar"))
    return {one["__key__"]: decoded(one[suffix]) for one in webdataset.WebDataset(tars, shardshuffle=False)}

@stateless
def cooked(sample):
    return VidQASample(**basic_sample_keys(sample), video=sample.get("mp4") or sample["webm"], context=sample["txt"])

class Playing(DefaultTaskEncoder):
    cookers = [Cooker(cooked)]

def by_energon(folder):
    alone = WorkerConfig(rank=0, world_size=1, num_workers=0)
    options = {"shuffle_buffer_size": None, "max_samples_per_sequence": None, "repeat": False, "batch_size": None}
    part = get_train_dataset(folder, split_part="train", worker_config=alone, task_encoder=Playing(), **options)
    found = {}
    for one in get_loader(part):
        if has_sound(one.video.stream.getvalue()):
            played = one.video.get_video_with_audio()
            [waves] = played.audio_clips
            sound = waves.shape[1] / one.video.get_metadata().audio_sample_rate
        else:
            played, sound = one.video.get_video(), 0
        [frames], [(begin, end)] = played.video_clips, played.video_timestamps
        found[one.__key__] = [len(frames), list(frames.shape[:1:-1]), end - begin, sound]
    return found

if __name__ == "__main__":
    print(json.dumps([[by_webdataset(*one), by_energon(one[0])] for one in json.loads(sys.argv[1])]))
"""


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


@pytest.mark.readers
def test_webdataset_with_pyav_and_energon_play_every_clip_for_as_long_as_asked(exports: Path, tmp_path: Path) -> None:
    require_trainer_package("megatron.energon", "megatron-energon")
    require_trainer_package("av", "av")
    (tmp_path / "player.py").write_text(PLAYER)
    asked = [(str(exports / folder), suffix) for folder, suffix in (("tars", "mp4"), ("small", "webm"))]
    played = json.loads(run_trainer(tmp_path / "player.py", [json.dumps(asked)]).splitlines()[-1])
    for (folder, _), readers, sounds in zip(asked, played, (True, False), strict=True):
        written = {key: json.loads(sample["json"]) for key, sample in members(Path(folder)).items()}
        assert written
        for found in readers:  # webdataset, energon
            assert found.keys() == written.keys()
            for key, (frames, size, seconds, sounded) in found.items():
                (medium,) = json.loads(written[key]["metadata"])["media"]
                assert (frames, size) == (round(medium["seconds"] * 25), [64, 48])
                assert seconds == pytest.approx(medium["seconds"], abs=0.04)
                assert sounded == pytest.approx(medium["seconds"] if sounds else 0, abs=0.04)


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
