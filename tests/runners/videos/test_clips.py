"""Clips as samples: the shots of another store's videos, measured, ruled, mixed and audited like any other rows."""

import dataclasses
import io
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from tests.faults.winnow import ended, run_here, tree_hash
from tests.filters.video.films import Film
from tests.messages import assert_told
from winnow.pipelines.ingest.clips import FilmStore, cut, film_store
from winnow.pipelines.ingest.records import Event, ReadLimits
from winnow.pipelines.mix.drawn_objects import DrawnObjects
from winnow.pipelines.mix.plans import PlanRecord
from winnow.pipelines.store.generations import open_store
from winnow.pipelines.store.integrity.sealed import read_record
from winnow.pipelines.store.location import open_location
from winnow.pipelines.store.tables import read_table
from winnow.schemas.identity import sample_id
from winnow.schemas.recipe.model import ClipsConfig
from winnow.schemas.records import FilePart

pytestmark = pytest.mark.processes

FILMS = """
version: 1
store: {path: films-store, seed: 7}
sources:
  films: {root: films, files: ["**/*.mp4", "**/*.mkv"], class: public, format: video_folder}
annotate: [video.shots, video.streams]
"""
CLIPS = """
version: 1
store: {path: clips-store, seed: 7}
sources:
  shots: {root: films.yaml, files: [films], format: clips, class: public, clips: {min_seconds: 0.5, max_seconds: 2}}
annotate: [video.streams, video.vpdq]
keep:
  - {drop: list_min(video.streams.seconds) < 1, reason: short, when_null: keep}
mix: {unit: seconds, split: {validation: 0.4}}
"""


SUBTITLES = b"""1
00:00:00,100 --> 00:00:00,900
Good morning.

2
00:00:01,500 --> 00:00:02,900
Over the cut.

3
00:00:03,000 --> 00:00:03,900
And good night.
"""


@pytest.mark.parametrize(
    ("shot", "config", "expected"),
    [
        ((0, 100), ClipsConfig(min_seconds=1, max_seconds=10), [(0, 100)]),
        ((0, 20), ClipsConfig(min_seconds=1, max_seconds=10), []),
        ((50, 75), ClipsConfig(min_seconds=1, max_seconds=10), [(50, 75)]),
        ((0, 600), ClipsConfig(min_seconds=2, max_seconds=10), [(0, 250), (250, 500), (500, 600)]),
        ((0, 510), ClipsConfig(min_seconds=2, max_seconds=10), [(0, 250), (250, 500)]),
    ],
)
def test_shots_are_taken_whole_or_in_pieces(
    shot: tuple[int, int], config: ClipsConfig, expected: list[tuple[int, int]]
) -> None:
    assert list(cut(*shot, Fraction(1, 25), config)) == expected


@pytest.mark.parametrize(
    ("pauses", "expected"),
    [
        ([(0, 1500)], [(0, 250)]),  # a slide: its frame is shown once
        ([(100, 1400)], [(0, 250), (1250, 1500)]),
        ([(-300, 0), (240, 520), (500, 510), (510, 10**18)], [(0, 250), (500, 750)]),
        ([(260, 490), (750, 1500)], [(0, 250), (250, 500), (500, 750), (750, 1000)]),
    ],
)
def test_pieces_in_which_no_frame_begins_are_no_clips(
    pauses: list[tuple[int, int]], expected: list[tuple[int, int]]
) -> None:
    assert list(cut(0, 1500, Fraction(1, 25), ClipsConfig(min_seconds=1, max_seconds=10), pauses)) == expected


def test_a_pause_of_millennia_is_cut_at_once() -> None:
    config = ClipsConfig(min_seconds=1, max_seconds=10)
    assert list(cut(0, 1 << 60, Fraction(1, 1000), config, [(20, (1 << 60) - 7)])) == [
        (0, 10_000),
        (((1 << 60) - 7) // 10_000 * 10_000, 1 << 60),
    ]


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store of six films and one of their clips."""
    folder = tmp_path_factory.mktemp("clips")
    (folder / "films").mkdir()
    for number, frames in enumerate((60, 110, 30, 90, 75, 60)):
        film = Film(container="mp4", codec="mpeg4", frames=frames, seed=number, gop=25)
        (folder / "films" / f"{number}.mp4").write_bytes(film.encoded())
    (folder / "films" / "1.en.srt").write_bytes(SUBTITLES)
    (folder / "films" / "1.txt").write_bytes(b"a film of stripes")
    (folder / "films" / "short.mkv").write_bytes(Film(container="matroska", codec="mpeg4", frames=5).encoded())
    (folder / "films.yaml").write_text(FILMS)
    (folder / "clips.yaml").write_text(CLIPS)
    ended(run_here(folder, "run", "films.yaml", "--workers", "1"))
    ended(run_here(folder, "run", "clips.yaml", "--workers", "1"))
    return folder


def layer(folder: Path, store: str, name: str) -> list[dict[str, Any]]:
    opened = open_store(open_location(str(folder / store)))
    rows = opened.manifest(opened.require_latest(), name)
    return [line for row in rows for batch in opened.batches(row) for line in batch.to_pylist()]


def test_a_clip_has_the_lines_of_subtitles_that_are_shown_in_it(stores: Path) -> None:
    (film,) = (row for row in layer(stores, "films-store", "samples") if row["source"]["path"] == "1.mp4")
    clips = [
        row for row in layer(stores, "clips-store", "samples") if row["media"][0]["clip"]["of"] == film["id"].hex()
    ]
    said = {row["media"][0]["clip"]["start"]: row["captions"] for row in clips}
    found = {
        one["origin"]: [
            next((c["text"] for c in said[at] if c["origin"] == one["origin"]), None) for at in sorted(said)
        ]
        for one in film["captions"]
    }
    assert found == {
        "txt": ["a film of stripes"] * 2,
        "en.srt": ["Good morning.", "Over the cut.\nAnd good night."],
    }
    assert {one["language"] for captions in said.values() for one in captions if one["origin"] == "en.srt"} == {"en"}


def test_an_operator_that_finds_parts_need_not_tell_pauses(stores: Path) -> None:
    config = ClipsConfig(min_seconds=0.5, max_seconds=2)
    found = film_store(str(stores / "films-store"), "films", config)
    without = dataclasses.replace(found, has_pauses=False)

    def read(films: FilmStore) -> list[Event]:
        (first, *_) = films.listed.infos
        part = FilePart(first.path, first.size, 0, first.size)
        return list(films.read(io.BytesIO(), part, ReadLimits()))

    assert found.has_pauses
    assert read(without) == read(found) != []


def test_show_says_which_part_of_which_film_a_clip_is(stores: Path) -> None:
    row = layer(stores, "clips-store", "samples")[0]
    clip = row["media"][0]["clip"]
    first, end = (clip[name] * clip["numerator"] / clip["denominator"] for name in ("start", "end"))
    said = ended(run_here(stores, "show", "clips.yaml", row["id"].hex()))
    assert f"{first:.2f} to {end:.2f} s of {clip['of']}" in said


def test_each_shot_is_a_row_with_its_ticks_and_no_bytes_are_moved(stores: Path) -> None:
    films = {row["id"].hex(): row for row in layer(stores, "films-store", "samples")}
    clips = layer(stores, "clips-store", "samples")
    by_film: dict[str, list[float]] = {}
    for row in clips:
        (medium,) = row["media"]
        part = medium["clip"]
        film = films[part["of"]]["media"][0]
        assert (medium["ref"], medium["sha256"]) == (film["ref"], film["sha256"])
        key = f"{part['of']}.0.{part['start']}-{part['end']}"
        assert (row["source"]["record"], row["id"]) == (key, sample_id("shots", row["source"]["path"], key))
        tick = Fraction(part["numerator"], part["denominator"])
        assert medium["seconds"] == float((part["end"] - part["start"]) * tick)
        by_film.setdefault(film["ref"]["path"], []).append(round(medium["seconds"], 2))
    assert by_film == {
        "0.mp4": [2.0],
        "1.mp4": [2.0, 2.0],
        "2.mp4": [1.2],
        "3.mp4": [2.0, 1.6],
        "4.mp4": [2.0, 1.0],
        "5.mp4": [2.0],
    }


def test_operators_measure_the_clip_and_not_the_film(stores: Path) -> None:
    clips = layer(stores, "clips-store", "samples")
    for row, said in zip(clips, layer(stores, "clips-store", "video.streams"), strict=True):
        assert said["items"] == ["ok"]
        assert said["seconds"] == [pytest.approx(row["media"][0]["seconds"], abs=0.05)]
        assert said["frames"] == [round(row["media"][0]["seconds"] * 25)]


def test_every_row_of_the_films_is_accounted_for(stores: Path) -> None:
    shown = ended(run_here(stores, "audit", "clips.yaml"))
    assert "1 source file, " in shown
    assert_told(shown, "accounted for exactly")
    opened = open_store(open_location(str(stores / "clips-store")))
    (task,) = opened.tasks(opened.require_latest())
    assert (task.records, task.kept, task.dropped_by_reason) == (10, 9, {"no_clips": 1})


def test_a_second_run_makes_nothing_new(stores: Path) -> None:
    before = tree_hash(stores, "clips-store")
    ended(run_here(stores, "run", "clips.yaml", "--workers", "1"))
    assert tree_hash(stores, "clips-store") == before


def test_clips_of_one_film_are_on_one_side_of_the_split(stores: Path) -> None:
    objects = open_store(open_location(str(stores / "clips-store"))).objects
    (plan,) = (stores / "clips-store").glob("plans/*/plan.json")
    record = read_record(objects, PlanRecord, str(plan.relative_to(stores / "clips-store")))
    film_of = {row["id"]: row["media"][0]["clip"]["of"] for row in layer(stores, "clips-store", "samples")}
    sides: dict[str, set[int]] = {}
    for one in DrawnObjects.read(objects, record.draws):
        for row in read_table(objects, one.object).to_pylist():
            sides.setdefault(film_of[row["id"]], set()).add(row["output"])
    assert len(sides) == 6
    assert all(len(found) == 1 for found in sides.values())
    assert set().union(*sides.values()) == {0, 1}


def test_what_is_wrong_with_a_source_of_clips_is_said_in_a_line(stores: Path) -> None:
    for old, new, complaint in (
        ("[films]", "[filme]", "'files' names 'filme', which films.yaml does not have (did you mean 'films'?)"),
        ("{min_seconds: 0.5", "{from: video.streams, min_seconds: 0.5", "video.streams has no column begins; parts"),
        ("films.yaml", "none.yaml", "'root' of clips is the recipe of the whole videos"),
        ("{min_seconds: 0.5", "{from: video.motion, min_seconds: 0.5", "has no layer video.motion"),
        ("clips: {min", "key: id, clips: {min", "'key' is only for formats with columns"),
        (", format: clips", "", "belong together"),
    ):
        (stores / "wrong.yaml").write_text(CLIPS.replace(old, new).replace("clips-store", "wrong-store"))
        said = ended(run_here(stores, "run", "wrong.yaml", "--workers", "1"), 1)
        assert complaint in said
        assert "Traceback" not in said
