"""Subtitles within a video are its caption, in whatever codec keeps them as text."""

import io
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.filters.video.drawn import measured
from tests.filters.video.films import Film, av
from winnow.filters.video.decode.cues import cue_text
from winnow.filters.video.subtitles import WRITES

HEADER = b"[Script Info]\nScriptType: v4.00+\n\n[Events]\nFormat: Layer, Start, End, Style, Text\n"
Cue = tuple[int, int, str]
SAID: list[Cue] = [(100, 400, "<i>Hello</i> there"), (500, 1000, "and good &amp; bye")]


def packet_of(codec: str, text: str) -> bytes:
    if codec == "mov_text":
        return len(text.encode()).to_bytes(2, "big") + text.encode()
    return (f"0,0,Default,,0,0,0,,{text}" if codec == "ass" else text).encode()


def subtitled(container: str, streams: Sequence[tuple[str, str, Sequence[Cue]]]) -> bytes:
    """A film of a second and a bit with streams of subtitles: language, codec and cues in milliseconds."""
    out = io.BytesIO()
    with av.open(out, "w", format=container) as made:
        film = made.add_stream("libvpx-vp9" if container == "webm" else "mpeg4", rate=25)
        film.width, film.height, film.pix_fmt = 64, 48, "yuv420p"
        written = [made.add_stream(codec) for _, codec, _ in streams]
        for stream, (language, _, _) in zip(written, streams, strict=True):
            stream.metadata["language"] = language
            stream.codec_context.subtitle_header = HEADER
        for number in range(30):
            frame = av.VideoFrame.from_ndarray(Film().picture(number), "yuv420p")
            frame.pts, frame.time_base = number, Fraction(1, 25)
            made.mux(film.encode(frame))
        made.mux(film.encode(None))
        for stream, (_, codec, cues) in zip(written, streams, strict=True):
            for begin, end, text in cues:
                packet = av.Packet(packet_of(codec, text))
                packet.pts = packet.dts = begin
                packet.duration, packet.time_base, packet.stream = end - begin, Fraction(1, 1000), stream
                made.mux(packet)
    return out.getvalue()


@pytest.mark.parametrize(
    ("container", "codec"), [("matroska", "subrip"), ("mp4", "mov_text"), ("webm", "webvtt"), ("matroska", "ass")]
)
def test_subtitles_are_a_caption_without_markup(container: str, codec: str) -> None:
    row = measured("subtitles", subtitled(container, [("ger", codec, SAID)]), f"video/{container}")
    assert row["captions"] == {"text": "Hello there\nand good & bye", "origin": "subtitles", "language": "ger"}
    assert row["begin_seconds"] == pytest.approx([0.1, 0.5])
    assert row["end_seconds"] == pytest.approx([0.4, 1.0])


def test_the_first_of_several_streams_counts_and_lines_that_roll_are_kept_once() -> None:
    rolling = [(0, 300, "one\ntwo"), (300, 600, "two\nthree"), (600, 900, "three")]
    other = [(0, 900, "eins")]
    row = measured("subtitles", subtitled("matroska", [("und", "subrip", rolling), ("deu", "subrip", other)]))
    assert row["captions"] == {"text": "one\ntwo\nthree", "origin": "subtitles", "language": None}
    assert row["end_seconds"] == pytest.approx([0.3, 0.6, 0.9])


def test_a_video_without_subtitles_has_no_caption() -> None:
    assert measured("subtitles", Film("matroska").encoded())["captions"] is None


@pytest.mark.parametrize(
    ("codec", "packet", "text"),
    [
        ("subrip", b"\xff\xfe", "\ufffd\ufffd"),
        ("mov_text", b"\0\x05Hi<b>\0\0\0\x0cstyl", "Hi"),
        ("mov_text", b"\xff\xff", None),
        ("ass", b"0,0,Default,,0,0,0,,{\\an8}a, b\\Nc", "a, b\nc"),
        ("dvd_subtitle", b"text", None),
        ("text", b"   ", None),
    ],
)
def test_packets_that_are_damaged_or_odd_give_what_is_text(codec: str, packet: bytes, text: str | None) -> None:
    assert cue_text(codec, packet) == text


def test_a_layer_with_films_without_subtitles_can_be_written(tmp_path: Path) -> None:
    found = pa.RecordBatch.from_pylist([{"captions": None}, {"captions": {"text": "A", "origin": "subtitles"}}], WRITES)
    table = pa.table({"captions": pa.array([found["captions"].to_pylist()], pa.list_(WRITES.field("captions").type))})
    pq.write_table(table, tmp_path / "layer.parquet")
    assert pq.read_table(tmp_path / "layer.parquet").equals(table)
