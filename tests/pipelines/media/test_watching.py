"""A process that dies while it watches a video costs the video that killed it; what is watched is what is there."""

import io
import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pyarrow as pa
import pytest

from tests.filters.video.films import Film
from tests.messages import assert_refused
from tests.pipelines.media.deadly_decoder import arm_here
from winnow.filters.image.decode.containers import InMemoryBytes
from winnow.filters.video.decode.facts import VideoFacts
from winnow.filters.video.decode.opening import UnwatchableError, VideoLimits
from winnow.filters.video.decode.signal_requests import Signal
from winnow.filters.video.decode.watching import VideoPass
from winnow.pipelines.decoding.file_bytes import FileBytes
from winnow.pipelines.decoding.isolation import CRASHED
from winnow.pipelines.decoding.videos import watching_process
from winnow.pipelines.decoding.videos.isolation import See, probe_isolated, watch_isolated
from winnow.schemas.errors import StageError

FRAMES, STILLS = Signal("frames"), Signal("stills", side=32)
WANTED = (FRAMES, STILLS, Signal("packets"))


def limits(number: int) -> VideoLimits:
    """Those of one test, which then has processes of its own."""
    return VideoLimits(max_packets=1_000_000 + number)


class Seen:
    """A watcher that keeps everything, and how often it began."""

    def __init__(self) -> None:
        self.began = 0
        self.batches: list[tuple[Signal, pa.RecordBatch]] = []

    def begin(self) -> See:
        self.began += 1
        self.batches = []
        return lambda wanted, batch: self.batches.append((wanted, batch))


def here(content: bytes) -> tuple[list[tuple[Signal, pa.RecordBatch]], VideoFacts]:
    video = VideoPass(io.BytesIO(content), "video/mp4", WANTED, VideoLimits())
    return list(video.signals()), video.facts


def watchers() -> list[psutil.Process]:
    children = psutil.Process().children()
    return [child for child in children if watching_process.__name__ in " ".join(child.cmdline())]


def test_signals_and_facts_are_those_of_a_pass_in_this_process() -> None:
    content, seen = Film("mp4", "libx264", frames=300, reordered=2, rotation=90, sound=0.2).encoded(), Seen()
    facts = watch_isolated(InMemoryBytes(content), "video/mp4", WANTED, limits(1), seen.begin)
    assert (seen.batches, facts) == here(content)
    assert seen.began == 1


def test_a_range_of_a_file_is_read_where_it_is(tmp_path: Path) -> None:
    content = Film().encoded()
    (tmp_path / "archive").write_bytes(b"x" * 1000 + content + b"y" * 1000)
    with (tmp_path / "archive").open("rb") as file:
        facts = probe_isolated(FileBytes(file, len(content), 1000), "video/mp4", limits(1))
    assert facts == here(content)[1]


@pytest.mark.processes
@pytest.mark.parametrize(
    ("mark", "said"), [("fault", "SIGSEGV"), pytest.param("memory", "exit status 3", marks=pytest.mark.large)]
)
def test_a_video_that_kills_its_process_is_crashed_and_others_are_watched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mark: str, said: str
) -> None:
    arm_here(tmp_path / "deadly", monkeypatch)
    content, seen = Film().encoded(), Seen()
    deadly = content + f"({mark})".encode().rjust(16)
    with pytest.raises(UnwatchableError) as refused:
        watch_isolated(InMemoryBytes(deadly), "video/mp4", WANTED, limits(2), seen.begin)
    assert refused.value.reason == CRASHED
    assert said in refused.value.detail
    assert seen.began == 3
    assert probe_isolated(InMemoryBytes(content), "video/mp4", limits(2)).frames == 12


@pytest.mark.processes
def test_after_a_death_watchers_begin_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    arm_here(tmp_path / "deadly", monkeypatch)
    content, seen = Film().encoded() + b"(once)".rjust(16), Seen()
    facts = watch_isolated(InMemoryBytes(content), "video/mp4", WANTED, limits(3), seen.begin)
    assert seen.began == 2
    assert (seen.batches, facts) == here(content)


def test_a_defect_of_ours_is_no_property_of_the_video(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    arm_here(tmp_path / "deadly", monkeypatch)
    content = Film().encoded() + b"(defect)".rjust(16)
    with pytest.raises(StageError, match="KeyError: 'of ours'"):
        probe_isolated(InMemoryBytes(content), "video/mp4", limits(4))


def test_a_process_that_is_stopped_from_outside_says_nothing_of_the_video() -> None:
    content = InMemoryBytes(Film().encoded())
    before = {process.pid for process in watchers()}
    assert probe_isolated(content, "video/mp4", limits(5)).frames == 12
    (mine,) = [process for process in watchers() if process.pid not in before]
    mine.send_signal(signal.SIGTERM)
    with pytest.raises(StageError, match="was stopped"):
        probe_isolated(content, "video/mp4", limits(5))
    assert probe_isolated(content, "video/mp4", limits(5)).frames == 12


def test_a_failure_to_read_ends_the_pass_and_the_next_one_is_whole() -> None:
    class Lost:
        size = 100_000

        def at(self, offset: int, count: int) -> bytes:
            raise OSError("the disk is gone")

    with pytest.raises(OSError, match="the disk is gone"):
        probe_isolated(Lost(), "video/mp4", limits(6))
    assert probe_isolated(InMemoryBytes(Film().encoded()), "video/mp4", limits(6)).frames == 12


def test_a_machine_without_the_package_says_how_to_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "sitecustomize.py").write_text("import sys\nsys.modules['av'] = None\n")
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    with assert_refused(StageError, "pip install", "'winnow[video]'"):
        probe_isolated(InMemoryBytes(b""), "video/mp4", limits(7))


@pytest.mark.large
def test_the_process_ends_with_the_one_that_asks(tmp_path: Path) -> None:
    (tmp_path / "one.mp4").write_bytes(Film().encoded())
    program = (
        "import os, sys, psutil\n"
        "from winnow.filters.image.decode.containers import InMemoryBytes\n"
        "from winnow.filters.video.decode.opening import VideoLimits\n"
        "from winnow.pipelines.decoding.videos.isolation import probe_isolated\n"
        "probe_isolated(InMemoryBytes(open(sys.argv[1], 'rb').read()), 'video/mp4', VideoLimits())\n"
        "print(psutil.Process().children()[0].pid, flush=True)\n"
        "os.kill(os.getpid(), 9)\n"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path or os.getcwd() for path in sys.path)}
    command = [sys.executable, "-c", program, str(tmp_path / "one.mp4")]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=120)
    child = int(done.stdout)
    try:
        psutil.Process(child).wait(30)
    except psutil.NoSuchProcess:
        return
