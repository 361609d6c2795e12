import io

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.messages import assert_told
from tests.pipelines.ingest.parts import read
from winnow.pipelines.ingest.records import ReadLimits, Span, Unreadable
from winnow.pipelines.ingest.tables.footer import BYTE_ARRAY, MAX_SCHEMA_DEPTH, Footer, Leaf, parse_footer
from winnow.pipelines.ingest.tables.parquet import ParquetReader, walk_pages
from winnow.pipelines.ingest.tables.thrift import I32, I64, MAX_DEPTH, STRUCT, BadThriftError, Compact
from winnow.pipelines.ingest.tiling.counting import count_parquet


def varint(value: int) -> bytes:
    rest, low = value >> 7, value & 0x7F
    return bytes([low | 0x80]) + varint(rest) if rest else bytes([low])


def integer(value: int) -> bytes:
    return varint(value << 1 if value >= 0 else (-value << 1) - 1)


def element(name: bytes, physical: int | None = None, children: int | None = None) -> bytes:
    raw = b"" if physical is None else b"\x15" + integer(physical)
    raw += (b"\x48" if physical is None else b"\x38") + varint(len(name)) + name
    return raw + (b"" if children is None else b"\x15" + integer(children)) + b"\0"


def structs(items: list[bytes]) -> bytes:
    return b"\xfc" + varint(len(items)) + b"".join(items)


def footer(elements: list[bytes], groups: list[bytes], rows: int) -> bytes:
    return (
        b"\x15" + integer(2) + b"\x19" + structs(elements) + b"\x16" + integer(rows) + b"\x19" + structs(groups) + b"\0"
    )


def group(chunks: list[bytes], rows: int) -> bytes:
    return b"\x19" + structs(chunks) + b"\x16" + integer(0) + b"\x16" + integer(rows) + b"\0"


def chunk(values: int, packed: int, data: int) -> bytes:
    metadata = b"".join(
        [
            b"\x15" + integer(BYTE_ARRAY),
            b"\x19\x15" + integer(0),  # encodings: plain
            b"\x19\x18\x04text",
            b"\x15" + integer(0),  # not compressed
            b"\x16" + integer(values),
            b"\x16" + integer(packed),
            b"\x16" + integer(packed),
            b"\x26" + integer(data),
            b"\0",
        ]
    )
    return b"\x26" + integer(0) + b"\x1c" + metadata + b"\0"


def in_file(raw: bytes) -> bytes:
    return b"PAR1" + raw + len(raw).to_bytes(4, "little") + b"PAR1"


TEXT = [element(b"root", children=1), element(b"text", BYTE_ARRAY)]


def test_a_footer_says_what_pyarrow_says() -> None:
    table = pa.table({"a": [1, 2, 3], "b": [["x"], [], ["y", "z"]], "c": [{"d": 1.0}] * 3})
    sink = io.BytesIO()
    pq.write_table(table, sink, row_group_size=2)
    raw = sink.getvalue()
    expected = pq.ParquetFile(io.BytesIO(raw)).metadata
    length = int.from_bytes(raw[-8:-4], "little")
    found = parse_footer(raw[-8 - length : -8])
    assert found.rows == 3
    assert [(leaf.path, leaf.repeated) for leaf in found.leaves] == [
        ("a", False),
        ("b.list.element", True),
        ("c.d", False),
    ]
    for index, row_group in enumerate(found.groups):
        assert row_group.rows == expected.row_group(index).num_rows
        for position, chunk in enumerate(row_group.chunks):
            column = expected.row_group(index).column(position)
            assert chunk.values == column.num_values
            assert chunk.end - chunk.start == column.total_compressed_size
            assert chunk.start == (column.dictionary_page_offset or column.data_page_offset)
            pages = walk_pages(io.BytesIO(raw), chunk)
            assert pages.intact
            assert pages.uncompressed <= column.total_uncompressed_size


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (b"", "goes on past the end"),
        (b"\0", "no schema"),
        (footer(TEXT, [], 5), "claims 5 rows, its row groups 0"),
        (footer(TEXT, [group([chunk(1, 1, 4)], -1)], -1), "claims -1 rows"),
        (footer(TEXT, [group([], 0)], 0), "a row group has another number"),
        (footer(TEXT, [group([b"\x26\0\0"], 0)], 0), "a column chunk without metadata"),  # pyarrow aborts on this one
        (footer(TEXT, [group([b"\x26\0\x1c\0\0"], 0)], 0), "a column chunk without size or place"),
        (footer(TEXT, [group([b"\x18\x01x\0"], 0)], 0), "lies in another file or is encrypted"),
        (footer(TEXT[:1], [], 0), "a schema with an element too few"),
        (footer([*TEXT, TEXT[1]], [], 0), "a schema with an element too many"),
        (b"\x19\xfc\xff\xff\xff\xff\x0f", "a list that goes on past the end"),
        (b"\x1d", "there is no kind 13"),
        (b"\x1c" * 100, f"nests deeper than {MAX_DEPTH}"),
    ],
)
def test_a_footer_that_is_none_says_why_in_one_line(raw: bytes, message: str) -> None:
    with pytest.raises(BadThriftError, match=message):
        parse_footer(raw)
    (event,) = read(ParquetReader(), in_file(raw)) if len(raw) > 3 else [Unreadable(Span(0, 1), "corrupt_table")]
    assert isinstance(event, Unreadable)
    assert event.reason == "corrupt_table"
    assert count_parquet(io.BytesIO(in_file(raw))) is None


def test_a_schema_deeper_than_a_stack_is_refused() -> None:
    deep = [element(b"root", children=1), *[element(b"a", children=1)] * 50_000, element(b"text", BYTE_ARRAY)]
    raw = in_file(footer(deep, [], 0))
    (event,) = read(ParquetReader(), raw)
    assert isinstance(event, Unreadable)
    assert (event.span, event.reason) == (Span(0, len(raw)), "corrupt_table")
    assert_told(event.detail, "footer", f"deeper than {MAX_SCHEMA_DEPTH}", whole=True)
    assert count_parquet(io.BytesIO(raw)) is None


@pytest.mark.parametrize(
    ("rows", "values", "packed", "data", "message"),
    [
        (2**60, 2**60, 10, 4, f"declares … {2**60}"),
        (5, 5, 2**40, 4, "lies outside the file"),
        (5, 5, 10, -4, "lies outside the file"),
        (5, -5, 10, 4, "lies outside the file"),
        (5, 5, 10, 4, "holds 0 … 5"),
    ],
)
def test_claims_about_rows_and_places_are_checked(rows: int, values: int, packed: int, data: int, message: str) -> None:
    raw = in_file(footer(TEXT, [group([chunk(values, packed, data)], rows)], rows))
    (event,) = read(ParquetReader(), raw, cuts=[3, 4, 5, 9])
    assert isinstance(event, Unreadable)
    assert (event.span, event.reason) == (Span(0, rows, "rows"), "corrupt_table")
    assert_told(event.detail, message)
    assert not event.is_over_limit
    assert count_parquet(io.BytesIO(raw)) == rows


def test_a_footer_above_the_limit_is_not_parsed() -> None:
    raw = in_file(footer([*TEXT], [], 0) + bytes(20_000))
    (event,) = read(ParquetReader(), raw, limits=ReadLimits(max_header_bytes=1000))
    assert isinstance(event, Unreadable)
    assert "the limit is 16000" in event.detail
    assert event.is_over_limit


def test_integers_lose_the_bits_beyond_their_width() -> None:
    assert Compact(integer(-3)).integer(I32) == -3
    assert Compact(varint((1 << 32) + 6)).integer(I32) == 3
    assert Compact(varint((1 << 32) + 6)).integer(I64) == (1 << 31) + 3
    with pytest.raises(BadThriftError):
        Compact(b"\0").integer(STRUCT)


def test_optional_groups_without_fields_are_no_columns() -> None:
    assert parse_footer(footer([element(b"root", children=1), element(b"empty", children=0)], [], 0)) == Footer(
        0, [], []
    )
    assert parse_footer(footer(TEXT, [], 0)).leaves == [Leaf("text", BYTE_ARRAY, False)]
