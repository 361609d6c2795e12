import io
import tracemalloc
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.messages import assert_told
from tests.pipelines.ingest.parts import LIMITS, assert_tiles, read, reasons, texts
from tests.property_sizes import scaled
from winnow.pipelines.ingest.records import Dropped, ReadLimits, Record, Span, Unreadable
from winnow.pipelines.ingest.tables.columns import ColumnMapping
from winnow.pipelines.ingest.tables.parquet import ParquetReader
from winnow.schemas.errors import SourceError
from winnow.schemas.identity import canonical_json
from winnow.schemas.records import FilePart

READER = ParquetReader()


def parquet(columns: dict[str, object] | pa.Table, **options: object) -> bytes:
    table = columns if isinstance(columns, pa.Table) else pa.table(columns)
    sink = io.BytesIO()
    pq.write_table(table, sink, **options)
    return sink.getvalue()


def numbered(rows: int, group: int, **options: object) -> bytes:
    return parquet({"text": [f"text {row}" for row in range(rows)]}, row_group_size=group, **options)


def test_a_row_becomes_a_record_and_what_is_not_mapped_its_metadata() -> None:
    raw = parquet(
        {
            "id": [7],
            "text": ["hello"],
            "meta": [{"url": "http://a/", "tags": ["x"]}],
            "at": pa.array([0], pa.timestamp("ms", "UTC")),
            "score": [float("nan")],
        }
    )
    mapping = ColumnMapping(key="id", url="meta.url", fetched_at="at")
    assert read(ParquetReader(mapping), raw) == [
        Record(
            span=Span(0, 1, "rows"),
            key="7",
            container="parquet",
            url="http://a/",
            fetched_at=datetime(1970, 1, 1, tzinfo=UTC),
            text="hello",
            metadata={"meta": {"tags": ["x"]}, "score": None, "non_finite_numbers": 1},
        )
    ]


def test_rows_without_text_or_key_are_quarantined_alone() -> None:
    raw = parquet({"id": ["a", None, "c", "d"], "text": ["1", "2", None, ""]})
    events = read(ParquetReader(ColumnMapping(key="id")), raw)
    assert [type(e) for e in events] == [Record, Unreadable, Unreadable, Dropped]
    assert reasons(events) == ["missing_key", "missing_text"]
    assert [e.key for e in events if isinstance(e, Unreadable)] == [None, "c"]
    assert_tiles(events, "rows", 4)


@pytest.mark.parametrize(
    "kind",
    [pa.string(), pa.large_string(), pa.string_view(), pa.binary(), pa.large_binary(), pa.binary_view()],
)
@pytest.mark.parametrize("dictionary", [True, False])
def test_text_may_be_any_kind_of_string_or_bytes(kind: pa.DataType, dictionary: bool) -> None:
    array = pa.array(["é", None, "b\0"], pa.string()).cast(kind)
    raw = parquet({"text": array, "doc": pa.StructArray.from_arrays([array], ["text"])}, use_dictionary=dictionary)
    assert texts(read(READER, raw)) == ["é", "b\0"]
    assert texts(read(ParquetReader(ColumnMapping(text="doc.text")), raw)) == ["é", "b\0"]


def test_text_may_be_a_dictionary_column() -> None:
    assert texts(read(READER, parquet({"text": pa.array(["a", "b", "a"]).dictionary_encode()}))) == ["a", "b", "a"]


@pytest.mark.parametrize("kind", [pa.string(), pa.binary()])
def test_text_that_is_not_utf8_is_quarantined_alone(kind: pa.DataType) -> None:
    raw = parquet({"text": pa.array([b"a", b"\xff", b"c"]).view(kind)})
    events = read(READER, raw)
    assert texts(events) == ["a", "c"]
    assert events[1] == Unreadable(Span(1, 1, "rows"), "bad_utf8", "column 'text': byte 0")


def test_text_above_the_limit_is_quarantined_alone() -> None:
    events = read(READER, parquet({"text": ["a", "b" * 5000, "c"]}), limits=ReadLimits(max_body_bytes=4999))
    assert texts(events) == ["a", "c"]
    assert reasons(events) == ["too_large"]


@pytest.mark.parametrize(
    ("columns", "mapping", "message"),
    [
        (
            {"txt": ["a"], "id": [1]},
            ColumnMapping(),
            "'text' … 'txt'",
        ),
        ({"text": [1]}, ColumnMapping(), "'text' … int64"),
        ({"text": ["a"]}, ColumnMapping(key="id"), "'id' … columns"),
        (
            {"text": ["a"], "id": [1.5]},
            ColumnMapping(key="id"),
            "'id' … expected",
        ),
        ({"text": ["a"], "m": [{"u": "x"}]}, ColumnMapping(key="m.v"), "no column 'm.v'"),
        ({"label": ["a"]}, ColumnMapping(media="image"), "'image' … columns"),
        ({"image": [1]}, ColumnMapping(media="image"), "'image' … int64"),
    ],
)
def test_a_wrong_schema_is_one_clear_line(columns: dict[str, object], mapping: ColumnMapping, message: str) -> None:
    with pytest.raises(SourceError) as caught:
        read(ParquetReader(mapping), parquet(columns), path="books/a.parquet")
    assert str(caught.value).startswith("books/a.parquet: ")
    assert_told(str(caught.value), message)
    assert "\n" not in str(caught.value)


def test_a_wrong_schema_may_be_read_as_rows_that_are_quarantined() -> None:
    for columns, reason in (({"txt": ["a", "b"]}, "missing_text"), ({"text": [1, 2]}, "wrong_type")):
        assert reasons(read(ParquetReader(checked=False), parquet(columns))) == [reason, reason]


@pytest.mark.parametrize("columns", [{"text": ["a"]}, {"text": ["a"], "link": [5], "when": [[1]]}])
def test_other_columns_read_as_null_where_they_are_absent_or_of_another_type(columns: dict[str, object]) -> None:
    mapping = ColumnMapping(url="link", fetched_at="when")
    (record,) = read(ParquetReader(mapping), parquet(columns))
    assert isinstance(record, Record)
    assert (record.url, record.fetched_at) == (None, None)
    assert record.metadata == {name: values[0] for name, values in columns.items() if name != "text"}  # type: ignore[index]


def test_the_default_url_column_may_be_absent_or_of_another_type() -> None:
    assert texts(read(READER, parquet({"text": ["a"]}))) == ["a"]
    (record,) = read(READER, parquet({"text": ["a"], "url": [5]}))
    assert isinstance(record, Record)
    assert (record.url, record.metadata) == (None, {"url": 5})


SCHEMA = pa.schema(
    [
        ("text", pa.string()),
        ("n", pa.int64()),
        ("f", pa.float64()),
        ("s", pa.struct([("x", pa.bool_()), ("l", pa.list_(pa.string()))])),
    ]
)
ROWS = st.lists(
    st.fixed_dictionaries(
        {"text": st.none() | st.text(max_size=4)},
        optional={
            "n": st.integers(-(2**63), 2**63 - 1),
            "f": st.floats(allow_nan=False, allow_infinity=False),
            "s": st.fixed_dictionaries(
                {}, optional={"x": st.booleans(), "l": st.lists(st.text(max_size=2), max_size=3)}
            ),
        },
    ),
    max_size=30,
)


@given(rows=ROWS, group=st.integers(1, 8), page=st.sampled_from([64, 1 << 20]), data=st.data())
@settings(max_examples=scaled(100), deadline=None)
def test_any_division_into_parts_gives_what_pyarrow_reads_as_a_table(
    rows: list[dict[str, object]], group: int, page: int, data: st.DataObject
) -> None:
    raw = parquet(pa.Table.from_pylist(rows, schema=SCHEMA), row_group_size=group, data_page_size=page)
    cuts = data.draw(st.lists(st.integers(0, len(raw)), max_size=6))
    events = read(READER, raw)
    assert_tiles(events, "rows", len(rows))
    assert sorted(read(READER, raw, cuts), key=lambda e: e.span.offset) == events
    expected = pq.read_table(io.BytesIO(raw)).to_pylist()
    for event, row in zip(events, expected, strict=True):
        text = row.pop("text")
        if text:
            assert isinstance(event, Record)
            assert event.text == text
            assert canonical_json(event.metadata) == canonical_json(row)
        else:
            assert type(event) is (Unreadable if text is None else Dropped)


def test_a_table_without_rows_gives_nothing() -> None:
    assert read(READER, parquet({"text": pa.array([], pa.string())})) == []


@pytest.mark.parametrize("raw", [b"", b"PAR1", b"x" * 100, b"PAR1" + bytes(50) + b"PAR1", b"\xff" * 50 + b"PAR1"])
def test_a_file_without_a_footer_is_quarantined_as_a_whole(raw: bytes) -> None:
    events = read(READER, raw, cuts=[1, 2] if raw else [])
    assert [(e.span, e.reason) for e in events if isinstance(e, Unreadable)] == [(Span(0, len(raw)), "corrupt_table")]
    assert len(events) == 1


def test_a_damaged_page_costs_the_rest_of_its_row_group_alone() -> None:
    raw = bytearray(numbered(300, 100, compression="none", use_dictionary=False, write_page_checksum=True))
    raw[raw.index(b"text 150") + 5] ^= 1
    events = read(READER, bytes(raw))
    assert texts(events) == [f"text {row}" for row in (*range(100), *range(200, 300))]
    assert reasons(events) == ["corrupt_table"]
    assert_tiles(events, "rows", 300)


def test_batches_before_a_damaged_page_are_kept() -> None:
    raw = bytearray(
        numbered(
            10_000, 10_000, compression="none", use_dictionary=False, write_page_checksum=True, data_page_size=10_000
        )
    )
    raw[raw.index(b"text 8000") + 6] ^= 1
    events = read(READER, bytes(raw))
    kept = texts(events)
    assert 5000 < len(kept) <= 8000
    assert kept == [f"text {row}" for row in range(len(kept))]
    assert_tiles(events, "rows", 10_000)


def test_large_rows_are_read_few_at_a_time() -> None:
    raw = parquet(
        {"text": [f"{row:02}" + "x" * (1 << 20) for row in range(20)]}, use_dictionary=False, compression="none"
    )
    limits = ReadLimits(max_body_bytes=2 << 20, batch_bytes=4 << 20)
    pa.default_memory_pool().release_unused()
    before = pa.total_allocated_bytes()
    most = 0
    for event in READER(io.BytesIO(raw), FilePart("f", len(raw), 0, len(raw)), limits):
        most = max(most, pa.total_allocated_bytes() - before)
        assert isinstance(event, Record)
    assert most < (20 << 20) + (8 << 20)  # the page and a batch


def peak(raw: bytes, limits: ReadLimits) -> tuple[list[int | str], int]:
    """The length of each text, or why there is none, and the most memory that was held."""
    tracemalloc.start()
    try:
        most = 0
        outcomes: list[int | str] = []
        for event in READER(io.BytesIO(raw), FilePart("f", len(raw), 0, len(raw)), limits):
            most = max(most, pa.total_allocated_bytes() + tracemalloc.get_traced_memory()[1])
            outcomes.append(len(event.text or "") if isinstance(event, Record) else event.reason)
        return outcomes, most
    finally:
        tracemalloc.stop()


def test_a_page_that_inflates_past_the_limit_is_not_decoded() -> None:
    raw = parquet({"text": ["x" * (48 << 20)]}, compression="zstd", use_dictionary=False, write_statistics=False)
    assert len(raw) < 10_000
    outcomes, most = peak(raw, ReadLimits(max_body_bytes=8 << 20))
    assert outcomes == ["corrupt_table"]
    assert most < 8 << 20


def test_a_value_that_a_dictionary_gives_to_every_row_is_not_multiplied() -> None:
    raw = parquet({"text": ["x" * (1 << 20)] * 300}, compression="zstd", write_statistics=False)
    assert len(raw) < 100_000
    lengths, most = peak(raw, ReadLimits(max_body_bytes=2 << 20))
    assert lengths == [1 << 20] * 300
    assert most < 64 << 20


def test_a_value_that_a_dictionary_gives_to_every_item_of_a_list_is_not_multiplied() -> None:
    row = pa.array([[0] * 3000, [0]])
    big = pa.DictionaryArray.from_arrays(row.values.cast(pa.int32()), ["x" * (1 << 20)])
    lists = pa.ListArray.from_arrays(row.offsets, big)
    raw = parquet(
        pa.table({"text": ["a", "b"], "tags": lists}),
        compression="zstd",
        write_statistics=False,
        store_schema=False,
    )
    assert len(raw) < 20_000
    outcomes, most = peak(raw, ReadLimits(max_body_bytes=8 << 20))
    assert outcomes == ["too_large", 1]
    assert most < 32 << 20


def test_failures_of_the_stream_are_not_taken_for_damage() -> None:
    class Failing(io.BytesIO):
        def read(self, count: int | None = -1) -> bytes:
            if 1000 < self.tell() < 2000:
                raise OSError("the disk is gone")
            return super().read(count)

    raw = numbered(2000, 100, use_dictionary=False)
    with pytest.raises(OSError, match="the disk is gone"):
        list(READER(Failing(raw), FilePart("f", len(raw), 0, len(raw)), LIMITS))


def test_a_file_on_disk_is_left_open(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    path.write_bytes(numbered(10, 5))
    with path.open("rb") as stream:
        part = FilePart("a.parquet", path.stat().st_size, 0, path.stat().st_size)
        assert len(list(READER(stream, part, LIMITS))) == 10
        assert len(list(READER(stream, part, LIMITS))) == 10


def test_an_unknown_text_column_of_nulls_is_missing_text() -> None:
    assert reasons(read(READER, parquet({"text": pa.nulls(2)}))) == ["missing_text", "missing_text"]
