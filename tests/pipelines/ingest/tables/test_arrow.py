"""Arrow streams and files: what writers make of them, in parts and damaged."""

import io
import random
import struct

import pyarrow as pa
import pytest
from pyarrow import feather

from tests.messages import assert_refused
from tests.pipelines.ingest.parts import LIMITS, assert_tiles, read, reasons, texts
from winnow.pipelines.ingest.records import ReadLimits, Record, Span, Unreadable
from winnow.pipelines.ingest.tables.arrow import ArrowReader, open_arrow
from winnow.pipelines.ingest.tables.cells import Cells
from winnow.pipelines.ingest.tables.columns import ColumnMapping
from winnow.pipelines.ingest.tiling.counting import count_arrow
from winnow.schemas.errors import SourceError
from winnow.schemas.records import FilePart

READER = ArrowReader()


def stream(table: pa.Table, rows: int = 1000, **options: object) -> bytes:
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, table.schema, options=pa.ipc.IpcWriteOptions(**options)) as writer:
        writer.write_table(table, max_chunksize=rows)
    return sink.getvalue()


def file(table: pa.Table, rows: int = 1000, **options: object) -> bytes:
    sink = io.BytesIO()
    with pa.ipc.new_file(sink, table.schema, options=pa.ipc.IpcWriteOptions(**options)) as writer:
        writer.write_table(table, max_chunksize=rows)
    return sink.getvalue()


def feathered(table: pa.Table, rows: int = 1000) -> bytes:
    sink = io.BytesIO()
    feather.write_feather(table, sink, compression="lz4", chunksize=rows)
    return sink.getvalue()


def numbered(rows: int) -> pa.Table:
    text = [f"text {row}" for row in range(rows)]
    kinds = pa.array([("a", "b")[row % 2] for row in range(rows)]).dictionary_encode()
    return pa.table({"text": text, "kind": kinds, "n": list(range(rows))})


@pytest.mark.parametrize("make", [stream, file, feathered])
def test_rows_are_records_in_any_parts(make: object) -> None:
    raw = make(numbered(20), 3)  # type: ignore[operator]
    events = read(READER, raw)
    assert texts(events) == [f"text {row}" for row in range(20)]
    last = events[-1]
    assert isinstance(last, Record)
    assert (last.span, last.container, last.metadata) == (Span(19, 1, "rows"), "arrow", {"kind": "b", "n": 19})
    assert_tiles(events, "rows", 20)
    for cut in range(0, len(raw), 61):
        assert read(READER, raw, [cut, cut + 200]) == events
    assert count_arrow(io.BytesIO(raw)) == 20


@pytest.mark.parametrize("compression", [None, "lz4", "zstd"])
def test_pictures_are_found_again_by_row_and_column(compression: str | None) -> None:
    pictures = [b"\x89PNG\0" + bytes([row]) * 50 for row in range(9)]
    kind = pa.list_(pa.struct([("bytes", pa.binary()), ("path", pa.string())]))
    images = pa.array([[{"bytes": one, "path": None}, {"bytes": one[::-1], "path": None}] for one in pictures], kind)
    raw = stream(pa.table({"images": images}), 4, compression=compression)
    events = read(ArrowReader(ColumnMapping(media="images")), raw)
    assert [[item.body for item in one.items] for one in events if isinstance(one, Record)] == [
        [one, one[::-1]] for one in pictures
    ]
    opened = open_arrow(io.BytesIO(raw), len(raw), LIMITS)
    assert not isinstance(opened, str)
    cells = Cells(opened)
    assert [cells.find(row, "images[1]") for row in (0, 8, 3)] == [pictures[row][::-1] for row in (0, 8, 3)]
    assert [cells.find(9, "images[1]"), cells.find(0, "images[2]"), cells.find(0, "other")] == [None] * 3


def test_views_are_read_and_what_may_multiply_values_is_refused() -> None:
    views = pa.table({"text": pa.array(["x" * 100, "y"], pa.string_view())})
    assert texts(read(READER, stream(views))) == ["x" * 100, "y"]
    ends = pa.RunEndEncodedArray.from_arrays([1 << 30], ["x"])
    (event,) = read(READER, stream(pa.table({"text": ["a"], "n": ends.slice(0, 1)})))
    assert isinstance(event, Unreadable)
    assert event.detail.startswith("column 'n' has the type run_end_encoded")


def test_a_text_that_is_not_utf_8_costs_its_row() -> None:
    text = pa.array([b"a", b"\xff", b"c"]).view(pa.string())
    events = read(READER, stream(pa.table({"text": text})))
    assert (texts(events), reasons(events)) == (["a", "c"], ["bad_utf8"])


def test_a_batch_that_asks_for_too_much_is_quarantined_and_the_others_read() -> None:
    table = pa.table({"text": ["a" * 50, "b" * 5_000_000, "c"]})
    events = read(READER, stream(table, 1, compression="zstd"), limits=ReadLimits(max_body_bytes=100_000))
    assert (texts(events), reasons(events)) == (["a" * 50, "c"], ["corrupt_table"])
    assert_tiles(events, "rows", 3)


def test_a_claim_of_many_values_without_bytes_is_not_believed() -> None:
    raw = bytearray(stream(pa.table({"n": pa.nulls(7), "text": ["x"] * 7})))
    claimed = (1 << 40).to_bytes(8, "little")
    at = raw.find(struct.pack("<qq", 7, 7))  # the node of the column of nulls
    raw[at : at + 8] = claimed
    (event,) = read(READER, bytes(raw))
    assert isinstance(event, Unreadable)
    assert "declares 1099511627776 values" in event.detail
    assert event.span == Span(0, 7, "rows")


@pytest.mark.parametrize("cut", [0.2, 0.5, 0.99])
@pytest.mark.parametrize("make", [stream, file])
def test_a_table_that_was_cut_off_is_one_range(make: object, cut: float) -> None:
    raw = make(numbered(20), 3)  # type: ignore[operator]
    short = raw[: int(len(raw) * cut)]
    events = read(READER, short, [100])
    if len(events) == 1:
        assert (reasons(events), events[0].span) == (["corrupt_table"], Span(0, len(short)))
        assert count_arrow(io.BytesIO(short)) is None
    else:  # only the mark at the end of a stream is missing
        assert len(texts(events)) == 20


def test_any_damage_is_answered_for() -> None:
    raw = stream(numbered(40), 10, compression="lz4")
    dice = random.Random(7)
    kept = 0
    for _ in range(150):
        broken = bytearray(raw)
        for _ in range(dice.randint(1, 4)):
            broken[dice.randrange(len(broken))] = dice.randrange(256)
        events = read(READER_OF_ANY, bytes(broken))
        rows = count_arrow(io.BytesIO(bytes(broken)))
        if any(event.span.unit == "bytes" for event in events):
            assert [event.span for event in events] == [Span(0, len(raw))]
        else:
            assert rows is not None
            assert_tiles(events, "rows", rows)
        kept += len(texts(events))
    assert kept > 1000  # most damage costs a batch or less


READER_OF_ANY = ArrowReader(checked=False)


def test_a_table_without_the_column_names_those_it_has() -> None:
    with assert_refused(SourceError, "file:", "'text'"):
        read(READER, stream(pa.table({"body": ["a"]})))


def test_nothing_and_other_files_are_no_tables() -> None:
    for raw in (b"", b"\0" * 40, b"ARROW1\0\0" + b"\0" * 40, b"FEA1" + bytes(40), b"\xff" * 64):
        events = list(READER(io.BytesIO(raw), FilePart("f", len(raw), 0, len(raw)), LIMITS))
        assert reasons(events) == ["corrupt_table"]
