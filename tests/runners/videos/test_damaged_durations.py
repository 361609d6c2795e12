"""A header of ten hours on a second of frames takes no ten hours of a mixture, nor do the clips cut from it."""

import struct
from pathlib import Path

import pytest

from tests.faults.winnow import ended, run_here
from tests.filters.video.films import Film
from tests.runners.test_annotate import table

pytestmark = pytest.mark.processes

HOURS = 10 * 3600  # seconds

RECIPE = """
version: 1
store: {path: whole/store, seed: 7}
sources:
  films: {root: films, files: ["*.mp4"], class: public, format: video_folder}
annotate: [video.streams, video.shots]
mix: {unit: seconds}
"""
CLIPS = """
version: 1
store: {path: clips/store, seed: 7}
sources:
  shots: {root: films.yaml, files: [films], format: clips, class: public, clips: {min_seconds: 0.5, max_seconds: 10}}
annotate: [video.streams]
mix: {unit: seconds}
"""


def number(content: bytes, at: int) -> int:
    (found,) = struct.unpack_from(">I", content, at)
    return int(found)


def changed(content: bytes, at: int, *values: int) -> bytes:
    new = struct.pack(f">{len(values)}I", *values)
    return content[:at] + new + content[at + len(new) :]


def with_headers(content: bytes) -> bytes:
    """The movie, its track, its edit list and its media say that they last ten hours."""
    movie, media = content.index(b"mvhd") + 16, content.index(b"mdhd") + 16
    scale = number(content, movie)
    content = changed(content, movie + 4, HOURS * scale)
    content = changed(content, content.index(b"tkhd") + 24, HOURS * scale)
    content = changed(content, content.index(b"elst") + 12, HOURS * scale)
    return changed(content, media + 4, HOURS * number(content, media))


def with_long_frames(content: bytes) -> bytes:
    """The table of times says that each of 25 frames lasts 24 minutes."""
    ticks = number(content, content.index(b"mdhd") + 16)
    return changed(content, content.index(b"stts") + 16, HOURS * ticks // 25)


def with_a_long_last_frame(content: bytes) -> bytes:
    """The table of times says that the last frame lasts the ten hours. It gets a second line."""
    ticks, table = number(content, content.index(b"mdhd") + 16), content.index(b"stts") + 8
    each = number(content, table + 8)
    content = content[: table + 12] + bytes(8) + content[table + 12 :]
    content = changed(content, table, 2, 24, each, 1, HOURS * ticks - 24 * each)
    for box in (b"stts", b"stbl", b"minf", b"mdia", b"trak", b"moov"):
        at = content.index(box) - 4
        content = changed(content, at, number(content, at) + 8)
    return content


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("durations")
    film = Film("mp4", "libx264", frames=25, gop=25).encoded()
    films = {
        "headers": with_headers(film),
        "last": with_a_long_last_frame(film),
        "last and headers": with_headers(with_a_long_last_frame(film)),
        "all": with_long_frames(film),
        "all and headers": with_headers(with_long_frames(film)),
    }
    (folder / "films").mkdir()
    for name, content in films.items():
        (folder / "films" / f"{name}.mp4").write_bytes(content)
    (folder / "films.yaml").write_text(RECIPE)
    (folder / "clips.yaml").write_text(CLIPS)
    return folder


def test_ten_hours_of_a_header_weigh_a_minute_for_each_frame(folder: Path) -> None:
    said = ended(run_here(folder, "run", "films.yaml", "--workers", "1"))
    rows = zip(table(folder / "whole", "samples").to_pylist(), measured(folder / "whole"), strict=True)
    found = {row["source"]["path"]: (row["media"][0]["seconds"], *other) for row, other in rows}
    assert found == {
        # seconds in mixtures, all seconds, leaps
        "headers.mp4": (1.0, 1.0, 0),
        "last.mp4": (1.0, 1.0, 1),
        "last and headers.mp4": (24 * 0.04 + 60, HOURS, 0),
        "all.mp4": (1.0, 1.0, 1),
        "all and headers.mp4": (25 * 60, HOURS, 0),
    }
    assert f"train 5 samples, {round(1 + 1 + 60.96 + 1 + 1500):,} seconds" in said

    # Of each still that a shot begins with, a clip has `max_seconds` at most.
    said = ended(run_here(folder, "run", "clips.yaml", "--workers", "1"))
    clips = table(folder / "clips", "samples").to_pylist()
    seconds = sorted(row["media"][0]["seconds"] for row in clips)
    assert seconds == [1.0] * 3 + [10.0] * 26
    assert sorted(one for one, _ in measured(folder / "clips")) == seconds
    assert "train 29 samples, 263 seconds" in said


def measured(folder: Path) -> list[tuple[float, int]]:
    rows = table(folder, "video.streams").to_pylist()
    return [(row["seconds"][0], row["leaps"][0]) for row in rows]
