import io

from tests.pipelines.ingest.parts import read
from winnow.pipelines.decoding.file_bytes import read_range
from winnow.pipelines.ingest.files import FilesReader
from winnow.pipelines.ingest.records import Dropped, ReadLimits, Record, Span

READER = FilesReader()


def test_a_file_is_one_record() -> None:
    raw = b"<html>\xff\0</html>"
    expected = Record(
        span=Span(0, len(raw)), key="file", container="file", declared_mime="text/html", body=raw, body_bytes=len(raw)
    )
    assert read(READER, raw, path="a/b.HTML") == [expected]
    assert read(READER, raw, cuts=[0, 1, 7], path="a/b.HTML") == [expected]


def test_an_empty_file_is_dropped() -> None:
    assert read(READER, b"") == [Dropped(Span(0, 0), "empty")]


def test_a_file_above_the_limit_is_not_held() -> None:
    (record,) = read(READER, b"x" * 10_000, limits=ReadLimits(max_body_bytes=9_999), path="a.bin")
    assert isinstance(record, Record)
    assert (record.body, record.body_bytes, record.head, record.declared_mime) == (None, 10_000, b"x" * 4096, None)


def test_a_stream_that_returns_little_at_a_time_is_read_whole() -> None:
    class Slow(io.BytesIO):
        def read(self, count: int | None = -1) -> bytes:
            return super().read(min(count or 0, 3))

    assert read_range(Slow(b"0123456789"), 2, 7) == b"2345678"
    assert read_range(Slow(b"0123456789"), 8, 7) == b"89"
