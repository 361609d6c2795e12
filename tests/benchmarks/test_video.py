"""How the benchmark of videos judges shots and limits, and that its quick run ends."""

import subprocess
import sys
from pathlib import Path

import av
import orjson
import pytest

from benchmarks.inputs.films import Transition
from benchmarks.inputs.pages import CACHE
from benchmarks.measuring.environments import PEERS, REPOSITORY
from benchmarks.video import MEMORY_LIMIT, NETWORK, Score, looped, missed_limits, score
from tests.filters.video.films import Film

CUT, FADE = Transition("cut", 2.0, 2.0), Transition("fade", 5.0, 5.8)


def test_a_transition_is_found_by_one_detection_near_its_span() -> None:
    truth = [[CUT, FADE], [CUT]]
    assert score(truth, [[(2.1, 2.1), (5.4, 5.5)], [(2.0, 2.0)]]) == Score(3, 0, 0, {"cut": (2, 2), "fade": (1, 1)})
    found = score(truth, [[(2.0, 2.0), (2.05, 2.05), (5.93, 5.93)], []])
    assert found == Score(1, 2, 2, {"cut": (1, 2), "fade": (0, 1)})
    assert Score(3, 1, 1).f1 == pytest.approx(0.75)


@pytest.mark.parametrize(
    ("ratio", "quick", "kept"), [(1.4, False, True), (1.41, False, False), (1.75, True, True), (1.76, True, False)]
)
def test_a_cost_has_a_limit_that_a_quick_run_may_exceed_by_a_quarter(ratio: float, quick: bool, kept: bool) -> None:
    ratios = {"every frame, a.mp4": ratio, "PySceneDetect, content, a.mp4": 9.0}
    missed = missed_limits(ratios, {"winnow": Score(3, 0, 0)}, 100, quick=quick)
    assert missed == ([] if kept else [f"every frame, a.mp4: {ratio:.3f} of 1.4 bare decodes"])


def test_a_better_detector_and_too_much_memory_are_missed_limits() -> None:
    scores = {"winnow": Score(2, 1, 0), "worse": Score(1, 2, 0), "better": Score(3, 0, 0)}
    assert missed_limits({}, scores, MEMORY_LIMIT + 1, quick=True) == ["F1 0.800 of 1.000, better", "401 of 400 MB"]


def test_a_network_is_judged_without_wipes_and_is_no_peer() -> None:
    by_kind = {"cut": (9, 10), "wipe": (0, 10)}
    scores = {"winnow": Score(1, 1, 0), NETWORK: Score(9, 11, 1, by_kind)}
    assert scores[NETWORK].f1 == pytest.approx(0.6)
    assert missed_limits({}, scores, 0, quick=False) == []
    worse = {"winnow": Score(1, 1, 0), NETWORK: Score(9, 11, 2, by_kind)}
    assert missed_limits({}, worse, 0, quick=False) == [f"F1 0.857 of 0.9, {NETWORK}, but for wipes"]


def test_a_long_film_repeats_a_short_one(tmp_path: Path) -> None:
    short = tmp_path / "short.mp4"
    short.write_bytes(Film("mp4", "libx264", frames=25).encoded())
    with av.open(str(looped(short, 4 / 3600, tmp_path))) as container:
        times = [packet.pts for packet in container.demux(video=0) if packet.pts is not None]
    with av.open(str(short)) as container:
        frames = sum(1 for _ in container.decode(video=0))
        assert container.duration is not None
        assert len(times) == round(4e6 / container.duration) * frames
    assert sorted(set(times)) == sorted(times)


@pytest.mark.large
@pytest.mark.skipif(
    not ((REPOSITORY / CACHE / "videos/made").exists() and (PEERS / "scenedetect/ready").exists()),
    reason="needs the videos and PySceneDetect: run `python -m benchmarks.video --quick` once",
)
def test_a_quick_run_ends_and_its_status_says_what_was_missed() -> None:
    command = [sys.executable, "-m", "benchmarks.video", "--quick", "--json"]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=False)
    assert done.stdout, done.stderr
    *lines, last = done.stdout.splitlines()
    said = orjson.loads(last)
    assert [line for line in lines if line.startswith("MISSED: ")] == [f"MISSED: {one}" for one in said["missed"]]
    assert done.returncode == (1 if said["missed"] else 0)
    peers = {who: f1 for who, f1 in said["f1"].items() if who != NETWORK}
    assert peers["winnow"] == max(peers.values())  # what does not depend on the machine's pace
    assert said["limit"]["value"] <= said["limit"]["allowed"]
