"""A process that dies while it decodes costs the picture that killed it, and nothing else."""

import io
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import psutil
import pytest

from tests.pipelines.media.deadly_decoder import arm_here
from winnow.filters.image.decode.stills import TOO_LARGE, DecodeLimits, Still, UndecodableError, decode
from winnow.pipelines.decoding import decoding_process
from winnow.pipelines.decoding.isolation import CRASHED, PixelBuffer, decode_isolated
from winnow.schemas.errors import StageError

Image = pytest.importorskip("PIL.Image", reason="needs the extra `image`")
pytest.importorskip("simplejpeg", reason="needs the extra `image`")

LIMITS = DecodeLimits(max_bytes=1 << 20, max_pixels=1 << 20)


def jpeg(mark: str = "", shade: int = 90) -> bytes:
    out = io.BytesIO()
    Image.new("RGB", (40, 30), (shade, 200, 10)).save(out, "JPEG", comment=mark.encode())
    return out.getvalue()


def decoders() -> list[psutil.Process]:
    """The processes that decode for this one."""
    children = psutil.Process().children()
    return [child for child in children if decoding_process.__name__ in " ".join(child.cmdline())]


def same(found: Still | UndecodableError, content: bytes) -> bool:
    assert isinstance(found, Still)
    return np.array_equal(found.pixels, decode(content, "image/jpeg", LIMITS).pixels)


@pytest.mark.parametrize(
    ("mark", "said"),
    [
        ("fault", "SIGSEGV"),
        ("abort", "SIGABRT"),
        pytest.param("hang", "SIGPROF", marks=pytest.mark.large),
        ("memory", "exit status 3"),
    ],
)
def test_a_picture_that_kills_its_decoder_is_crashed_and_the_others_are_decoded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mark: str, said: str
) -> None:
    arm_here(tmp_path / "deadly", monkeypatch)
    files = [jpeg(shade=10), jpeg(shade=20), jpeg(f"({mark})"), jpeg(shade=30)]
    room = PixelBuffer(LIMITS, held_bytes=1_000_001, cpu_seconds=1)  # no other test has one of this size
    found = list(room.decode_all([(one, "image/jpeg") for one in files]))
    assert all(same(found[number], files[number]) for number in (0, 1, 3))
    died = found[2]
    assert isinstance(died, UndecodableError)
    assert died.reason == CRASHED
    assert said in died.detail


def test_a_defect_of_ours_is_no_property_of_the_picture(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    arm_here(tmp_path / "deadly", monkeypatch)
    with pytest.raises(StageError, match="KeyError: 'of ours'"):
        PixelBuffer(LIMITS, 1_000_002).decode(jpeg("(defect)"), "image/jpeg")


def test_a_decoder_that_is_stopped_from_outside_says_nothing_of_the_picture() -> None:
    room = PixelBuffer(LIMITS, 1_000_003)
    before = {process.pid for process in decoders()}
    assert same(room.decode(jpeg(), "image/jpeg"), jpeg())
    (mine,) = [process for process in decoders() if process.pid not in before]
    mine.send_signal(signal.SIGTERM)
    with pytest.raises(StageError, match="was stopped"):
        room.decode(jpeg(), "image/jpeg")
    assert same(room.decode(jpeg(), "image/jpeg"), jpeg())


def test_refusals_are_those_of_the_decoder() -> None:
    for content, mime in ((jpeg()[:-9], "image/jpeg"), (b"<svg/>", "image/svg+xml"), (b"", "image/png")):
        with pytest.raises(UndecodableError) as here:
            decode(content, mime, LIMITS)
        with pytest.raises(UndecodableError) as there:
            decode_isolated(content, mime, LIMITS)
        assert (there.value.reason, there.value.detail) == (here.value.reason, here.value.detail)
    with pytest.raises(UndecodableError, match=TOO_LARGE):
        decode_isolated(jpeg() + bytes(1 << 20), "image/jpeg", LIMITS)


def test_pictures_beyond_the_room_are_decoded_one_at_a_time() -> None:
    random = np.random.default_rng(7)
    files = []
    for height in (50, 60, 700, 5, 700, 40, 1):
        out = io.BytesIO()
        Image.fromarray(random.integers(0, 4, (height, 800, 3), dtype=np.uint8)).save(out, "PNG")
        files.append((out.getvalue(), "image/png"))
    for held in (1, 300_000, 5_000_000):
        found = list(PixelBuffer(LIMITS, held).decode_all(files))
        for still, (content, mime) in zip(found, files, strict=True):
            assert isinstance(still, Still)
            assert np.array_equal(still.pixels, decode(content, mime, LIMITS).pixels)


def test_the_process_ends_with_the_one_that_asks(tmp_path: Path) -> None:
    (tmp_path / "one.jpg").write_bytes(jpeg())
    program = (
        "import os, sys, psutil\n"
        "from winnow.filters.image.decode.stills import DecodeLimits\n"
        "from winnow.pipelines.decoding.isolation import decode_isolated\n"
        "decode_isolated(open(sys.argv[1], 'rb').read(), 'image/jpeg', DecodeLimits())\n"
        "print(psutil.Process().children()[0].pid, flush=True)\n"
        "os.kill(os.getpid(), 9)\n"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path or os.getcwd() for path in sys.path)}
    command = [sys.executable, "-c", program, str(tmp_path / "one.jpg")]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == -9, done.stderr
    for _ in range(100):
        if not psutil.pid_exists(int(done.stdout)):
            return
        time.sleep(0.05)
    raise AssertionError("the process still runs")
