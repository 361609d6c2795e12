"""A long video takes the memory of a short one: its file is read by range, and nothing is kept but times."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.filters.video.films import Film, av

PROGRAM = """
import os, re, sys
from pathlib import Path
import psutil
from winnow.filters.video.decode.opening import VideoLimits
from winnow.filters.video.decode.signal_requests import Signal
from winnow.pipelines.decoding.file_bytes import FileBytes
from winnow.pipelines.decoding.probe import probe_file
from winnow.pipelines.decoding.videos.isolation import watch_isolated

path, size = sys.argv[1], int(sys.argv[2])
with open(path, "rb") as stream:
    probe = probe_file(stream, size, "video/matroska", videos=VideoLimits())
    seen = []
    def begin():
        return lambda signal, batch: seen.append(batch.num_rows)
    wanted = (Signal("stills", side=32), Signal("packets"))
    watch_isolated(FileBytes(stream, size), "video/matroska", wanted, VideoLimits(), begin)
(child,) = psutil.Process().children()
most = [re.search(r"VmHWM:\\s+(\\d+)", Path(f"/proc/{pid}/status").read_text())[1] for pid in (os.getpid(), child.pid)]
print(probe.frames, round(probe.seconds), sum(seen), *(int(one) >> 10 for one in most))
"""


@pytest.mark.large
def test_a_file_of_half_a_gigabyte_takes_no_more_memory_than_a_small_one(tmp_path: Path) -> None:
    numbers = {}
    for name, repeats in (("short", 2), ("long", 1100)):
        path = tmp_path / f"{name}.mkv"
        looped(path, Film("matroska", "ffv1", side=256, frames=12, gop=6), repeats)
        numbers[name] = measured(path)
        frames, seconds, _, _, _ = numbers[name]
        assert (frames, seconds) == (12 * repeats, round(0.48 * repeats))
    assert (tmp_path / "long.mkv").stat().st_size > 500 << 20
    for at in (3, 4):  # MiB of this process, and of the one that decodes
        assert numbers["long"][at] < numbers["short"][at] + 60
        assert numbers["long"][at] < 500


def looped(path: Path, film: Film, repeats: int) -> None:
    """Writes a file with the packets of a film again and again, at later times."""
    source = path.with_suffix(".once")
    source.write_bytes(film.encoded())
    with av.open(str(source)) as once:
        packets = [packet for packet in once.demux(video=0) if packet.size]
        with av.open(str(path), "w", format="matroska") as out:
            stream = out.add_stream_from_template(once.streams.video[0])
            for number in range(repeats):
                for packet in packets:
                    again = av.Packet(bytes(packet))
                    again.stream, again.time_base = stream, packet.time_base
                    again.pts = again.dts = packet.pts + number * 480
                    again.is_keyframe = packet.is_keyframe
                    out.mux(again)
    source.unlink()


def measured(path: Path) -> list[int]:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(one or os.getcwd() for one in sys.path)}
    command = [sys.executable, "-c", PROGRAM, str(path), str(path.stat().st_size)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True, timeout=500)
    return [int(one) for one in done.stdout.split()]
