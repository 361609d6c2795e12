"""Decodes the content codings of HTTP (RFC 9110, section 8.4.1), piece by piece.

A declared coding is tried, not believed: bytes that do not begin like it were decoded before they were stored. A
decoder returns only one step of output at a time, however far its input expands.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Final

import brotli
import zstandard
from isal import isal_zlib

from winnow.pipelines.ingest.archives.chunks import BrokenOffError, NotCodedError
from winnow.pipelines.ingest.archives.members import INFLATE_ERROR

__all__ = ["decoded_content"]

_INPUT_STEP: Final = 64 << 10
_OUTPUT_STEP: Final = 1 << 20
_ZSTD_INPUT_STEP: Final = 256  # 64 blocks of 4 bytes at most, each of up to 128 KiB
_ZSTD_WINDOW: Final = 8 << 20  # RFC 9659: what a decoder of the content coding must accept
_GZIP: Final = b"\x1f\x8b\x08"
_ZSTD: Final = b"\x28\xb5\x2f\xfd"
_LZW: Final = b"\x1f\x9d"
_GZIP_BITS, _ZLIB_BITS, _RAW_BITS = 31, 15, -15
_CONTROL: Final = re.compile(rb"[\x00-\x08\x0e-\x1f\x7f]")


def decoded_content(coding: str, stored: Iterable[bytes]) -> Iterator[bytes]:
    """Yields the decoded content, forward; what was yielded before an error is its beginning. `coding` is in lower
    case.

    NotCodedError if the bytes are not in the coding, so that no output counts; BrokenOffError if they are incomplete.
    """
    source = _Source(stored)
    decoder = _DECODERS.get(coding)
    if decoder is not None:
        yield from decoder(source)
    elif coding in ("compress", "x-compress") and source.peek(len(_LZW)) == _LZW:
        raise BrokenOffError  # the one registered coding without a decoder here
    else:  # other names are mistakes of servers ("utf-8", "none")
        raise NotCodedError


class _Source:
    """Stored bytes, read forward; a decoder gives back what it did not use."""

    def __init__(self, pieces: Iterable[bytes]) -> None:
        self._pieces = iter(pieces)
        self._piece = memoryview(b"")
        self._at = 0

    def peek(self, count: int) -> bytes:
        """The next bytes, without taking them; fewer only at the end."""
        while len(self._piece) - self._at < count and (piece := next(self._pieces, b"")):
            self._piece, self._at = memoryview(bytes(self._piece[self._at :]) + piece), 0
        return bytes(self._piece[self._at : self._at + count])

    def take(self, most: int) -> memoryview:
        """Takes some of the next bytes; none only at the end."""
        if self._at == len(self._piece):
            self._piece, self._at = memoryview(next(self._pieces, b"")), 0
        taken = self._piece[self._at : self._at + most]
        self._at += len(taken)
        return taken

    def give_back(self, count: int) -> None:
        """Gives back the last bytes taken."""
        self._at -= count


def _gunzip(source: _Source) -> Iterator[bytes]:
    """Successive gzip members; what follows is ignored, as browsers do."""
    if source.peek(len(_GZIP)) != _GZIP:
        raise NotCodedError
    while source.peek(len(_GZIP)) == _GZIP:
        yield from _inflated(source, _GZIP_BITS)


def _undeflate(source: _Source) -> Iterator[bytes]:
    """Undoes `deflate`: zlib (RFC 9110), or raw deflate from servers that got it wrong."""
    beginning = source.peek(_INPUT_STEP)
    if len(beginning) >= 2 and beginning[0] & 15 == 8 and (beginning[0] << 8 | beginning[1]) % 31 == 0:
        trial = isal_zlib.decompressobj(_ZLIB_BITS)
        try:
            begins = bool(trial.decompress(beginning, _OUTPUT_STEP)) or trial.eof
        except INFLATE_ERROR:
            begins = False
        if begins:
            yield from _inflated(source, _ZLIB_BITS)
            return
    yield from _without_magic(source, _inflated(source, _RAW_BITS))
    if source.peek(1) and _looks_like_text(beginning):
        raise NotCodedError


def _inflated(source: _Source, bits: int) -> Iterator[bytes]:
    """One stream or member."""
    inflater = isal_zlib.decompressobj(bits)
    while not inflater.eof:
        offered = source.take(_INPUT_STEP)
        try:
            step: bytes = inflater.decompress(offered, _OUTPUT_STEP)
        except INFLATE_ERROR:
            raise BrokenOffError from None
        source.give_back(len(inflater.unconsumed_tail) + len(inflater.unused_data))
        if step:
            yield step
        elif not offered and not inflater.eof:
            raise BrokenOffError


def _unbrotli(source: _Source) -> Iterator[bytes]:
    return _without_magic(source, _unbrotlied(source))


def _unbrotlied(source: _Source) -> Iterator[bytes]:
    decoder = brotli.Decompressor()
    offered = source.take(_INPUT_STEP)
    while not decoder.is_finished():
        try:
            step: bytes = decoder.process(bytes(offered), output_buffer_limit=_OUTPUT_STEP)
        except brotli.error:
            raise BrokenOffError from None
        if step:
            yield step
        wants_more = decoder.can_accept_more_data()
        offered = source.take(_INPUT_STEP if wants_more else 0)
        if wants_more and not offered and not step and not decoder.is_finished():
            raise BrokenOffError


def _unzstd(source: _Source) -> Iterator[bytes]:
    if source.peek(len(_ZSTD)) != _ZSTD:
        raise NotCodedError
    decompressor = zstandard.ZstdDecompressor(max_window_size=_ZSTD_WINDOW)
    while source.peek(len(_ZSTD)) == _ZSTD:
        decoder = decompressor.decompressobj()
        while not decoder.eof:
            offered = source.take(_ZSTD_INPUT_STEP)
            if not offered:
                raise BrokenOffError
            try:
                step = decoder.decompress(offered)
            except zstandard.ZstdError:
                raise BrokenOffError from None
            source.give_back(len(decoder.unused_data))
            if step:
                yield step


def _without_magic(source: _Source, pieces: Iterator[bytes]) -> Iterator[bytes]:
    """Raw deflate and brotli have no magic: input that fails at once, or looks like text, was never in the coding."""
    beginning = source.peek(_INPUT_STEP)
    has_begun = False
    try:
        for piece in pieces:
            has_begun = True
            yield piece
    except BrokenOffError:
        if not has_begun or _looks_like_text(beginning):
            raise NotCodedError from None
        raise


def _looks_like_text(beginning: bytes) -> bool:
    # 256 compressed bytes without a control character have a chance of 10^-13.
    return _CONTROL.search(beginning, 0, 256) is None


_DECODERS: Final[dict[str, Callable[[_Source], Iterator[bytes]]]] = {
    "gzip": _gunzip,
    "x-gzip": _gunzip,
    "deflate": _undeflate,
    "br": _unbrotli,
    "zstd": _unzstd,
}
