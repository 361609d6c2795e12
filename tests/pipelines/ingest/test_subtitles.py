"""Subtitles: what is said, without times and markup, and its language."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from winnow.pipelines.ingest.subtitles import Subtitles, language_of_name, lines_between, read_subtitles

SRT = b"""1
00:00:01,000 --> 00:00:02,500
Hello <i>there</i>,
{\\an8}you &amp; I.

2
00:00:02,500 --> 00:00:04,000
you & I.
Goodbye.
"""

VTT = b"""\xef\xbb\xbfWEBVTT
Kind: captions
Language: pt-BR

STYLE
::cue { color: lime }

00:01.000 --> 00:02.000 align:start position:0%
<v Ana>Bom <00:00:01.500><c>dia</c></v>

NOTE a comment
that goes on

intro
00:02.000 --> 00:03.000
Bom dia
"""


def test_lines_are_kept_once_and_without_markup() -> None:
    times = (1000, 2500, 1000, 4000, 2500, 4000)  # of a line that is shown on until it is gone
    assert read_subtitles(SRT) == Subtitles("Hello there,\nyou & I.\nGoodbye.", None, times)
    assert read_subtitles(SRT.decode().replace("\n", "\r\n").encode("utf-16")) == read_subtitles(SRT)
    assert read_subtitles(VTT) == Subtitles("Bom dia", "pt-BR", (1000, 3000))


def test_a_line_is_in_the_part_that_has_its_middle() -> None:
    found = read_subtitles(b"100:00:00,0 --> 100:00:01,00\nlate\n\n00:03,5 --> 00:02,000\nbackwards\n")
    assert isinstance(found, Subtitles)
    assert found.times == (360_000_000, 360_001_000, 3500, 3500)
    assert lines_between(found.text, found.times, 0, 3.5) == ""
    assert lines_between(found.text, found.times, 3.5, 4) == "backwards"
    assert lines_between(found.text, found.times, 0, 1e9) == found.text
    assert lines_between(found.text, found.times[:2], 0, 1) is None


@pytest.mark.parametrize(
    ("raw", "why"),
    [
        (b"", "no cue with a text"),
        (b"WEBVTT\n\nhello", "no cue with a text"),
        (b"1\n00:00:01,000 --> 00:00:02,000\n<i></i>\n", "no cue with a text"),
        (b"1\n00:00:01,000 --> 00:00:02,000\nna\xefve\n", "byte 34 is not UTF-8"),
        (b"\xff\xfe\0\xd8", "byte 2 is not UTF-16-LE"),
    ],
)
def test_a_file_without_a_text_says_why(raw: bytes, why: str) -> None:
    assert read_subtitles(raw) == why


@pytest.mark.parametrize(
    ("suffix", "language"),
    [
        ("srt", None),
        ("de.srt", "de"),
        ("pt-BR.forced.vtt", "pt-BR"),
        ("en.hi.srt", "en"),
        ("hi.srt", "hi"),
        ("1.srt", None),
    ],
)
def test_the_name_gives_the_language(suffix: str, language: str | None) -> None:
    assert language_of_name(suffix) == language


@given(st.lists(st.sampled_from(["00:01.000 --> 00:02.000", "<i", "<" * 300, "{\\", "-->", "é\0", "", "Language: x"])))
def test_no_file_fails(lines: list[str]) -> None:
    assert isinstance(read_subtitles("\n".join(lines).encode()), Subtitles | str)


def test_times_that_cannot_be_begin_no_cue() -> None:
    raw = b"1\n00:00:01,000 --> 00:00:02,000\nHello\n-00:00:05,000 --> 00:00:06,000\nbefore the film\n"
    assert read_subtitles(raw) == Subtitles("Hello", None, (1000, 2000))
