"""Records and members far larger than what may be held are walked through with flat memory."""

import io
import tracemalloc
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard

from tests.pipelines.ingest.archive_reading import LIMITS, assert_tiles, claims, outline
from tests.pipelines.ingest.made_archives import Capture, gzip_member, warc_record, zstd_frame
from winnow.pipelines.ingest.archives.warc import read_warc
from winnow.pipelines.ingest.records import Event, ReadLimits, Record
from winnow.pipelines.ingest.tiling.archives import check_tiling
from winnow.schemas.records import FilePart

LARGE = 256 << 20
PAGE = warc_record(Capture("https://e.org/page"))
HTTP = b"HTTP/1.1 200 OK\r\nContent-Type: video/mp4\r\n\r\n"
HEAD = (
    b"WARC/1.0\r\nWARC-Type: response\r\nWARC-Target-URI: https://e.org/film\r\n"
    b"Content-Type: application/http\r\nContent-Length: %d\r\n\r\n" % (LARGE + len(HTTP))
) + HTTP


def gzipped(path: Path, zeros: int) -> None:
    with path.open("wb") as file:
        file.write(gzip_member(PAGE))
        packer = zlib.compressobj(1, wbits=31)
        block = bytes(4 << 20)
        file.write(packer.compress(HEAD))
        for _ in range(zeros // len(block)):
            file.write(packer.compress(block))
        file.write(packer.compress(b"\r\n\r\n") + packer.flush())
        file.write(gzip_member(PAGE))


def zstded(path: Path, zeros: int) -> None:
    block = bytes(4 << 20)
    with path.open("wb") as file:
        file.write(zstd_frame(PAGE))
        with zstandard.ZstdCompressor(level=1, write_checksum=True).stream_writer(file, closefd=False) as packer:
            packer.write(HEAD)
            for _ in range(zeros // len(block)):
                packer.write(block)
            packer.write(b"\r\n\r\n")
        file.write(zstd_frame(PAGE))


def plain(path: Path, zeros: int) -> None:
    with path.open("wb") as file:
        file.write(PAGE + HEAD)
        file.seek(zeros, io.SEEK_CUR)  # a hole
        file.write(b"\r\n\r\n" + PAGE)


def read_traced(path: Path, limits: ReadLimits) -> tuple[list[Event], int]:
    size = path.stat().st_size
    tracemalloc.start()
    with path.open("rb") as stream:
        events = list(read_warc(stream, FilePart("file", size, 0, size), limits))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return events, peak


@pytest.mark.parametrize("write", [gzipped, zstded, plain])
def test_a_record_of_a_quarter_of_a_gibibyte_is_streamed(tmp_path: Path, write: Callable[[Path, int], None]) -> None:
    path = tmp_path / "large"
    write(path, LARGE)
    events, peak = read_traced(path, LIMITS)
    assert outline(events) == ["page", "film", "page"]
    film = events[1]
    assert isinstance(film, Record)
    assert (film.body, film.body_bytes, film.head, film.declared_mime) == (None, LARGE, bytes(4096), "video/mp4")
    assert peak < 48 << 20


def test_many_records_in_one_large_member_are_streamed_and_audited(tmp_path: Path) -> None:
    record = warc_record(Capture("https://e.org/page", bytes(10_000)))
    path = tmp_path / "one"
    path.write_bytes(gzip_member(record * 6_000))  # 60 MB: more than is held of one member
    events, _ = read_traced(path, LIMITS)
    assert len(events) == 6_000
    raw = path.read_bytes()
    assert_tiles(raw, events)
    assert check_tiling(io.BytesIO(raw), claims(events), LIMITS) == []


@pytest.mark.parametrize("write", [gzipped, zstded])
def test_a_bomb_is_left_at_the_limit(tmp_path: Path, write: Callable[[Path, int], None]) -> None:
    path = tmp_path / "bomb"
    write(path, 256 << 20)
    events, peak = read_traced(path, ReadLimits(max_body_bytes=1 << 20, max_member_bytes=64 << 20))
    assert outline(events) == ["page", "bomb", "page"]
    assert peak < 16 << 20
