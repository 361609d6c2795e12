"""Undoes the content codings of a response that was just received, as far as asked and never further.

A declared coding is tried, not believed, as `ingest` does when it reads the record. Each of several codings is limited,
not only what the last one gives: empty blocks may be packed by the million, and unpack to nothing.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Final

from winnow.pipelines.ingest.archives.chunks import BrokenOffError, NotCodedError
from winnow.pipelines.ingest.archives.codings import decoded_content

__all__ = ["beginning", "unpacked_size"]


_MOST_BETWEEN: Final = 64 << 20  # what a coding gives to the next, where only a beginning is wanted


class _TooMuchError(Exception):
    """A coding gives more than the limit."""


class _FalseCodingError(Exception):
    """The bytes are not in the coding of this number."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


def unpacked_size(codings: Sequence[str], packed: Callable[[], Iterable[bytes]], most: int) -> int:
    """How many bytes the content has; more than `most` if it, or what a coding gives on the way, is larger.

    `packed` gives the packed bytes from the beginning.
    """
    size = 0
    for pieces in _tries(codings, packed, most):
        size = 0
        try:
            for piece in pieces:
                size += len(piece)
        except _TooMuchError:
            return most + 1
    return size


def beginning(codings: Sequence[str], packed: Callable[[], Iterable[bytes]], most: int) -> bytes:
    """The first bytes of the content, at most so many; fewer if it ends or its coding breaks off."""
    kept = bytearray()
    for pieces in _tries(codings, packed, max(most, _MOST_BETWEEN)):
        kept.clear()
        with suppress(_TooMuchError):  # what came before counts
            for piece in pieces:
                kept += piece
                if len(kept) >= most:
                    break
    return bytes(kept[:most])


def _tries(codings: Sequence[str], packed: Callable[[], Iterable[bytes]], most: int) -> Iterator[Iterator[bytes]]:
    """The content; again, without a coding that turned out to be none, if the bytes show that only as they are read."""
    left = list(codings)
    while True:
        pieces: Iterator[bytes] = iter(packed())
        for number in reversed(range(len(left))):
            pieces = _undone(number, left[number], pieces, most)
        false: list[int] = []
        yield _noting(pieces, false)
        if not false:
            return
        del left[false[0]]


def _noting(pieces: Iterator[bytes], false: list[int]) -> Iterator[bytes]:
    try:
        yield from pieces
    except _FalseCodingError as error:
        false.append(error.number)


def _undone(number: int, coding: str, pieces: Iterator[bytes], most: int) -> Iterator[bytes]:
    size = 0
    try:
        for piece in decoded_content(coding, pieces):
            size += len(piece)
            if size > most:
                raise _TooMuchError
            yield piece
    except NotCodedError:
        raise _FalseCodingError(number) from None
    except BrokenOffError:  # what came before counts
        return
