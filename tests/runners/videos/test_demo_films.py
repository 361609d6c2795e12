"""The demo's videos: their shots are found where they were planted, and each ends as what is planted in it says."""

import io
import json
import re
import sys
from collections import Counter
from hashlib import blake2b
from importlib import resources
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from tests.faults.winnow import assert_clean, ended, run_here
from tests.messages import assert_told
from tests.runners.pictures.test_picture_exports import members
from tests.runners.test_annotate import table
from tests.runners.videos.test_clip_exports import watched
from winnow.runners.commands.core.demo import CLIP_RECIPE, FILM_RECIPE, FILMS, _make_films

pytest.importorskip("av", reason="needs the extra `video`")

from winnow.runners.demo.films import make_films
from winnow.runners.demo.films.filming import RATE, Shot, frames
from winnow.runners.demo.films.planted import KINDS

pytestmark = pytest.mark.processes

DOCUMENTATION = Path(__file__).parents[3] / "docs" / "tutorial" / "demo.md"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("demo")
    make_films(folder / FILMS)
    for name in (FILM_RECIPE, CLIP_RECIPE):
        (folder / name).write_bytes(resources.files("winnow.recipes").joinpath(name).read_bytes())
    return folder


@pytest.fixture(scope="module")
def truth(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / FILMS / "truth.jsonl").read_text("utf-8").splitlines()]


@pytest.fixture(scope="module")
def said(folder: Path) -> str:
    """What the runs of their recipes printed."""
    runs = (ended(run_here(folder, "run", name, "--workers", "1")) for name in (FILM_RECIPE, CLIP_RECIPE))
    return "".join(runs)


def test_every_machine_draws_the_same_frames() -> None:
    found = blake2b(digest_size=8)
    for frame in frames((Shot("sea", "of the test", 1), Shot("night", "of the test", 1, faded=True))):
        found.update(frame.tobytes())

    assert found.hexdigest() == "2a67fa84f2d3666d"


def test_they_are_small_and_counted_in_the_documentation(folder: Path, truth: list[dict[str, Any]]) -> None:
    counts = dict(re.findall(r"^\| `(\w+)` \| (\d+) shots? \|", DOCUMENTATION.read_text("utf-8"), re.MULTILINE))

    assert sum(file.stat().st_size for file in (folder / FILMS).rglob("*") if file.is_file()) < 600_000
    assert {kind: int(count) for kind, count in counts.items()} == Counter(one["kind"] for one in truth)
    assert list(counts) == list(KINDS)


def test_shots_begin_where_they_were_planted(folder: Path, truth: list[dict[str, Any]], said: str) -> None:
    names = [row["source"]["path"] for row in table(folder / FILMS, "samples").to_pylist()]
    rows = table(folder / FILMS, "video.shots").to_pylist()
    for name, row in zip(names, rows, strict=True):
        planted = [one for one in truth if one["file"] == name]
        (begins,), (transitions,) = row["begin_seconds"], row["transitions"]
        fades = [one["fade"] for one in planted]
        assert [kind == "fade" for kind in transitions] == fades
        for one, begin in zip(planted, begins, strict=True):
            assert begin == pytest.approx(one["start"], abs=0.75 if one["fade"] else 1.5 / RATE)  # 0.5 s is dim


def test_each_clip_ends_as_planted(folder: Path, said: str) -> None:
    dropped = dict(re.findall(r"^(?:dedupe|keep) +(\w+) +(\d+) +[\d.]+ %", said, re.MULTILINE))
    samples = members(folder / FILMS / "mixture" / "webdataset")
    parts = {}
    for sample in samples.values():
        (medium,) = json.loads(json.loads(sample["json"])["metadata"])["media"]
        frames, seconds, sounds = watched(sample["webm"], "video/webm")
        assert (frames / RATE, seconds) == pytest.approx((medium["seconds"],) * 2, abs=1 / RATE)
        assert sounds == 1
        clip = medium["clip"]
        parts[medium["ref"]["path"], round(clip["start"] * clip["numerator"] / clip["denominator"])] = seconds

    assert dropped == {"duplicate_vpdq": "1", "undecodable": "0", "frozen": "1", "silent": "1"}
    assert set(parts) == {("coast.webm", 0), ("coast.webm", 3), ("country.mp4", 0), ("country.mp4", 6)}
    for name in (FILM_RECIPE, CLIP_RECIPE):
        assert_clean(folder, name)


def test_a_report_shows_a_frame_of_each_shot(folder: Path, said: str) -> None:
    ended(run_here(folder, "report", FILM_RECIPE, "--contact-sheet", "random", "--output", "films.html"))
    ended(run_here(folder, "report", CLIP_RECIPE, "--contact-sheet", "reason:frozen", "--output", "clips.html"))
    pages = [(folder / name).read_text("utf-8") for name in ("films.html", "clips.html")]
    films, clips = (one[one.index('id="contact-sheets"') :].partition("</section>")[0] for one in pages)
    moments = [tuple(float(one) for one in found.split(", ")) for found in re.findall(r"frames at ([\d., ]+) s", films)]

    assert sorted(map(len, moments)) == [1, 3, 3]
    assert {(0, 1, 2)} == {tuple(int(one // 3) for one in of_film) for of_film in moments if len(of_film) == 3}
    assert clips.count("<figure") == 1
    assert "A journey along the coast" in films
    assert films.count("data:image/jpeg") == 3


def test_show_says_when_shots_begin(folder: Path, said: str) -> None:
    (film,) = (
        row["id"].hex() for row in table(folder / FILMS, "samples").to_pylist() if row["source"]["path"] == "coast.webm"
    )
    shown = ended(run_here(folder, "show", FILM_RECIPE, film))

    assert re.search(r"^shots    3, beginning at 0\.00, 3\.00, 6\.\d\d s$", shown, re.MULTILINE)


def test_without_a_decoder_the_demo_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "av", None)
    out = io.StringIO()

    assert not _make_films(tmp_path, Console(markup=False, soft_wrap=True, file=out, width=200))
    assert_told(out.getvalue(), "watching videos", "'winnow[video]'", whole=True)
    assert list(tmp_path.iterdir()) == []
