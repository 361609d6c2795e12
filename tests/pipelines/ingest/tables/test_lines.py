"""Lines of compressed files of many members: their places, and reading in parts."""

import gzip
import io
from collections.abc import Callable, Sequence
from itertools import pairwise

import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.pipelines.ingest.parts import LIMITS, read, texts
from tests.property_sizes import scaled
from winnow.pipelines.ingest.records import Covered, Event, Record, Span, Unreadable
from winnow.pipelines.ingest.tables.jsonl import JsonlReader
from winnow.pipelines.ingest.tiling.counting import check_lines, count_jsonl
from winnow.schemas.records import FilePart

READER = JsonlReader()


def zstd(raw: bytes) -> bytes:
    return zstandard.ZstdCompressor(write_checksum=True).compress(raw)


COMPRESSIONS: dict[str, Callable[[bytes], bytes]] = {"gz": lambda raw: gzip.compress(raw, mtime=0), "zst": zstd}


def members(ending: str, *pieces: bytes) -> tuple[bytes, list[int]]:
    """A file with one member a piece, and where they begin."""
    packed = [COMPRESSIONS[ending](piece) for piece in pieces]
    return b"".join(packed), [sum(map(len, packed[:index])) for index in range(len(packed))]


def read_in_parts(raw: bytes, cuts: Sequence[int]) -> tuple[list[Event], bool]:
    """The events of all parts, and whether these meet as ingest wants it before it believes them."""
    bounds = [0, *sorted({cut for cut in cuts if 0 < cut < len(raw)}), len(raw)]
    events: list[Event] = []
    covered: list[Covered] = []
    for start, end in pairwise(bounds):
        for event in READER(io.BytesIO(raw), FilePart("file", len(raw), start, end), LIMITS):
            covered.append(event) if isinstance(event, Covered) else events.append(event)
    meet = all(left.last == right.first for left, right in pairwise(covered))
    return events, len(bounds) == 2 or (meet and covered[0].first == 0 and covered[-1].last == len(raw))


@pytest.mark.parametrize("ending", COMPRESSIONS)
def test_a_line_has_the_place_of_the_member_that_it_begins_in(ending: str) -> None:
    raw, at = members(ending, b'{"text": "a"}\n', b'{"text": "b"}\n{"te', b'xt": "c"}\n{"text": "d"}', b"\n\n")
    assert [event.span for event in read(READER, raw)] == [
        Span(0, 14, "stream"),
        Span(at[1], 14, "member", 1),
        Span(at[1], 14, "member", 2),
        Span(at[2], 14, "member", 2),  # the first line end is that of the line before
        Span(at[3], 1, "member", 2),
    ]
    assert texts(read(READER, raw)) == ["a", "b", "c", "d"]


@pytest.mark.parametrize("ending", COMPRESSIONS)
@pytest.mark.parametrize("aligned", [True, False])
def test_a_file_of_members_is_read_in_parts(ending: str, aligned: bool) -> None:
    lines = [b'{"text": "%d"}\n' % number for number in range(40)]
    whole = b"".join(lines)
    size = 4 * len(lines[0]) if aligned else 37
    raw, at = members(ending, *(whole[start : start + size] for start in range(0, len(whole), size)))
    expected = read(READER, raw)
    for cut in range(1, len(raw)):
        events, meet = read_in_parts(raw, [cut])
        assert meet
        assert events == expected
    assert sum(1 for _ in READER(io.BytesIO(raw), FilePart("file", len(raw), at[3], at[4]), LIMITS)) > 1


PIECES = st.lists(
    st.lists(st.sampled_from([b'{"text": "a"}\n', b'{"text"', b': "b"}', b"\n", b"{", b"x" * 40]), max_size=4).map(
        b"".join
    ),
    min_size=1,
    max_size=8,
)


@settings(max_examples=scaled(60), deadline=None)
@given(pieces=PIECES, ending=st.sampled_from(sorted(COMPRESSIONS)), data=st.data())
def test_any_division_gives_the_lines_of_the_whole(pieces: list[bytes], ending: str, data: st.DataObject) -> None:
    raw, _ = members(ending, *pieces)
    cuts = data.draw(st.lists(st.integers(0, len(raw)), max_size=4))
    events, meet = read_in_parts(raw, cuts)
    assert meet
    assert events == read(READER, raw)
    assert check_lines(count_jsonl(io.BytesIO(raw)), [event.span for event in events]) == []


@settings(max_examples=scaled(60), deadline=None)
@given(pieces=PIECES, ending=st.sampled_from(sorted(COMPRESSIONS)), data=st.data())
def test_parts_of_a_damaged_file_meet_only_where_they_give_the_lines_of_the_whole(
    pieces: list[bytes], ending: str, data: st.DataObject
) -> None:
    whole, _ = members(ending, *pieces)
    damaged = bytearray(whole[: data.draw(st.integers(9, len(whole)))])
    for at in data.draw(st.lists(st.integers(8, len(damaged) - 1), max_size=2)):
        damaged[at] ^= 1 << data.draw(st.integers(0, 7))
    raw = bytes(damaged)
    events, meet = read_in_parts(raw, data.draw(st.lists(st.integers(1, len(raw)), max_size=3)))
    if meet:
        assert events == read(READER, raw)


def test_a_part_in_which_no_member_begins_is_empty() -> None:
    raw, at = members("gz", b'{"text": "a"}\n' * 1000, b'{"text": "b"}\n')
    assert list(READER(io.BytesIO(raw), FilePart("file", len(raw), 1, at[1]), LIMITS)) == []
    first = list(READER(io.BytesIO(raw), FilePart("file", len(raw), 0, 1), LIMITS))
    assert first[-1] == Covered(0, at[1])
    # The line that begins with the second member's first byte: whether one does, the next part cannot know.
    assert [event for event in first if isinstance(event, Record)][-1].text == "b"


def test_padding_and_skippable_frames_belong_to_no_line() -> None:
    line = b'{"text": "a"}\n'
    padded = gzip.compress(line) + bytes(700) + gzip.compress(line) + bytes(5)
    framed = b"\x5e\x2a\x4d\x18\x03\0\0\0xyz" + zstd(line) + b"\x50\x2a\x4d\x18\x02\0\0\0xx" + zstd(line)
    for raw in (padded, framed):
        assert texts(read(READER, raw)) == ["a", "a"]
        for cut in range(1, len(raw)):
            assert read_in_parts(raw, [cut]) == (read(READER, raw), True)


def test_what_follows_damage_is_quarantined_with_it() -> None:
    raw, at = members("gz", b'{"text": "a"}\n', b'{"text": "b"}\n{"text": "c"}\n', b'{"text": "d"}\n')
    broken = raw[: at[1] + 12] + bytes(4) + raw[at[1] + 16 :]
    last = read(READER, broken)[-1]
    assert isinstance(last, Unreadable)
    assert last.span == Span(at[1], len(raw) - at[1])
    _, meet = read_in_parts(broken, [at[2] - 1])
    assert not meet
