"""A signal is the same whatever else is asked for, and the pass goes on behind damage."""

import gc
import io

import numpy as np
import pyarrow as pa
import pytest
from av import VideoFrame

from tests.filters.video.drawn import encoded, scene
from tests.filters.video.films import Film
from tests.messages import assert_refused
from winnow.filters.video.decode.opening import UnwatchableError, VideoLimits
from winnow.filters.video.decode.signal_requests import KINDS, Signal
from winnow.filters.video.decode.signals import LUMA_COLUMNS, LUMA_ROWS, SCHEMAS, small_planes
from winnow.filters.video.decode.watching import VideoPass

EVERYTHING = [*(Signal(kind) for kind in KINDS), Signal("stills", 32), Signal("stills", 24, 0.2)]


def seen(content: bytes, mime: str, *wanted: Signal) -> dict[Signal, pa.Table]:
    video = VideoPass(io.BytesIO(content), mime, wanted, VideoLimits())
    batches: dict[Signal, list[pa.RecordBatch]] = {one: [] for one in wanted}
    for signal, batch in video.signals():
        batches[signal].append(batch)
    return {one: pa.Table.from_batches(found, schema=SCHEMAS[one.kind]) for one, found in batches.items()}


@pytest.mark.parametrize("codec", ["mpeg4", "libx264"])
def test_a_signal_is_the_same_alone_and_among_others(codec: str) -> None:
    content = Film("mp4", codec, frames=40, reordered=2, gop=10, sound=0.6).encoded()
    together = seen(content, "video/mp4", *EVERYTHING)
    for one in EVERYTHING:
        alone = seen(content, "video/mp4", one)[one]
        assert str(alone.to_pylist()) == str(together[one].to_pylist()), one  # NaN is not equal to itself
        assert together[one].num_rows or one.kind == "subtitles", one  # of which the film has none


def test_no_frame_is_held_longer_than_it_is_measured() -> None:
    content = Film("mp4", "libx264", frames=60, reordered=2, gop=10).encoded()
    held = []
    gc.disable()  # or frames that refer to themselves would go now and then
    try:
        for _ in VideoPass(io.BytesIO(content), "video/mp4", EVERYTHING, VideoLimits()).signals():
            held.append(sum(isinstance(one, VideoFrame) for one in gc.get_objects()))
    finally:
        gc.enable()
    assert held
    assert max(held) <= 9  # the first one, four that are measured together, and what the decoder gives at its end


def test_frames_that_come_together_may_fill_a_batch_and_begin_the_next() -> None:
    content = Film(
        "mp4", "libx264", frames=257, reordered=2, side=32
    ).encoded()  # the end gives two, and the first fills a batch
    found = seen(content, "video/mp4", Signal("frames"))[Signal("frames")]
    assert [len(one) for one in found.to_batches()] == [256, 1]


def test_batches_of_vectors_do_not_depend_on_how_many_frames_come_together() -> None:
    content = Film("mp4", "libx264", frames=600, reordered=2, gop=600, side=32).encoded()
    found = seen(content, "video/mp4", Signal("vectors"))[Signal("vectors")]
    assert [len(one) for one in found.to_batches()][:-1] == [256, 256]  # sums of speeds are taken by batch


def test_frames_are_those_of_the_file_in_the_order_of_their_times() -> None:
    pictures = [np.roll(scene(3), 5 * number, axis=1) for number in range(30)]
    times = [4 * number + (number % 3) for number in range(30)]
    frames = seen(encoded(pictures, times), "video/matroska", Signal("frames"))[Signal("frames")]
    assert frames["ticks"].to_pylist() == [10 * one for one in times]
    luma = small_planes(frames["luma"].combine_chunks(), LUMA_ROWS, LUMA_COLUMNS)
    weights = np.array([0.299, 0.587, 0.114])
    for picture, cells, mean in zip(pictures, luma, frames["mean"].to_pylist(), strict=True):
        assert cells.mean() == pytest.approx((picture @ weights).mean(), abs=2)
        assert mean == pytest.approx((picture @ weights).mean(), abs=2)


def test_what_is_behind_damaged_packets_is_still_seen() -> None:
    content = bytearray(Film("matroska", "mpeg4", frames=60, gop=10).encoded())
    content[len(content) // 3 : len(content) // 3 + 200] = bytes(200)
    frames = seen(bytes(content), "video/matroska", Signal("frames"))[Signal("frames")]
    assert frames.num_rows > 30
    assert frames["seconds"].to_pylist()[-1] > 2


def test_pictures_whose_format_no_header_tells_are_damaged_if_none_can_be_decoded() -> None:
    content = bytearray(Film("mp4", "mpeg4").encoded())
    at = content.index(b"mdat") + 4
    content[at : content.index(b"moov") - 4] = bytes(content.index(b"moov") - 4 - at)
    for signal in (Signal("stills"), Signal("frames")):
        with assert_refused(UnwatchableError, "damaged:", "first frames"):
            seen(bytes(content), "video/mp4", signal)


@pytest.mark.parametrize(
    ("limits", "reason"),
    [
        (VideoLimits(max_frames=10), "too_many_frames"),
        (VideoLimits(max_packets=10), "too_many_packets"),
        (VideoLimits(max_decoded_pixels=10_000), "too_many_pixels"),
        (VideoLimits(max_read_bytes=2000), "too_large"),
        (VideoLimits(max_packet_bytes=20), "too_large"),
    ],
)
def test_what_costs_more_than_the_limits_is_refused(limits: VideoLimits, reason: str) -> None:
    video = VideoPass(io.BytesIO(Film(frames=40).encoded()), "video/mp4", [Signal("frames")], limits)
    with pytest.raises(UnwatchableError) as refused:
        list(video.signals())
    assert refused.value.reason == reason
