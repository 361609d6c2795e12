import gzip
import io
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from tests.messages import assert_told_each
from tests.pipelines.ingest.parts import LIMITS, read
from winnow.pipelines.ingest.records import Covered, Event, Reader, ReadLimits, Span
from winnow.pipelines.ingest.tables.jsonl import JsonlReader
from winnow.pipelines.ingest.tables.parquet import ParquetReader
from winnow.pipelines.ingest.tiling.counting import (
    MAX_FINDINGS,
    StreamCount,
    check_lines,
    check_ranges,
    count_jsonl,
    count_parquet,
)
from winnow.schemas.records import FilePart

RAW = b'{"text": "a"}\n\nnot json\n{"text": "b"}'


def zstd(raw: bytes) -> bytes:
    return zstandard.ZstdCompressor().compress(raw)


SHAPES: dict[str, Callable[[bytes], bytes]] = {
    "plain": bytes,
    "gz": gzip.compress,
    "gz members": lambda raw: b"".join(gzip.compress(raw[at : at + 5]) for at in range(0, len(raw), 5)) + bytes(9),
    "zst": zstd,
    "zst frames": lambda raw: b"".join(
        b"\x50\x2a\x4d\x18\x02\0\0\0xx" + zstd(raw[at : at + 5]) for at in range(0, len(raw), 5)
    ),
    "zst of a stream": lambda raw: (
        (writer := zstandard.ZstdCompressor(write_checksum=True).compressobj()).compress(raw) + writer.flush()
    ),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_lines_are_counted_however_they_are_compressed(shape: str) -> None:
    assert count_jsonl(io.BytesIO(SHAPES[shape](RAW))) == StreamCount(4, len(RAW), True)
    assert count_jsonl(io.BytesIO(SHAPES[shape](RAW + b"\n"))) == StreamCount(4, len(RAW) + 1, True)
    assert count_jsonl(io.BytesIO(SHAPES[shape](b"x" * 300_000))) == StreamCount(1, 300_000, True)


@pytest.mark.parametrize("shape", ["gz", "zst", "zst of a stream"])
def test_a_stream_that_is_cut_off_is_not_complete(shape: str) -> None:
    whole = SHAPES[shape](RAW * 100)
    for cut in (len(whole) - 1, len(whole) - 4, len(whole) // 2):
        assert not count_jsonl(io.BytesIO(whole[:cut])).complete


def test_garbage_after_a_member_is_not_complete() -> None:
    assert count_jsonl(io.BytesIO(gzip.compress(RAW) + b"garbage")) == StreamCount(4, len(RAW), False)
    assert count_jsonl(io.BytesIO(zstd(RAW) + b"garbage")) == StreamCount(4, len(RAW), False)


def test_a_bomb_is_counted_no_further_than_the_limit() -> None:
    for compress in (gzip.compress, zstd):
        count = count_jsonl(io.BytesIO(compress(bytes(16 << 20))), ReadLimits(max_member_bytes=4 << 20))
        assert not count.complete
        assert count.bytes <= 4 << 20


def test_an_empty_file_has_no_lines() -> None:
    assert count_jsonl(io.BytesIO()) == StreamCount(0, 0, True)


def table(rows: int) -> bytes:
    sink = io.BytesIO()
    pq.write_table(pa.table({"text": [str(row) for row in range(rows)]}), sink, row_group_size=10)
    return sink.getvalue()


def test_rows_are_counted_from_a_fresh_footer(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    path.write_bytes(table(25))
    with path.open("rb") as stream:
        assert count_parquet(stream) == 25
        assert count_parquet(stream) == 25
    assert count_parquet(io.BytesIO(table(25)[:-1])) is None
    assert count_parquet(io.BytesIO(b"")) is None


def test_what_tiles_has_no_findings() -> None:
    assert check_ranges(0, []) == []
    assert check_ranges(6, [Span(4, 2), Span(0, 3), Span(3, 1)]) == []
    assert check_ranges(6, [Span(0, 6, member=1), Span(0, 6, member=0)]) == []


@pytest.mark.parametrize(
    ("spans", "findings"),
    [
        ([], ["nothing answers for [0, 10)"]),
        ([Span(0, 4), Span(5, 5)], ["nothing answers for [4, 5)"]),
        ([Span(1, 4), Span(5, 4)], ["nothing answers for [0, 1)", "nothing answers for [9, 10)"]),
        ([Span(0, 6), Span(5, 5)], ["[5, 6) is claimed by more than one range"]),
        ([Span(0, 10), Span(2, 3)], ["[2, 5) is claimed by more than one range"]),
        ([Span(0, 10), Span(0, 10)], ["[0, 10) is claimed twice"]),
        ([Span(0, 12)], ["[10, 12) is claimed past the end at 10"]),
        ([Span(0, 10), Span(10, 3)], ["[10, 13) is claimed past the end at 10"]),
    ],
)
def test_gaps_and_overlaps_are_named(spans: list[Span], findings: list[str]) -> None:
    assert check_ranges(10, spans) == findings


def test_findings_are_bounded() -> None:
    findings = check_ranges(2000, [Span(at, 1) for at in range(0, 2000, 2)])
    assert len(findings) == MAX_FINDINGS + 1
    assert findings[-1] == "and 990 more"


@given(st.lists(st.tuples(st.integers(0, 12), st.integers(1, 5)), max_size=6))
def test_findings_are_exactly_those_of_a_count_of_every_place(ranges: list[tuple[int, int]]) -> None:
    claims = [0] * 20
    for start, length in ranges:
        for place in range(start, start + length):
            claims[place] += 1
    tiled = claims[:10] == [1] * 10 and not any(claims[10:])
    assert (check_ranges(10, [Span(start, length) for start, length in ranges]) == []) == tiled


class Skipping:
    """A broken reader: it loses one event without a word, and shifts or widens nothing else."""

    def __init__(self, reader: Reader, lost: int) -> None:
        self._reader = reader
        self._lost = lost

    def __call__(self, stream: BinaryIO, part: FilePart, limits: ReadLimits) -> Iterator[Event]:
        for index, event in enumerate(self._reader(stream, part, limits)):
            if index != self._lost and not isinstance(event, Covered):
                yield event


class Renumbering(Skipping):
    """A broken reader that also hides its loss by closing the gap."""

    def __call__(self, stream: BinaryIO, part: FilePart, limits: ReadLimits) -> Iterator[Event]:
        at = 0
        for event in super().__call__(stream, part, limits):
            object.__setattr__(event, "span", Span(at, event.span.length, event.span.unit))
            at += event.span.length
            yield event


@pytest.mark.parametrize("broken", [Skipping, Renumbering])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("lost", range(4))
def test_a_reader_that_skips_a_line_is_caught(shape: str, lost: int, broken: type[Skipping]) -> None:
    raw = SHAPES[shape](RAW)
    total = count_jsonl(io.BytesIO(raw))
    honest = read(JsonlReader(), raw)
    assert check_lines(total, [event.span for event in honest]) == []
    assert len(honest) == total.lines
    spans = [event.span for event in read(broken(JsonlReader(), lost), raw)]
    assert check_lines(total, spans) != []
    assert len(spans) != total.lines


def test_a_line_that_is_claimed_in_another_member_is_caught() -> None:
    first, second = gzip.compress(RAW[:14]), gzip.compress(RAW[14:])
    total = count_jsonl(io.BytesIO(first + second))
    spans = [event.span for event in read(JsonlReader(), first + second)]
    assert [span.unit for span in spans] == ["stream", "member", "member", "member"]
    assert check_lines(total, spans) == []
    moved = Span(0, spans[1].length, "stream", 0)
    assert check_lines(total, [moved, *spans[:1], *spans[2:]]) != []
    claimed = Span(len(first), spans[1].length, "member", 2)
    assert_told_each(
        check_lines(total, [spans[0], claimed, *spans[2:]]), ("line 2", "number 2", str(len(first)), "number 1")
    )
    assert check_lines(total, [*spans, spans[-1]]) != []


@pytest.mark.parametrize("broken", [Skipping, Renumbering])
@pytest.mark.parametrize("lost", [0, 13, 24])
def test_a_reader_that_skips_a_row_is_caught(lost: int, broken: type[Skipping]) -> None:
    raw = table(25)
    total = count_parquet(io.BytesIO(raw))
    assert total == 25
    assert check_ranges(total, [event.span for event in read(ParquetReader(), raw)]) == []
    assert check_ranges(total, [event.span for event in read(broken(ParquetReader(), lost), raw)]) != []


def test_a_reader_that_reads_a_line_twice_is_caught() -> None:
    def twice(stream: BinaryIO, part: FilePart, limits: ReadLimits) -> Iterator[Event | Covered]:
        for event in JsonlReader()(stream, part, limits):
            yield event
            yield event

    spans = [event.span for event in read(twice, RAW, limits=LIMITS)]
    assert check_ranges(len(RAW), spans)[0] == "[0, 14) is claimed twice"
