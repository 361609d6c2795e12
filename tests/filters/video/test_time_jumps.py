"""One damaged number must not make a film of hours, or its pauses vanish."""

import io
import struct
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from tests.filters.video.films import Film
from tests.filters.video.watched import FACTS
from winnow.filters.video.decode.facts import SoundFacts, VideoFacts
from winnow.filters.video.decode.opening import VideoLimits
from winnow.filters.video.decode.signal_requests import Signal
from winnow.filters.video.decode.watching import VideoPass

MIMES = {"flv": "video/x-flv", "matroska": "video/matroska", "webm": "video/webm", "mp4": "video/mp4"}
FRAMES = Signal("frames")


def watched(content: bytes, container: str) -> tuple[VideoFacts, list[float]]:
    """The facts, and the second of each frame."""
    video = VideoPass(io.BytesIO(content), MIMES[container], [FRAMES], VideoLimits())
    seconds = [second for _, batch in video.signals() for second in batch.column("seconds").to_pylist()]
    return video.facts, seconds


def flv_tags(content: bytes, kind: int = 9) -> list[int]:
    """Where the tags of a kind begin: those of pictures, without the first and the last, which hold no picture."""
    at, found = 13, []
    while at < len(content):
        if content[at] == kind:
            found.append(at)
        at += 15 + int.from_bytes(content[at + 1 : at + 4], "big")
    return found[1:-1]


def matroska_blocks(content: bytes) -> list[int]:
    """Where the times of blocks are, each behind the number of its track."""
    blocks, at = [], content.index(b"\x1f\x43\xb6\x75")  # Cluster
    while (at := content.find(b"\xa3", at + 1)) > 0:
        size = content[at + 1]
        length = 1 if size & 0x80 else 2
        if size & 0xC0 and content[at + 1 + length] == 0x81:
            blocks.append(at + 2 + length)
    return blocks


def changed(content: bytes, at: int, value: bytes) -> bytes:
    return content[:at] + value + content[at + len(value) :]


CODECS = {"flv": "libx264", "matroska": "libx264", "webm": "libvpx-vp9", "mp4": "libx264"}


def film(
    container: str, times: Sequence[int] | None = None, tick: Fraction = Fraction(1, 25), *, reordered: int = 2
) -> Film:
    if CODECS[container] != "libx264":
        reordered = 0
    frames = 100 if times is None else len(times)
    return Film(container, CODECS[container], frames, times, tick, side=32, reordered=reordered, gop=25)


@pytest.mark.parametrize("number", [0, 1, 40, 98])
@pytest.mark.parametrize("bit", [4, 6])
def test_a_leaping_time_in_flv_moves_no_other_frame(number: int, bit: int) -> None:
    content = film("flv").encoded()
    facts, seconds = watched(content, "flv")
    at = flv_tags(content)[number] + 4  # the time's most significant byte but one
    damaged, damaged_seconds = watched(changed(content, at, bytes([content[at] ^ 1 << bit])), "flv")
    assert (facts.leaps, damaged.leaps) == (0, 1)
    assert abs(damaged.seconds - facts.seconds) < 0.1
    assert max(abs(one - other) for one, other in zip(damaged_seconds, seconds, strict=True)) < 0.1


@pytest.mark.parametrize("container", ["matroska", "webm"])
@pytest.mark.parametrize("number", [0, 60, 98])
def test_a_leaping_block_of_matroska_moves_no_other_frame(container: str, number: int) -> None:
    content = film(container).encoded()
    facts, seconds = watched(content, container)
    at = matroska_blocks(content)[number]
    damaged, damaged_seconds = watched(changed(content, at, bytes([content[at] ^ 1 << 6])), container)
    assert (facts.leaps, damaged.leaps) == (0, 1)
    assert abs(damaged.seconds - facts.seconds) < 0.1
    assert max(abs(one - other) for one, other in zip(damaged_seconds, seconds, strict=True)) < 0.1


def test_a_leaping_cluster_of_matroska_leaps_by_all_its_blocks() -> None:
    long = Film("matroska", "libx264", 400, None, Fraction(1, 25), side=32, reordered=2, gop=25)
    content = long.encoded()
    facts, seconds = watched(content, "matroska")
    second = content.index(b"\x1f\x43\xb6\x75", content.index(b"\x1f\x43\xb6\x75") + 1)
    at = content.index(b"\xe7", second) + 2  # its time: 5,000 milliseconds or so, in two bytes
    damaged, damaged_seconds = watched(changed(content, at, bytes([content[at] ^ 0x80])), "matroska")
    assert facts.leaps == 0
    assert damaged.leaps > 20  # a cluster begins with each keyframe
    assert abs(damaged.seconds - facts.seconds) < 0.5
    assert max(abs(one - other) for one, other in zip(damaged_seconds, seconds, strict=True)) < 0.5


@pytest.mark.parametrize("container", ["flv", "matroska", "webm", "mp4"])
@pytest.mark.parametrize(
    "times",
    [
        [60 * number for number in range(40)],  # a slide a minute
        [*range(0, 20), *range(620, 640), *range(4000, 4005), 9000],  # a screen with pauses of minutes
        [0, 900, *range(901, 930)],  # it begins with one
    ],
    ids=["slides", "pauses", "a pause first"],
)
def test_pauses_are_no_leaps(container: str, times: list[int]) -> None:
    reordered = 2 if len(set(np.diff(times))) == 1 else 0  # muxers lose times where pauses are among reordered frames
    facts, seconds = watched(film(container, times, Fraction(1), reordered=reordered).encoded(), container)
    assert facts.leaps == 0
    assert seconds == times
    lasting = np.append(np.diff(times), round(facts.seconds) - times[-1])
    assert facts.evident_seconds == pytest.approx(np.minimum(lasting, 60).sum(), abs=0.5)


@pytest.mark.parametrize("times", [None, [*range(20), *range(900, 940)]], ids=["even", "paused"])
def test_a_last_frame_lasts_no_longer_than_its_mp4(times: list[int] | None) -> None:
    content = film("mp4", times).encoded()
    facts, _ = watched(content, "mp4")
    at = content.index(b"stts") + 8  # count and ticks of each run
    runs = struct.unpack_from(">I", content, at)[0]
    last = at + 4 + 8 * (runs - 1)
    count, ticks = struct.unpack_from(">II", content, last)
    longer = changed(content, last, struct.pack(">II", count, ticks ^ 1 << 24))
    damaged, _ = watched(longer, "mp4")
    assert damaged.leaps == 1
    assert damaged.seconds <= facts.seconds + 0.1


def test_a_picture_under_a_song_counts_as_long_as_the_song() -> None:
    song = SoundFacts("opus", 2, 48000, seconds=240, packet_seconds=240, starts_after=0)
    still = replace(FACTS, frames=1, duration=240_000, held=180_000)
    assert (still.evident_seconds, replace(still, sound=song).evident_seconds) == (60, 240)
    assert replace(still, sound=replace(song, packet_seconds=9e9)).evident_seconds == 240


def test_a_stream_that_begins_at_the_end_of_an_flv_stops_nothing() -> None:
    content = Film("flv", "flv1", 2000, side=16).encoded()
    at = flv_tags(content)[-2]
    facts, seconds = watched(changed(content, at, b"\x08"), "flv")  # a packet of sound
    assert facts.frames == len(seconds) == 1999
