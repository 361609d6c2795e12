"""Videos in archives that are larger than what is held of a record, from the command line: measured and written as if
they lay in a folder."""

import hashlib
from pathlib import Path

import pytest

from tests.faults.winnow import ended, run_here
from tests.filters.video.films import Film
from tests.pipelines.ingest.archives.test_http import chunked
from tests.pipelines.ingest.made_archives import Capture, Kind, write_warc
from tests.runners.pictures.test_picture_exports import members
from tests.runners.test_annotate import table

pytestmark = pytest.mark.processes

RECIPE = """
version: 1
store: {path: store, seed: 7}
limits: {max_body_bytes: 8 KiB}
sources:
  crawl: {root: crawl, files: ["*.warc*"], class: web}
annotate: [video.streams, video.shots]
known_harm:
  own: {path: list.txt, kind: md5}
keep:
  - {drop: list_min(video.streams.seconds) < 1, reason: short, when_null: drop}
mix: {unit: seconds}
export:
  - webdataset: {path: tars, media: video}
"""


KINDS: tuple[Kind, ...] = ("warc", "warc.gz", "warc.zst-one")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "crawl").mkdir()
    for number, kind in enumerate(KINDS):
        one, other = film(2 * number), film(2 * number + 1)
        captures = [
            Capture("https://e.org/one.mp4", one, "video/mp4"),
            Capture(
                "https://e.org/other.mp4", chunked(other, 4000), "video/mp4", headers={"Transfer-Encoding": "chunked"}
            ),
        ]
        write_warc(tmp_path / f"crawl/{number}.{kind.removesuffix('-one')}", captures, kind)
    (tmp_path / "recipe.yaml").write_text(RECIPE)
    return tmp_path


def film(seed: int) -> bytes:
    return Film(codec="mpeg4", frames=40, seed=seed, gop=20, sound=1.5).encoded()


def test_large_videos_of_archives_are_measured_ruled_and_written(folder: Path) -> None:
    films = {hashlib.sha256(raw).hexdigest(): raw for raw in map(film, range(6))}
    assert min(map(len, films.values())) > 16 << 10  # none is held
    harmful = film(3)
    (folder / "list.txt").write_text(hashlib.md5(harmful).hexdigest() + "\n")
    expected = films.keys() - {hashlib.sha256(harmful).hexdigest()}
    ended(run_here(folder, "run", "recipe.yaml", "--workers", "1"))

    found = {medium["sha256"]: medium for row in table(folder, "samples")["media"].to_pylist() for medium in row}
    assert found.keys() == expected
    for sha256, medium in found.items():
        assert (medium["bytes"], medium["frames"], medium["seconds"]) == (len(films[sha256]), 40, 1.6)
    measured = table(folder, "video.streams")
    assert measured["items"].to_pylist() == [["ok"]] * 5
    assert {hashlib.sha256(one["mp4"]).hexdigest() for one in members(folder / "tars").values()} == expected
    ended(run_here(folder, "audit", "recipe.yaml"))
