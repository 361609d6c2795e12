"""Content codings are undone as far as asked, whatever the bytes are."""

import gzip
import zlib
from collections.abc import Iterator

import brotli
import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from winnow.pipelines.fetch.live import unpacking
from winnow.pipelines.fetch.live.unpacking import beginning, unpacked_size
from winnow.pipelines.ingest.archives.codings import decoded_content

PACK = {
    "gzip": lambda raw: gzip.compress(raw, mtime=0),
    "deflate": zlib.compress,
    "br": lambda raw: brotli.compress(raw, quality=3),
    "zstd": lambda raw: zstandard.ZstdCompressor().compress(raw),
}
CODINGS = st.lists(st.sampled_from(sorted(PACK)), max_size=4)


def pieces_of(raw: bytes, size: int = 7) -> list[bytes]:
    return [raw[at : at + size] for at in range(0, len(raw), size)]


@settings(max_examples=100, deadline=None)
@given(st.binary(min_size=20, max_size=300), CODINGS, st.integers(1, 400))
def test_what_was_packed_is_unpacked(raw: bytes, codings: list[str], most: int) -> None:
    packed = raw
    for coding in codings:
        packed = PACK[coding](packed)
    assert beginning(codings, lambda: pieces_of(packed), most) == raw[:most]
    assert unpacked_size(codings, lambda: pieces_of(packed), 1000) == len(raw)


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=200), st.lists(st.sampled_from([*PACK, "compress", "utf-8", "x-gzip"]), max_size=4))
def test_no_bytes_raise(raw: bytes, codings: list[str]) -> None:
    assert unpacked_size(codings, lambda: pieces_of(raw), 1000) >= 0
    assert len(beginning(codings, lambda: pieces_of(raw), 50)) <= 50


def test_a_content_of_just_the_limit_is_no_bomb() -> None:
    packed = gzip.compress(bytes(1000))
    assert unpacked_size(["gzip"], lambda: [packed], 1000) == 1000
    assert unpacked_size(["gzip"], lambda: [packed], 999) == 1000
    assert unpacked_size([], lambda: [bytes(1000)], 999) == 1000


def test_what_breaks_off_gives_its_beginning() -> None:
    packed = gzip.compress(bytes(range(256)) * 100)[:-200]
    assert beginning(["gzip"], lambda: [packed], 10) == bytes(range(10))


def test_much_packed_nothing_is_unpacked_no_further_than_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Empty blocks, packed: what lies between two codings grows a thousandfold, and the content is empty."""
    packer = zlib.compressobj(wbits=-15)
    empty = packer.compress(b"") + packer.flush(zlib.Z_FULL_FLUSH)
    nothing = b"\x1f\x8b\x08\0\0\0\0\0\0\xff" + empty * 20_000_000
    packed = gzip.compress(nothing, 1)
    assert len(packed) < len(nothing) / 100
    between = 0

    def counted(coding: str, pieces: Iterator[bytes]) -> Iterator[bytes]:
        nonlocal between
        for piece in decoded_content(coding, pieces):
            between += len(piece)
            yield piece

    monkeypatch.setattr(unpacking, "decoded_content", counted)
    assert unpacked_size(["gzip", "gzip"], lambda: [packed], 1 << 20) == (1 << 20) + 1
    assert between < 4 << 20  # the limit, and a step of each coding
    assert beginning(["gzip", "gzip"], lambda: [packed], 100) == b""
    assert between < 80 << 20 < len(nothing)


def test_many_empty_parts_need_one_decoder(monkeypatch: pytest.MonkeyPatch) -> None:
    """One for each of many frames once took six times as long in zstd as in gzip."""
    made = []
    decompressor = zstandard.ZstdDecompressor

    def counted(*, max_window_size: int) -> zstandard.ZstdDecompressor:
        made.append(max_window_size)
        return decompressor(max_window_size=max_window_size)

    monkeypatch.setattr(zstandard, "ZstdDecompressor", counted)
    packed = zstandard.ZstdCompressor().compress(b"") * 50_000
    assert unpacked_size(["zstd"], lambda: pieces_of(packed, 1 << 16), 1000) == 0
    assert len(made) == 1
