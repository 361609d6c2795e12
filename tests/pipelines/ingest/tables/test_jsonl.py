import gzip
import io
import json
import tracemalloc
from collections.abc import Callable, Iterator
from datetime import UTC, datetime

import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.messages import assert_refused, assert_told
from tests.pipelines.ingest.parts import LIMITS, assert_tiles, read, reasons, texts
from tests.property_sizes import scaled
from winnow.pipelines.ingest.records import Dropped, ReadLimits, Record, Span, Unreadable
from winnow.pipelines.ingest.tables.columns import ColumnMapping
from winnow.pipelines.ingest.tables.jsonl import MAX_DEPTH, JsonlReader, parse_row
from winnow.schemas.errors import SourceError
from winnow.schemas.identity import canonical_json
from winnow.schemas.records import FilePart

READER = JsonlReader()


def zstd(raw: bytes) -> bytes:
    return zstandard.ZstdCompressor(write_checksum=True).compress(raw)


COMPRESSIONS: dict[str, Callable[[bytes], bytes]] = {"gz": gzip.compress, "zst": zstd}


def one(line: bytes, mapping: ColumnMapping | None = None) -> Record | Dropped | Unreadable:
    events = read(JsonlReader(mapping or ColumnMapping()), line)
    assert len(events) == 1
    return events[0]


def test_a_line_becomes_a_record_and_what_is_not_mapped_its_metadata() -> None:
    raw = b'{"id": 7, "text": "hello", "url": "http://a/", "when": "2019-04-24T00:00:00Z", "meta": {"a": [1, null]}}\n'
    assert read(JsonlReader(ColumnMapping(key="id", fetched_at="when")), raw) == [
        Record(
            span=Span(0, len(raw), "bytes"),
            key="7",
            container="jsonl",
            url="http://a/",
            fetched_at=datetime(2019, 4, 24, tzinfo=UTC),
            text="hello",
            metadata={"meta": {"a": [1, None]}},
        )
    ]


@pytest.mark.parametrize("ending", ["gz", "zst"])
def test_compressed_lines_count_bytes_of_the_decompressed_stream(ending: str) -> None:
    raw = b'{"text": "a"}\n\n{"text": "b"}'
    events = read(READER, COMPRESSIONS[ending](raw))
    assert [(type(e), e.span) for e in events] == [
        (Record, Span(0, 14, "stream")),
        (Dropped, Span(14, 1, "stream")),
        (Record, Span(15, 13, "stream")),
    ]
    assert {e.container for e in events if isinstance(e, Record)} == {f"jsonl.{ending}"}


@pytest.mark.parametrize("ending", ["gz", "zst"])
def test_lines_cross_members(ending: str) -> None:
    raw = b'{"text": "first"}\n{"text": "second"}\n{"text": "third"}\n'
    compressed = b"".join(COMPRESSIONS[ending](raw[at : at + 7]) for at in range(0, len(raw), 7))
    assert texts(read(READER, compressed)) == ["first", "second", "third"]


def test_zeros_between_gzip_members_and_skippable_zstd_frames_are_passed() -> None:
    line = b'{"text": "a"}\n'
    padded = gzip.compress(line) + bytes(1000) + gzip.compress(line) + bytes(3)
    assert texts(read(READER, padded)) == ["a", "a"]
    skippable = b"\x53\x2a\x4d\x18" + (5).to_bytes(4, "little") + b"12345"
    assert texts(read(READER, skippable + zstd(line) + skippable + zstd(line))) == ["a", "a"]


def test_only_the_part_at_zero_reads_a_file_of_one_member() -> None:
    raw = gzip.compress(b'{"text": "a"}\n' * 10)
    assert read(READER, raw, cuts=[1, 20, 30]) == read(READER, raw)
    assert list(READER(io.BytesIO(raw), FilePart("f", len(raw), 5, len(raw)), LIMITS)) == []


LINES = st.sampled_from(
    [b'{"text": "x"}', b"", b" ", b"\r", b"not json", b'{"text": ""}', b"\xff", b'{"a": 1}', b'{"text": "yy"}\r']
)


@given(lines=st.lists(LINES, max_size=12), newline_at_end=st.booleans(), data=st.data())
@settings(max_examples=scaled(150), deadline=None)
def test_any_division_into_parts_gives_the_events_of_the_whole(
    lines: list[bytes], newline_at_end: bool, data: st.DataObject
) -> None:
    raw = b"\n".join(lines) + (b"\n" if newline_at_end else b"")
    cuts = data.draw(st.lists(st.integers(0, len(raw)), max_size=6))
    events = read(READER, raw)
    assert read(READER, raw, cuts) == events
    assert_tiles(events, "bytes", len(raw))
    assert len(events) == raw.count(b"\n") + (not raw.endswith(b"\n") and raw != b"")


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"{", "bad_json"),
        (b'{"text": "a', "bad_json"),
        (b"[1]", "bad_json"),
        (b"null", "bad_json"),
        (b'"text"', "bad_json"),
        (b'{"text": "a"} {"text": "b"}', "bad_json"),
        (b'{"text": "a\x00b"}', "bad_json"),
        (b'{"text": "\xff"}', "bad_utf8"),
        (b'{"text": "\xed\xa0\x80"}', "bad_utf8"),
        (b'{"texts": "a"}', "missing_text"),
        (b'{"text": null}', "missing_text"),
        (b'{"text": 1}', "wrong_type"),
        (b'{"text": ["a"]}', "wrong_type"),
        (b'{"text": {"$base64": "YQ=="}}', "wrong_type"),
    ],
)
def test_a_line_that_is_no_row_is_quarantined_alone(line: bytes, reason: str) -> None:
    good = b'{"text": "good"}\n'
    events = read(READER, good + line + b"\n" + good)
    assert reasons(events) == [reason]
    assert "at at" not in str(events[1])
    assert texts(events) == ["good", "good"]
    bad = events[1]
    assert isinstance(bad, Unreadable)
    assert bad.span == Span(len(good), len(line) + 1)
    assert "\n" not in bad.detail
    assert len(bad.detail) <= 200


@pytest.mark.parametrize(
    ("value", "outcome"),
    [
        (b'"k"', "k"),
        (b"12", "12"),
        (b"-3", "-3"),
        (b"18446744073709551615", "18446744073709551615"),
        (b"18446744073709551616", "wrong_type"),
        (b"null", "missing_key"),
        (b"true", "wrong_type"),
        (b"1.0", "wrong_type"),
    ],
)
def test_keys_are_strings_or_integers(value: bytes, outcome: str) -> None:
    event = one(b'{"text": "t", "id": ' + value + b"}", ColumnMapping(key="id"))
    assert (event.key if isinstance(event, Record) else event.reason) == outcome


def test_an_absent_key_is_missing() -> None:
    assert reasons([one(b'{"text": "t"}', ColumnMapping(key="id"))]) == ["missing_key"]


def test_blank_lines_and_empty_texts_are_dropped() -> None:
    events = read(READER, b'\n \r\n{"text": ""}\n')
    assert [(type(e), e.span.length) for e in events] == [(Dropped, 1), (Dropped, 3), (Dropped, 13)]


def test_a_byte_order_mark_and_carriage_returns_are_not_content() -> None:
    raw = b'\xef\xbb\xbf{"text": "a"}\r\n{"text": "b"}\r\n'
    events = read(READER, raw, cuts=[1, 2, 3, 10])
    assert texts(events) == ["a", "b"]
    assert_tiles(events, "bytes", len(raw))
    assert [type(e) for e in read(READER, b"\xef\xbb\xbf")] == [Dropped]


def test_of_two_equal_keys_the_last_wins() -> None:
    assert texts([one(b'{"text": "first", "text": "last"}')]) == ["last"]


def test_escaped_nul_is_text() -> None:
    assert texts([one(rb'{"text": "a\u0000b"}')]) == ["a\x00b"]


def test_lone_surrogates_are_replaced_and_counted() -> None:
    event = one(rb'{"text": "a\ud800b\udc00", "\udfff": "\ud83d\ude00"}')
    assert isinstance(event, Record)
    assert event.text == "a\ufffdb\ufffd"
    assert event.metadata == {"\ufffd": "😀", "replaced_surrogates": 3}


def test_numbers_that_json_has_not_become_null_and_are_counted() -> None:
    event = one(b'{"text": "a", "x": NaN, "y": [-Infinity, 1e999, 1.5], "z": ' + b"9" * 5000 + b"}")
    assert isinstance(event, Record)
    assert event.metadata == {"x": None, "y": [None, None, 1.5], "z": None, "non_finite_numbers": 4}


def test_integers_beyond_64_bits_are_doubles_whichever_parser_reads_them() -> None:
    plain = one(b'{"text": "a", "n": 123456789012345678901234567890}')
    lenient = one(b'{"text": "a", "n": 123456789012345678901234567890, "x": NaN}')
    assert isinstance(plain, Record)
    assert isinstance(lenient, Record)
    assert plain.metadata["n"] == lenient.metadata["n"] == 123456789012345678901234567890.0


@pytest.mark.parametrize("extra", [b"", b"NaN"])
@pytest.mark.parametrize(
    ("depth", "fits"), [(MAX_DEPTH - 1, True), (MAX_DEPTH, False), (1020, False), (200_000, False)]
)
def test_nesting_is_bounded(depth: int, fits: bool, extra: bytes) -> None:
    event = one(b'{"text": "a", "x": ' + b"[" * depth + extra + b"]" * depth + b"}")
    if fits:
        assert isinstance(event, Record)
        assert canonical_json(event.metadata)
    else:
        assert isinstance(event, Unreadable)
        assert event.reason == "bad_json"


def test_many_brackets_in_a_text_are_not_depth() -> None:
    assert texts([one(json.dumps({"text": "[{" * 5000}).encode())]) == ["[{" * 5000]


def test_a_line_of_too_many_values_is_refused_before_it_is_parsed() -> None:
    assert reasons([one(b'{"text": "a", "x": [' + b"[]," * (5 << 20) + b"[]]}")]) == ["too_large"]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.floats() | st.text(st.characters(), max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.text(st.characters(), max_size=4), JSON, max_size=4))
@settings(max_examples=scaled(200), deadline=None)
def test_rows_are_what_the_standard_library_reads_and_can_be_written_again(row: dict[str, object]) -> None:
    line = json.dumps(row).encode()

    def expected(value: object) -> object:
        if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
            return None
        if isinstance(value, str):
            return "".join("\ufffd" if "\ud800" <= c <= "\udfff" else c for c in value)
        if isinstance(value, dict):
            return {expected(name): expected(inner) for name, inner in value.items()}
        return [expected(inner) for inner in value] if isinstance(value, list) else value

    parsed = parse_row(line)
    assert isinstance(parsed, dict)
    assert canonical_json(parsed)
    for note in ("replaced_surrogates", "non_finite_numbers"):
        if note not in row:
            parsed.pop(note, None)
    assert parsed == expected(json.loads(line))


@pytest.mark.parametrize("ending", ["", "gz", "zst"])
def test_a_line_above_the_limit_is_passed_by_wherever_blocks_end(ending: str) -> None:
    limits = ReadLimits(max_body_bytes=1000)
    fits = b'{"text": "' + b"x" * 988 + b'"}'
    long = b'{"text": "' + b"x" * 3_000_000 + b'"}'
    raw = b"\n".join([fits, long, fits + b" ", fits])
    events = read(READER, COMPRESSIONS[ending](raw) if ending else raw, limits=limits)
    assert [type(e) for e in events] == [Record, Unreadable, Unreadable, Record]
    assert reasons(events) == ["too_large", "too_large"]
    assert_tiles(events, "stream" if ending else "bytes", len(raw))


class OneLine(io.RawIOBase):
    """A file of 200 MB without a newline that takes no memory, and returns less than it is asked for."""

    SIZE = 200 << 20

    def __init__(self) -> None:
        self._at = 0

    def seek(self, offset: int, whence: int = 0) -> int:
        self._at = offset + (self.SIZE if whence == 2 else 0)
        return self._at

    def read(self, count: int = -1) -> bytes:
        count = min(count, self.SIZE - self._at, 700_000)
        self._at += count
        return b"x" * count


def traced(run: Callable[[], object]) -> int:
    tracemalloc.start()
    try:
        run()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_a_line_of_200_megabytes_takes_flat_memory() -> None:
    limits = ReadLimits(max_body_bytes=4 << 20)
    events: list[object] = []

    def run() -> None:
        events.extend(READER(OneLine(), FilePart("f", OneLine.SIZE, 0, OneLine.SIZE), limits))  # type: ignore[arg-type]
        for start in (1, 100 << 20):  # no line begins in these
            part = FilePart("f", OneLine.SIZE, start, start + (8 << 20))
            assert list(READER(OneLine(), part, limits)) == []  # type: ignore[arg-type]

    assert traced(run) < 16 << 20
    (event,) = events
    assert isinstance(event, Unreadable)
    assert (event.span, event.reason) == (Span(0, OneLine.SIZE), "too_large")
    assert_told(event.detail, f"{OneLine.SIZE} bytes", "4194304 bytes", whole=True)


@pytest.mark.parametrize("ending", ["gz", "zst"])
def test_a_bomb_is_stopped_at_the_cap_with_flat_memory(ending: str) -> None:
    raw = COMPRESSIONS[ending](b'{"text": "a"}\n' + bytes(128 << 20))
    limits = ReadLimits(max_member_bytes=32 << 20, max_body_bytes=1 << 20)
    found: list[Record | Dropped | Unreadable] = []
    assert traced(lambda: found.extend(read(READER, raw, limits=limits))) < 40 << 20
    assert texts(found) == ["a"]
    assert reasons(found) == ["truncated", "bomb"]
    assert found[-1].span == Span(0, len(raw), "bytes")


def test_a_zstd_frame_that_asks_for_a_large_window_is_refused() -> None:
    parameters = zstandard.ZstdCompressionParameters(window_log=28, compression_level=1)
    writer = zstandard.ZstdCompressor(compression_params=parameters).compressobj()  # size unknown: the window is stated
    large = writer.compress(b'{"text": "b"}\n') + writer.flush()
    first = zstd(b'{"text": "a"}\n')
    events = read(READER, first + large)
    assert texts(events) == ["a"]
    assert reasons(events) == ["too_large"]
    assert events[-1].span == Span(len(first), len(large))
    assert texts(read(READER, large, limits=ReadLimits(max_window_bytes=1 << 28))) == ["b"]


@pytest.mark.parametrize("ending", ["gz", "zst"])
def test_every_whole_line_before_a_cut_is_kept(ending: str) -> None:
    lines = [b'{"text": "%d"}\n' % number for number in range(1000)]
    whole = COMPRESSIONS[ending](b"".join(lines))
    cut = whole[: len(whole) // 2]
    events = read(READER, cut)
    kept = texts(events)
    if ending == "gz":
        assert len(kept) > 100
    assert kept == [str(number) for number in range(len(kept))]
    assert reasons(events)[-1] == "truncated"
    assert events[-1].span == Span(0, len(cut), "bytes")


def test_a_damaged_member_keeps_the_members_before_it() -> None:
    good = gzip.compress(b'{"text": "a"}\n{"te')
    bad = bytearray(gzip.compress(b'xt": "b"}\n{"text": "c"}\n'))
    bad[-5] ^= 1  # its length: all of it inflates, and then it is known to be wrong
    events = read(READER, good + bytes(bad))
    assert texts(events) == ["a", "b", "c"]
    assert reasons(events) == ["corrupt_member"]
    assert events[-1].span == Span(len(good), len(bad), "bytes")


def test_what_follows_the_last_member_and_is_none_is_quarantined() -> None:
    good = gzip.compress(b'{"text": "a"}\n')
    events = read(READER, good + b"garbage")
    assert texts(events) == ["a"]
    assert events[1:] == [
        Unreadable(Span(len(good), 7), "corrupt_member", f"member at byte {len(good)}: no gzip member begins here")
    ]


def test_lines_before_a_fault_inside_a_slice_are_kept() -> None:
    # Stored blocks, so that the fault lies where it is put: 3 blocks of whole lines, then a block of no known type.
    def stored(content: bytes) -> bytes:
        return b"\0" + len(content).to_bytes(2, "little") + (len(content) ^ 0xFFFF).to_bytes(2, "little") + content

    lines = [b'{"text": "%d"}\n' % number for number in range(3)]
    header = b"\x1f\x8b\x08\0\0\0\0\0\0\xff"
    events = read(READER, header + b"".join(map(stored, lines)) + b"\x07" + bytes(50))
    assert texts(events) == ["0", "1", "2"]
    assert reasons(events) == ["corrupt_member"]


@pytest.mark.parametrize("magic", [b"BZh91AY", b"\xfd7zXZ\0\0", b"PK\x03\x04", b"PAR1"])
def test_other_formats_are_refused_in_one_line(magic: bytes) -> None:
    with assert_refused(SourceError, "books/a.jsonl", "JSON") as caught:
        read(READER, magic + bytes(10), path="books/a.jsonl")
    assert "\n" not in str(caught.value)
    raw = magic + bytes(10)
    (event,) = read(JsonlReader(checked=False), raw, cuts=[4, 9])
    assert isinstance(event, Unreadable)
    assert (event.span, event.reason) == (Span(0, len(raw)), "bad_json")
    assert_told(str(caught.value), "books/a.jsonl", str(event.detail), whole=True)


def test_a_file_that_is_not_as_long_as_it_was_listed_is_refused() -> None:
    with assert_refused(SourceError, "5 bytes", "6"):
        list(READER(io.BytesIO(b"12345"), FilePart("f", 6, 0, 6), LIMITS))


def test_failures_of_the_stream_are_not_taken_for_damage() -> None:
    class Failing(io.BytesIO):
        def read(self, count: int | None = -1) -> bytes:
            if self.tell() > 8:
                raise OSError("the disk is gone")
            return super().read(min(count or 0, 9))

    raw = gzip.compress(b'{"text": "a"}\n' * 100)

    def events() -> Iterator[object]:
        return READER(Failing(raw), FilePart("f", len(raw), 0, len(raw)), LIMITS)

    with pytest.raises(OSError, match="the disk is gone"):
        list(events())
