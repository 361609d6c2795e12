"""Files damaged at every few percent: nothing is raised, all ranges are answered for, what came before is kept."""

import gzip
import io
import random
import zlib
from collections.abc import Callable
from itertools import pairwise

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard

from tests.pipelines.ingest.parts import assert_tiles, ranges, read, texts
from winnow.pipelines.ingest.records import Event, Record
from winnow.pipelines.ingest.tables.columns import ColumnMapping
from winnow.pipelines.ingest.tables.jsonl import JsonlReader
from winnow.pipelines.ingest.tables.parquet import ParquetReader
from winnow.pipelines.ingest.tiling.counting import count_jsonl, count_parquet
from winnow.schemas.errors import SourceError
from winnow.schemas.identity import canonical_json

LINES, GROUP = 400, 50


def rows() -> list[dict[str, object]]:
    words = random.Random(5)
    return [
        {
            "id": row,
            "text": " ".join("".join(words.choices("aeioudlnrst", k=5)) for _ in range(words.randrange(5, 60))),
            "url": f"http://example.org/{row}",
            "tags": words.choices(["a", "b", "c"], k=row % 4),
        }
        for row in range(LINES)
    ]


ROWS = rows()
JSONL = b"".join(canonical_json(row).encode() + b"\n" for row in ROWS)  # type: ignore[arg-type]


def members(compress: Callable[[bytes], bytes]) -> bytes:
    third = len(JSONL) // 3
    return compress(JSONL[:third]) + compress(JSONL[third : 2 * third]) + compress(JSONL[2 * third :])


def zstd(raw: bytes) -> bytes:
    return zstandard.ZstdCompressor(write_checksum=True).compress(raw)


def table(**options: object) -> bytes:
    sink = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(ROWS), sink, row_group_size=GROUP, data_page_size=2000, **options)
    return sink.getvalue()


COMPRESSED = {"gz": members(gzip.compress), "zst": members(zstd)}
TABLES = {
    "zstd": table(compression="zstd", write_page_checksum=True),
    "plain": table(compression="none", use_dictionary=False, data_page_version="2.0"),
    "snappy": table(compression="snappy"),
}
PERCENTS = range(1, 100, 5)


def flipped(raw: bytes, at: int, bit: int) -> bytes:
    damaged = bytearray(raw)
    damaged[at] ^= 1 << bit
    return bytes(damaged)


def mutations(raw: bytes) -> list[tuple[int, bytes]]:
    """Damaged copies, each with the place from which it is not what it was."""
    copies: list[tuple[int, bytes]] = []
    for percent in PERCENTS:
        at = len(raw) * percent // 100
        copies.append((at, raw[:at]))
        copies.append((at, flipped(raw, at, percent % 8)))
        copies.append((at, raw[:at] + b"\0" * 40 + raw[at + 40 :]))
        copies.append((at, raw[:at] + raw[at + 7 :]))
    return copies


def whole_lines_before(certain: int) -> int:
    return JSONL.count(b"\n", 0, certain)


def inflated_before(kind: str, raw: bytes) -> int:
    """How many decompressed bytes the standard decoders are certain of, given only these bytes."""
    if kind == "zst":
        size = 0
        decoder = zstandard.ZstdDecompressor().decompressobj(read_across_frames=True)
        for at in range(len(raw)):
            size += len(decoder.decompress(raw[at : at + 1]))
        return size
    size = 0
    while raw:
        member = zlib.decompressobj(31)
        size += len(member.decompress(raw))
        raw = member.unused_data
    return size


HONEST = read(JsonlReader(ColumnMapping(key="id")), JSONL)


def lines_of(raw: bytes) -> list[Event]:
    return read(JsonlReader(ColumnMapping(key="id")), raw)


def test_plain_lines() -> None:
    for at, raw in mutations(JSONL):
        events = lines_of(raw)
        assert_tiles(events, "bytes", len(raw))
        assert len(events) == count_jsonl(io.BytesIO(raw)).lines
        sound = whole_lines_before(at)
        assert events[:sound] == HONEST[:sound]


@pytest.mark.parametrize("kind", COMPRESSED)
def test_compressed_lines(kind: str) -> None:
    honest = lines_of(COMPRESSED[kind])
    assert len(honest) == LINES
    for at, raw in mutations(COMPRESSED[kind]):
        try:
            events = lines_of(raw)
        except SourceError:  # the first bytes no longer say that it is compressed
            assert at < 4
            continue
        streamed = ranges(events, "stream")
        assert_tiles(events, "stream", streamed[-1][1] if streamed else 0)
        damage = ranges(events, "bytes")
        assert len(damage) <= 1
        count = count_jsonl(io.BytesIO(raw))
        assert count.complete == (not damage)
        if damage:
            assert damage[0][1] == len(raw)
        else:
            assert streamed[-1][1] == count.bytes
            assert len(events) == count.lines
        sound = whole_lines_before(inflated_before(kind, raw[:at]))
        assert events[:sound] == honest[:sound]


def test_the_same_damage_gives_the_same_events() -> None:
    for raw in COMPRESSED.values():
        for _, damaged in mutations(raw)[::17]:
            assert lines_of(damaged) == lines_of(damaged)
    for raw in TABLES.values():
        for _, damaged in mutations(raw)[:-8:17]:
            assert read(ParquetReader(), damaged) == read(ParquetReader(), damaged)


def test_truncated_streams_give_a_prefix_of_the_lines() -> None:
    for raw in COMPRESSED.values():
        for percent in PERCENTS:
            kept = texts(lines_of(raw[: len(raw) * percent // 100]))
            assert kept == [row["text"] for row in ROWS[: len(kept)]]


@pytest.mark.parametrize("kind", TABLES)
def test_tables(kind: str) -> None:
    reader = ParquetReader(ColumnMapping(key="id"))
    raw = TABLES[kind]
    honest = read(reader, raw)
    assert len(texts(honest)) == LINES
    metadata = pq.ParquetFile(io.BytesIO(raw)).metadata
    footer = len(raw) - 8 - metadata.serialized_size
    starts = [
        metadata.row_group(index).column(0).dictionary_page_offset
        or metadata.row_group(index).column(0).data_page_offset
        for index in range(metadata.num_row_groups)
    ]
    bounds = [*starts, footer]
    for at, damaged in mutations(raw):
        try:
            events = read(reader, damaged)
        except SourceError:  # damage to a column's name in the footer
            assert at >= footer - 40
            continue
        rows = count_parquet(io.BytesIO(damaged))
        assert (rows is None) == bool(ranges(events, "bytes"))
        if rows is None:
            assert ranges(events, "bytes") == [(0, len(damaged))]
            assert len(events) == 1
            continue
        assert_tiles(events, "rows", rows)
        if len(damaged) == len(raw) and at + 40 <= footer:
            for group, (start, end) in enumerate(pairwise(bounds)):
                if end <= at or start >= at + 40:
                    assert events_of(events, group) == events_of(honest, group)


def events_of(events: list[Event], group: int) -> list[Event]:
    return [event for event in events if group * GROUP <= event.span.offset < (group + 1) * GROUP]


@pytest.mark.parametrize("kind", TABLES)
def test_every_byte_of_a_footer(kind: str) -> None:
    raw = TABLES[kind]
    footer = pq.ParquetFile(io.BytesIO(raw)).metadata.serialized_size + 8
    reader = ParquetReader(ColumnMapping(key="id"))
    choices = random.Random(7)
    for at in choices.sample(range(len(raw) - footer, len(raw)), 100):
        damaged = flipped(raw, at, choices.randrange(8))
        try:
            events = read(reader, damaged)
        except SourceError:
            continue
        rows = count_parquet(io.BytesIO(damaged))
        if rows is not None and not ranges(events, "bytes"):
            assert_tiles(events, "rows", rows)
        else:
            assert len(events) == 1
        assert all(isinstance(event, Record) is (event.span.length == 1) or event.span.length for event in events)
