"""Hostile videos of many containers and codecs, watched as in a run: each gives facts and signals, or a reason."""

import random
from functools import cache

import pyarrow as pa
import pytest

from tests.filters.video.films import Film
from tests.property_sizes import THOROUGH
from winnow.filters.image.decode.containers import InMemoryBytes
from winnow.filters.video.decode.facts import VideoFacts
from winnow.filters.video.decode.opening import REASONS, UnwatchableError, VideoLimits
from winnow.filters.video.decode.signal_requests import Signal
from winnow.pipelines.decoding.videos.isolation import See, watch_isolated

VARIANTS = {
    "mp4 h264": ("video/mp4", Film("mp4", "libx264", frames=20, reordered=2, gop=8, sound=0.4, sound_codec="aac")),
    "mp4 hevc": ("video/mp4", Film("mp4", "libx265", frames=10, gop=5, options={"x265-params": "log-level=0:pools=1"})),
    "mp4 mpeg4": ("video/mp4", Film("mp4", "mpeg4", times=(0, 3, 4, 9, 20, 21, 40, 41, 50, 51, 60, 61), rotation=90)),
    "webm vp9": ("video/webm", Film("webm", "libvpx-vp9", frames=20, gop=8, sound=0.4)),
    "webm vp8": ("video/webm", Film("webm", "libvpx", frames=20, gop=8)),
    "matroska ffv1": ("video/matroska", Film("matroska", "ffv1", side=32, sound=0.2, sound_codec="flac")),
    "avi": ("video/x-msvideo", Film("avi", "mpeg4", reordered=1, sound=0.2, sound_codec="pcm_s16le")),
    "avi h264": (
        "video/x-msvideo",
        Film("avi", "libx264", frames=20, reordered=2, gop=8, sound=0.2, sound_codec="mp3"),
    ),
    "mpegts": ("video/mp2t", Film("mpegts", "mpeg2video", frames=20, reordered=2, sound=0.4, sound_codec="mp2")),
    "vob": ("video/mpeg", Film("vob", "mpeg2video", frames=20, reordered=2, sound=0.4, sound_codec="mp2")),
    "flv": ("video/x-flv", Film("flv", "flv1")),
    "asf": ("video/x-ms-asf", Film("asf", "mpeg4")),
    "mov": ("video/quicktime", Film("mov", "libx264", frames=20, gop=5, sound=0.2, sound_codec="pcm_s16be")),
}
CHANGES = ("bit", "noise", "size", "cut", "hole", "repeat", "zeros", "shuffle")
EACH = 12 * len(CHANGES) if THOROUGH else 1  # of 13 variants: 1,248 files, or 13
LIMITS = VideoLimits(max_frames=5_000, max_packets=20_000, max_pixels=1 << 20, max_decoded_pixels=1 << 28)
WANTED: tuple[Signal, ...] = (
    *(Signal("packets"), Signal("frames"), Signal("vectors"), Signal("hashes"), Signal("sound")),
    Signal("stills", side=32),
)


@cache
def whole(variant: str) -> bytes:
    return VARIANTS[variant][1].encoded()


def mutated(variant: str, number: int) -> bytes:
    """The same file with a change that depends on the number."""
    change, chance = CHANGES[number % len(CHANGES)], random.Random(f"{variant} {number}")
    content = bytearray(whole(variant))
    # Half of the changes are near the beginning, or the end, where headers and indexes are.
    near = min(len(content), 600)
    places = (chance.randrange(len(content)), chance.randrange(near), len(content) - 1 - chance.randrange(near))
    at = chance.choice(places)
    if change == "bit":
        for _ in range(chance.choice((1, 3, 20))):
            content[chance.randrange(len(content))] ^= 1 << chance.randrange(8)
    elif change == "noise":
        end = min(len(content), at + chance.choice((4, 40, 400)))
        content[at:end] = chance.randbytes(end - at)
    elif change == "size":  # a length, a count or a time becomes large, negative or nothing
        content[at : at + 4] = chance.choice((b"\xff\xff\xff\xff", b"\x7f\xff\xff\xff", b"\0\0\0\0", b"\x80\0\0\0"))
    elif change == "cut":
        del content[at:]
    elif change == "hole":
        del content[at : at + chance.choice((1, 7, 188, 2000))]
    elif change == "repeat":
        content[at:at] = content[at : at + chance.choice((8, 188, 2000))] * chance.choice((1, 50))
    elif change == "zeros":
        end = min(len(content), at + 500)
        content[at:end] = bytes(end - at)
    else:
        half = len(content) // 2
        content[:] = content[half:] + content[:half] if chance.random() < 0.3 else content[:at] + content[:half]
    return bytes(content)


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_changed_video_gives_facts_and_signals_or_a_reason(variant: str) -> None:
    mime = VARIANTS[variant][0]
    offset = 0 if THOROUGH else EACH * sorted(VARIANTS).index(variant)  # so that few files show each change
    for number in range(offset, offset + EACH):
        _check(f"{variant} {number}", mutated(variant, number), mime)


def test_an_unchanged_video_gives_all_signals() -> None:
    for variant, (mime, film) in VARIANTS.items():
        facts, kinds = _watched(whole(variant), mime)
        assert isinstance(facts, VideoFacts), facts
        assert facts.frames == film.frames, variant
        assert {"packets", "frames", "hashes", "stills"} <= kinds, variant
        assert ("sound" in kinds) == (film.sound > 0), variant


def _check(name: str, content: bytes, mime: str) -> None:
    found, _ = _watched(content, mime)
    if isinstance(found, UnwatchableError):
        assert found.reason in REASONS, (name, found)  # never `crashed`
        return
    assert 0 < found.frames <= LIMITS.max_frames, name
    assert found.width * found.height <= LIMITS.max_pixels, name
    assert found.duration >= 0, name
    assert found.longest_frame >= found.shortest_frame, name


def _watched(content: bytes, mime: str) -> tuple[VideoFacts | UnwatchableError, set[str]]:
    kinds: set[str] = set()

    def see(signal: Signal, batch: pa.RecordBatch) -> None:
        batch.validate(full=True)
        kinds.add(signal.kind)

    def begin() -> See:
        return see

    try:
        return watch_isolated(InMemoryBytes(content), mime, WANTED, LIMITS, begin), kinds
    except UnwatchableError as error:
        return error, kinds
