"""Videos from the command line: wherever they lie, they are counted while ingested and measured by range afterwards."""

import hashlib
import io
import struct
import tarfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.faults.winnow import assert_clean, ended, run_here, tree_hash
from tests.filters.video.films import Film, av
from tests.runners.test_annotate import table

pytestmark = pytest.mark.processes

RECIPE = """
version: 1
store: {path: store, seed: 7, shard_rows: 3}
sources:
  films: {root: films, files: ["**/*"], class: public, format: video_folder}
  tars: {root: tars, files: ["*.tar"], class: public}
  tables: {root: tables, files: ["*.parquet"], class: public, columns: {media: video}}
annotate: [video.streams]
keep:
  - {drop: list_min(video.streams.seconds) < 0.4, reason: short, when_null: drop}
"""

EXPORTS = """
known_harm:
  films: {path: list.txt}
mix: {unit: seconds, budget: 3}
export:
  - {webdataset: {path: out/tars, media: video, caption: first}}
  - {folder: {path: out/folder, media: video}}
  - {parquet: {path: out/tables, media: video}}
"""

SRT = b"1\n00:00:00,000 --> 00:00:01,000\nGuten Tag\n"
VTT = b"WEBVTT\nLanguage: fr\n\n00:00.000 --> 00:01.000\nBonjour\n"


def add(archive: tarfile.TarFile, name: str, content: bytes) -> None:
    member = tarfile.TarInfo(name)
    member.size = len(content)
    archive.addfile(member, io.BytesIO(content))


@pytest.fixture(scope="module")
def films() -> dict[str, bytes]:
    return {
        "mp4": Film("mp4", "libx264", reordered=2, rotation=90).encoded(),
        "webm": Film("webm", "libvpx-vp9", frames=5).encoded(),
        "avi": Film("avi", "mpeg4").encoded(),
    }


@pytest.fixture
def folder(tmp_path: Path, films: dict[str, bytes]) -> Path:
    for name in ("films/more", "tars", "tables"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "films/a.mp4").write_bytes(films["mp4"])
    (tmp_path / "films/a.de.srt").write_bytes(SRT)
    (tmp_path / "films/a.vtt").write_bytes(VTT)
    (tmp_path / "films/a.en.srt").write_bytes(b"no cue")
    (tmp_path / "films/a.json").write_bytes(b'{"caption": "a bird"}')
    (tmp_path / "films/more/b.webm").write_bytes(films["webm"])
    (tmp_path / "films/more/cut.mp4").write_bytes(films["mp4"][:1000])
    with tarfile.open(tmp_path / "tars/0.tar", "w") as archive:
        add(archive, "000.mp4", films["mp4"])
        add(archive, "000.json", b'{"caption": "in a tar", "fps": 25}')
        add(archive, "000.de.srt", SRT)
        add(archive, "001.avi", films["avi"])
        add(archive, "001.txt", b"another")
    (tmp_path / "tables/named.avi").write_bytes(films["avi"])
    values = pa.array([{"bytes": films["webm"], "path": None}, {"bytes": None, "path": "named.avi"}])
    pq.write_table(pa.table({"video": values}), tmp_path / "tables/0.parquet")
    (tmp_path / "recipe.yaml").write_text(RECIPE)
    return tmp_path


def items(folder: Path) -> dict[str, dict[str, Any]]:
    """The first item of each row, by the file and the key of its row."""
    rows = table(folder, "samples").to_pylist()
    return {f"{row['source']['path']} {row['source']['record']}": row for row in rows}


def test_they_are_counted_and_measured_wherever_they_lie(folder: Path) -> None:
    ended(run_here(folder, "run", "recipe.yaml", "--workers", "1"))
    rows = items(folder)
    said = {
        name: [(one["frames"], one["seconds"], one["orientation"]) for one in row["media"]]
        for name, row in rows.items()
    }
    mp4, webm, avi = (12, 0.48, 8), (5, 0.2, 1), (12, 0.48, 1)
    assert said == {
        "a.mp4 file": [mp4],
        "more/b.webm file": [webm],
        "more/cut.mp4 file": [(None, None, None)],
        "0.tar 000": [mp4],
        "0.tar 001": [avi],
        "0.parquet 0": [webm],
        "0.parquet 1": [avi],
    }
    captions = [(one["text"], one["origin"], one["language"]) for one in rows["a.mp4 file"]["captions"]]
    assert captions == [
        ("a bird", "json:caption", None),
        ("Guten Tag", "de.srt", "de"),
        ("Bonjour", "vtt", "fr"),
    ]
    assert '"unread":{"en.srt":"no cue with a text"}' in rows["a.mp4 file"]["metadata"]
    assert ("Guten Tag", "de.srt", "de") in [tuple(one.values()) for one in rows["0.tar 000"]["captions"]]
    layer = table(folder, "video.streams").to_pylist()
    measured = {name: (row["items"], row["frames"]) for name, row in zip(rows, layer, strict=True)}
    assert measured["0.tar 001"] == (["ok"], [12])
    assert measured["0.parquet 0"] == (["ok"], [5])
    assert measured["more/cut.mp4 file"] == (["damaged"], [None])
    assert "3 of 7 samples dropped" in ended(run_here(folder, "plan", "recipe.yaml"))
    assert_clean(folder)
    first = tree_hash(folder)
    assert "generation 2" in ended(run_here(folder, "run", "recipe.yaml", "--workers", "1"))
    assert tree_hash(folder) == first


@pytest.mark.large
def test_two_workers_give_the_same_values_as_one(folder: Path) -> None:
    (folder / "other.yaml").write_text(RECIPE.replace("path: store", "path: other"))
    ended(run_here(folder, "run", "recipe.yaml", "--workers", "1"))
    ended(run_here(folder, "run", "other.yaml", "--workers", "2"))
    assert tree_hash(folder) == tree_hash(folder, "other")


def test_one_that_is_gone_or_another_now_is_unavailable(folder: Path, films: dict[str, bytes]) -> None:
    ended(run_here(folder, "ingest", "recipe.yaml", "--workers", "1"))
    (folder / "films/a.mp4").unlink()
    (folder / "films/more/b.webm").write_bytes(films["webm"][::-1])
    (folder / "tables/named.avi").unlink()
    ended(run_here(folder, "annotate", "recipe.yaml", "--workers", "1"))
    found = dict(zip(items(folder), table(folder, "video.streams")["items"].to_pylist(), strict=True))
    gone = {name for name, statuses in found.items() if statuses == ["unavailable"]}
    assert gone == {"a.mp4 file", "more/b.webm file", "0.parquet 1"}


def test_whole_videos_are_mixed_by_seconds_and_exported_as_they_are(folder: Path, films: dict[str, bytes]) -> None:
    with (folder / "recipe.yaml").open("a") as recipe:
        recipe.write(EXPORTS)
    (folder / "list.txt").write_text(f"video_md5 {hashlib.md5(films['webm'], usedforsecurity=False).hexdigest()}\n")
    forgotten = Film("mp4", seed=9, frames=30).encoded()
    (folder / "films/forgotten.mp4").write_bytes(forgotten)
    ended(run_here(folder, "ingest", "recipe.yaml", "--workers", "1"))
    assert not {"more/b.webm file", "0.parquet 0"} & items(folder).keys()  # on the list
    ended(run_here(folder, "forget", "recipe.yaml", "--sha256", hashlib.sha256(forgotten).hexdigest()))
    ended(run_here(folder, "run", "recipe.yaml", "--workers", "1"))
    mixed = ended(run_here(folder, "mix", "recipe.yaml"))
    assert "3 seconds asked, 3 given" in mixed  # of five videos, 0.48 s each, which count as a second
    assert_clean(folder)
    originals = {films["mp4"], films["avi"]}
    with tarfile.open(folder / "out/tars/train-00000-of-00001.tar") as archive:
        members = {member.name: member for member in archive if member.name.endswith(".mp4")}
        exported = [archive.extractfile(member) for member in members.values()]
        assert [one.read() in originals for one in exported if one is not None] == [True] * 3
    files = list((folder / "out/folder").rglob("*.mp4"))
    assert [file.read_bytes() in originals for file in files] == [True] * 3
    cells = pq.read_table(folder / "out/tables/data/train-00000-of-00001.parquet")["video"].to_pylist()
    assert [one["bytes"] in originals for one in cells] == [True] * 3


HOSTILE = """
version: 1
store: {path: store, seed: 7, shard_rows: 4}
sources:
  films: {root: hostile, files: ["*"], class: public, format: video_folder}
limits: {max_video_frames: 500}
annotate: [video.streams]
"""


def declared_hours(content: bytes) -> bytes:
    """The same Matroska file, whose header declares ten hours."""
    at = content.index(b"\x44\x89\x88") + 3  # its Duration, a double
    return content[:at] + struct.pack(">d", 36_000_000) + content[at + 8 :]


def many_streams(count: int) -> bytes:
    """A Matroska file of so many streams of sound, and one of pictures."""
    out = io.BytesIO()
    with av.open(out, "w", format="matroska") as container:
        film = container.add_stream("mpeg4", rate=25)
        film.width, film.height, film.pix_fmt = 64, 48, "yuv420p"
        for _ in range(count):
            container.add_stream("pcm_s16le", rate=8000)
        frame = av.VideoFrame.from_ndarray(Film().picture(0), "yuv420p")
        container.mux(film.encode(frame))
        container.mux(film.encode(None))
    return out.getvalue()


def resized(first: Film, second: Film) -> bytes:
    """A transport stream whose pictures change their size in the middle."""
    return first.encoded() + second.encoded()


def only_sound() -> bytes:
    out = io.BytesIO()
    with av.open(out, "w", format="mp4") as container:
        sound = container.add_stream("aac", rate=48000)
        frame = av.AudioFrame.from_ndarray(np.zeros((2, 1024), np.float32), "fltp", "stereo")
        frame.sample_rate, frame.pts = 48000, 0
        container.mux(sound.encode(frame))
        container.mux(sound.encode(None))
    return out.getvalue()


def test_hostile_videos_each_have_a_reason_or_their_facts(tmp_path: Path) -> None:
    good = Film("mp4", "mpeg4", gop=3).encoded()
    stream = Film("mpegts", "mpeg2video")
    corrupt = bytearray(stream.encoded())
    for at in range(2000, len(corrupt), 1500):
        corrupt[at : at + 50] = bytes(50)
    codec = Film("matroska", "ffv1").encoded().replace(b"V_FFV1", b"V_NOPE")
    files = {
        "a good.mp4": (good, "ok"),
        "b only sound.mp4": (only_sound(), "no_video"),
        "c without an index.mp4": (good[: good.index(b"moov") + 60], "no_video"),
        "d ten hours.mkv": (declared_hours(Film("matroska", "ffv1").encoded()), "ok"),
        "e many frames.mkv": (Film("matroska", "ffv1", frames=600, side=16).encoded(), "too_many_frames"),
        "f resized.ts": (resized(stream, Film("mpegts", "mpeg2video", side=128)), "ok"),
        "g corrupt.ts": (bytes(corrupt), "ok"),
        "h no decoder.mkv": (codec, "unsupported"),
        "i many streams.mkv": (many_streams(100), "too_many_streams"),
        "j playlist.mp4": (b"#EXTM3U\n#EXTINF:1,\nfile:///etc/hostname\n", "not_a_video"),
        "k cut.mp4": (good[:100], "damaged"),
    }
    (tmp_path / "hostile").mkdir()
    for name, (content, _) in files.items():
        (tmp_path / "hostile" / name).write_bytes(content)
    (tmp_path / "hostile/a good.srt").write_bytes(b"1\n00:00:00,000 --> 99:99:99,999\n" + b"<" * 100_000 + b"\n\0\xff")
    (tmp_path / "recipe.yaml").write_text(HOSTILE)
    ended(run_here(tmp_path, "run", "recipe.yaml", "--workers", "1"))
    layer = dict(zip(items(tmp_path), table(tmp_path, "video.streams").to_pylist(), strict=True))
    found = {name: None if row["items"] is None else row["items"][0] for name, row in layer.items()}
    assert found == {f"{name} file": why for name, (_, why) in files.items()}
    long = layer["d ten hours.mkv file"]
    assert (long["seconds"][0], long["declared_seconds"][0]) == (0.48, 36_000)
    assert layer["f resized.ts file"]["frames"][0] == 24
    assert_clean(tmp_path)
