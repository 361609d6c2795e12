"""Undoing what HTTP did to a payload."""

import gzip
import tracemalloc
import zlib
from collections.abc import Callable
from random import Random

import brotli
import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.pipelines.ingest.archive_reading import outline, read
from tests.pipelines.ingest.made_archives import Capture, warc_record
from tests.property_sizes import scaled
from winnow.pipelines.ingest.archives.http import HttpHead, Payload, content_type, decode_payload, parse_http
from winnow.pipelines.ingest.records import ReadLimits, Record

PAGE = b"<!doctype html><p>Gr\xc3\xbc\xc3\x9fe</p>" * 40
CAP = 1 << 20
CODINGS = ("chunked", "gzip", "x-gzip", "deflate", "br", "zstd")


def raw_deflate(body: bytes) -> bytes:
    return zlib.compress(body)[2:-4]


def chunked(body: bytes, size: int = 100) -> bytes:
    pieces = [body[i : i + size] for i in range(0, len(body), size)]
    return b"".join(b"%x;ext=1\r\n%s\r\n" % (len(piece), piece) for piece in pieces) + b"0\r\n\r\n"


ENCODERS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "x-gzip": gzip.compress,
    "deflate": zlib.compress,
    "raw deflate": raw_deflate,
    "br": lambda body: brotli.compress(body, quality=4),
    "zstd": zstandard.ZstdCompressor().compress,
}


def decode(
    stored: bytes, content: str = "", transfer: str = "", *, cap: int = CAP, truncated: bool = False
) -> Payload | str:
    fields = {b"content-encoding": [content.encode()], b"transfer-encoding": [transfer.encode()]}
    return decode_payload(HttpHead(0, 200, fields), stored, cap, truncated)


def name_of(encoder: str) -> str:
    return encoder.removeprefix("raw ")


@pytest.mark.parametrize("encoder", ENCODERS)
def test_each_coding_is_undone(encoder: str) -> None:
    name = name_of(encoder)
    assert decode(ENCODERS[encoder](PAGE), name) == Payload(PAGE, codings_removed=name)


@pytest.mark.parametrize("encoder", ENCODERS)
def test_a_payload_that_is_stored_decoded_is_kept_as_it_is(encoder: str) -> None:
    name = name_of(encoder)
    assert decode(PAGE, name) == Payload(PAGE, ignored=name)


@pytest.mark.parametrize("encoder", ENCODERS)
def test_a_payload_that_breaks_off_is_refused_unless_the_record_says_that_it_was_cut(encoder: str) -> None:
    noise = Random(1).randbytes(60_000)
    cut = ENCODERS[encoder](noise)[:50_000]
    assert isinstance(decode(cut, name_of(encoder)), str)
    kept = decode(cut, name_of(encoder), truncated=True)
    if not isinstance(kept, str):  # brotli and zstd give whole blocks only
        assert kept.body is not None
        assert noise.startswith(kept.body)
    if encoder not in ("br", "zstd"):
        assert not isinstance(kept, str)


@pytest.mark.parametrize("encoder", ENCODERS)
def test_a_bomb_ends_at_the_cap_before_memory_is_taken(encoder: str) -> None:
    bomb = ENCODERS[encoder](bytes(32 << 20))
    tracemalloc.start()
    found = decode(bomb, name_of(encoder))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert found == Payload(None, bytes(4096), codings_removed=name_of(encoder))
    assert peak < 16 << 20


def test_chunks_and_stacked_codings_are_undone_in_reverse() -> None:
    assert decode(chunked(PAGE), transfer="chunked") == Payload(PAGE)
    assert decode(chunked(gzip.compress(PAGE)), "gzip", "chunked") == Payload(PAGE, codings_removed="gzip")
    assert decode(chunked(gzip.compress(PAGE)), transfer="gzip, chunked") == Payload(PAGE)
    assert decode(brotli.compress(gzip.compress(PAGE)), "gzip, br") == Payload(PAGE, codings_removed="gzip, br")
    assert decode(gzip.compress(PAGE), "gzip, identity") == Payload(PAGE, codings_removed="gzip")
    assert decode(PAGE, transfer="chunked") == Payload(PAGE)
    assert decode(gzip.compress(PAGE), "gzip", "chunked") == Payload(PAGE, codings_removed="gzip")


@pytest.mark.parametrize("inner", ENCODERS)
def test_of_a_large_payload_in_two_codings_the_beginning_is_told(inner: str) -> None:
    large = b"".join(b"%x" % number for number in range(CAP))
    found = decode(gzip.compress(ENCODERS[inner](large), 1), f"{name_of(inner)}, gzip", cap=1 << 16)
    if isinstance(found, str):  # of zstd nothing is known before its first block is whole
        assert inner == "zstd"
        return
    assert found == Payload(None, found.head, codings_removed=f"{name_of(inner)}, gzip")
    assert large.startswith(found.head)
    assert len(found.head) > 256


def test_of_two_declared_codings_one_may_have_been_undone() -> None:
    assert decode(gzip.compress(PAGE), "gzip, br") == Payload(PAGE, codings_removed="gzip", ignored="br")


def test_broken_chunks() -> None:
    whole = chunked(PAGE)
    assert isinstance(decode(whole[:500], transfer="chunked"), str)
    kept = decode(whole[:500], transfer="chunked", truncated=True)
    assert isinstance(kept, Payload)
    assert kept.body is not None
    assert PAGE.startswith(kept.body)
    assert len(kept.body) > 400
    assert decode(b"12\nis how this text begins", transfer="chunked") == Payload(b"12\nis how this text begins")
    assert isinstance(decode(b"fffffffffffffff\r\nx", transfer="chunked"), str)


def test_several_gzip_members_are_one_payload_and_junk_behind_them_is_none() -> None:
    assert decode(gzip.compress(b"one") + gzip.compress(b"two") + b"junk", "gzip") == Payload(
        b"onetwo", codings_removed="gzip"
    )


def test_invented_codings_are_ignored_and_lzw_is_refused() -> None:
    assert decode(PAGE, "utf-8") == Payload(PAGE, ignored="utf-8")
    assert isinstance(decode(b"\x1f\x9d\x90abc", "compress"), str)
    assert isinstance(decode(PAGE, ", ".join(["gzip"] * 9)), str)


@given(stored=st.binary(max_size=400), content=st.sampled_from(CODINGS), transfer=st.sampled_from(["", "chunked"]))
@settings(max_examples=scaled(200), deadline=None)
def test_any_payload_under_any_coding_is_decoded_kept_or_refused(stored: bytes, content: str, transfer: str) -> None:
    decode(stored, content, transfer)
    decode(stored, content, transfer, cap=10, truncated=True)


@pytest.mark.parametrize("encoder", ENCODERS)
@given(data=st.data())
@settings(max_examples=scaled(40), deadline=None)
def test_a_damaged_payload_never_raises(encoder: str, data: st.DataObject) -> None:
    stored = bytearray(ENCODERS[encoder](PAGE))
    stored[data.draw(st.integers(0, len(stored) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    found = decode(bytes(stored), name_of(encoder))
    assert isinstance(found, str | Payload)


def test_headers_are_read_as_they_come() -> None:
    raw = b"HTTP/2 404\nContent-Type : Text/HTML\ncontent-type: image/png\nX-Robots-Tag: a,\n b\nbroken line\n\nbody"
    head = parse_http(raw, 0, len(raw), 1000)
    assert head is not None
    assert (head.status, raw[head.stop :], head.text(b"x-robots-tag")) == (404, b"body", "a, b")
    assert head.fields[b"content-type"] == [b"Text/HTML", b"image/png"]
    assert parse_http(b"HTTP/1.1 200 OK\r\nA: b\r\n", 0, 23, 1000) is None
    assert parse_http(b"HTTP/1.1 200 OK\r\n" + b"A: b\r\n" * 1000 + b"\r\n", 0, 6019, 1000) is None
    nameless = parse_http(b"HTTP/1.1 OK\r\n\r\n", 0, 15, 1000)
    assert nameless is not None
    assert nameless.status is None


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        (b"text/html; charset=UTF-8", ("text/html", "utf-8")),
        (b"Text/HTML;charset='iso-8859-1'", ("text/html", "iso-8859-1")),
        (b'text/html; x=y; charset = "koi8-r"; z', ("text/html", "koi8-r")),
        (b"text/html, text/html; charset=a", ("text/html", "a")),
        (b"", (None, None)),
        (b"; charset=utf-8", (None, "utf-8")),
        (b"\xff\xfe", (None, None)),
    ],
)
def test_content_types(raw: bytes, expected: tuple[str | None, str | None]) -> None:
    assert content_type(raw) == expected


def test_the_reader_says_what_it_undid_and_what_it_did_not_believe() -> None:
    wire = Capture("https://e.org/wire", gzip.compress(PAGE), headers={"Content-Encoding": "gzip"})
    kept = Capture("https://e.org/kept", PAGE, headers={"Content-Encoding": "gzip", "Transfer-Encoding": "chunked"})
    broken = Capture("https://e.org/broken", gzip.compress(PAGE)[:-9], headers={"Content-Encoding": "gzip"})
    cut = Capture("https://e.org/cut", broken.body, headers=broken.headers, fields={"WARC-Truncated": "time"})
    events = read(b"".join(map(warc_record, (wire, kept, broken, cut))))
    assert outline(events) == ["wire", "kept", "bad_encoding", "cut"]
    undone, believed_not = events[0], events[1]
    assert isinstance(undone, Record)
    assert isinstance(believed_not, Record)
    assert (undone.body, undone.body_bytes, undone.metadata["content_encoding"]) == (PAGE, len(PAGE), "gzip")
    assert (believed_not.body, believed_not.metadata["content_encoding_ignored"]) == (PAGE, "gzip")


def test_a_payload_that_is_too_large_only_when_decoded_keeps_its_beginning() -> None:
    bomb = Capture("https://e.org/b", gzip.compress(b"x" * 100_000), headers={"Content-Encoding": "gzip"})
    [record] = read(warc_record(bomb), limits=ReadLimits(max_body_bytes=50_000))
    assert isinstance(record, Record)
    assert (record.body, record.body_bytes, record.head) == (None, 50_001, b"x" * 4096)
    noise = Random(1).randbytes(9_000)
    large = Capture("https://e.org/b", gzip.compress(noise), headers={"Content-Encoding": "gzip"})
    [record] = read(warc_record(large), limits=ReadLimits(max_body_bytes=5_000, max_header_bytes=3_000))
    assert isinstance(record, Record)
    assert (record.body, record.head) == (None, noise[:4096])
