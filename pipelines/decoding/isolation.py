"""Decodes pictures in a separate process (`decoding_process.py`), whose death costs one picture.

A picture that kills three processes is `crashed`. Only deaths that the process caused itself count (a fault, an abort,
no memory, too much CPU time); after any other death the process is restarted without blaming the picture.
"""

import mmap
import os
import struct
import weakref
from collections.abc import Iterator, Sequence
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from winnow.filters.image.decode.stills import TOO_LARGE, DecodeLimits, Still, UndecodableError
from winnow.pipelines.decoding import decoding_process
from winnow.pipelines.decoding.child_process import READY, STRIKES, ChildProcess, DiedError, IdleProcesses
from winnow.pipelines.decoding.decoding_process import BATCH, BATCH_FILES, Answer, DecodingPlan, Request
from winnow.schemas.errors import StageError

__all__ = ["CRASHED", "HELD_BYTES", "PixelBuffer", "decode_isolated"]

CRASHED: Final = "crashed"
"""The status of a picture that killed each process that was to decode it."""

HELD_BYTES: Final = 64 << 20  # of decoded pixels; what does not fit has memory of its own
CPU_SECONDS: Final = 60  # of one picture; the slowest formats take some 20 for 100 million pixels

_File: TypeAlias = tuple[bytes, str, int | None]
"""A file, its type, and to what its picture may be shrunk."""

_KEPT_FILE_BYTES: Final = 8 << 20


class PixelBuffer:
    """Memory into which pictures are decoded one after another, so that a batch needs no copy.

    New pages cost as much as decoding, so memory is reused, once the last array or Arrow buffer in it is gone.

    `held_bytes` is the capacity; what does not fit gets separate memory. `cpu_seconds` limits decoding one picture.
    """

    def __init__(self, limits: DecodeLimits, held_bytes: int = HELD_BYTES, cpu_seconds: int = CPU_SECONDS) -> None:
        self._decoder = _idle_process(DecodingPlan(held_bytes, cpu_seconds, limits))
        self._whole = np.frombuffer(self._decoder.memory, np.uint8)  # the base of all that lies in it
        self._used = 0
        weakref.finalize(self._whole, _give_back, self._decoder).atexit = False

    def decode_all(
        self, files: Sequence[tuple[bytes, str]], sides: Sequence[int | None] | int | None = None
    ) -> Iterator[Still | UndecodableError]:
        """Decodes files, each to a picture as `winnow.filters.image.decode.stills.decode` does, or to the reason why
        not.

        `sides` has one side for all, or one for each. Pictures that do not fit are decoded on request, one at a time.
        StageError if the process cannot be started, or was stopped.
        """
        each = sides if isinstance(sides, Sequence) else [sides] * len(files)
        wanted = [(*file, side) for file, side in zip(files, each, strict=True)]
        done = 0
        while done < len(files):
            some = self._decoder.decode(wanted[done:], self._whole[self._used :])
            done += len(some)
            yield from [one if isinstance(one, UndecodableError) else self._placed(one) for one in some]

    def decode(self, content: bytes, mime: str, side: int | None = None) -> Still:
        """Decodes one picture, as `winnow.filters.image.decode.stills.decode` does; UndecodableError may also be
        `CRASHED`.

        StageError if the process cannot be started, or was stopped.
        """
        (found,) = self.decode_all([(content, mime)], side)
        if isinstance(found, UndecodableError):
            raise found
        return found

    def _placed(self, still: Still) -> Still:
        size = still.pixels.nbytes
        if self._used and self._used + size > self._decoder.plan.held_bytes:
            return Still(still.pixels.copy(), still.height, still.width)
        self._used += size
        return still

    def holds(self, still: Still) -> bool:
        """Whether a picture is in the room, so that keeping it takes no further memory."""
        return still.pixels.base is self._whole


def decode_isolated(content: bytes, mime: str, limits: DecodeLimits, side: int | None = None) -> Still:
    """Decodes one picture in the process, without a room; raises as `PixelBuffer.decode` does."""
    return PixelBuffer(limits).decode(content, mime, side)


class _Decoder:
    """A process and the memory that it shares with this one."""

    def __init__(self, plan: DecodingPlan) -> None:
        self.plan = plan
        self._file = os.memfd_create("winnow-pictures")
        os.ftruncate(self._file, plan.size)
        self.memory = mmap.mmap(self._file, plan.size)
        words = [str(self._file), *plan.words()]
        self._process = ChildProcess(decoding_process.__name__, words, [self._file], "decodes pictures")
        self._written = 0  # end of the pixels written, beyond what is held
        self._read = 0  # how far files have been

    def decode(self, files: Sequence[_File], room: NDArray[np.uint8]) -> list[Still | UndecodableError]:
        """Decodes the first of some files, at least one, to the beginning of a room in the shared memory."""
        limits = self.plan.limits
        size = len(files[0][0])
        if size > limits.max_bytes:  # it does not fit into the shared memory
            return [UndecodableError(TOO_LARGE, f"{size:,} bytes of at most {limits.max_bytes:,}")]
        strikes = 0
        while True:
            count = self._put(files)
            at = self.plan.size - room.nbytes
            try:
                self._ask(count, at)
            except DiedError as error:
                answered = self._answers(room)
                if answered:  # the next file caused it, and is requested first
                    return answered
                strikes += 1
                if strikes == STRIKES:
                    return [UndecodableError(CRASHED, f"it killed {STRIKES} processes: {error.how}")]
            else:
                return self._answers(room)

    def _put(self, files: Sequence[_File]) -> int:
        """Puts files and requests into the memory; returns how many."""
        at, count = self.plan.files_at, 0
        end = at + self.plan.limits.max_bytes
        for content, mime, side in files[:BATCH_FILES]:
            if at + len(content) > end:
                break
            self.memory[at : at + len(content)] = content
            Request(at, len(content), side, mime).put(self.memory, self.plan, count)
            at, count = at + len(content), count + 1
        self.memory[self.plan.slots_at : self.plan.slots_at + 8] = bytes(8)
        self._read = max(self._read, at)
        return count

    def _answers(self, room: NDArray[np.uint8]) -> list[Still | UndecodableError]:
        (count,) = struct.unpack("<q", self.memory[self.plan.slots_at : self.plan.slots_at + 8])
        found: list[Still | UndecodableError] = []
        used = 0
        for number in range(count):
            answer = Answer.of(self.memory, self.plan, number)
            if answer.failed:
                raise StageError(f"decoding a picture failed: {answer.failed}")
            if answer.refused:
                reason, _, detail = answer.refused.partition("\n")
                found.append(UndecodableError(reason, detail))
                continue
            size = answer.rows * answer.columns * 3
            pixels = room[used : used + size].reshape(answer.rows, answer.columns, 3)
            found.append(Still(pixels, answer.height, answer.width))
            used += size
        self._written = max(self._written, self.plan.size - room.nbytes + used)
        return found

    def release(self) -> None:
        """Frees the pages of large pictures and files; others are soon written again."""
        for start, end in ((self.plan.held_bytes, self._written), (self.plan.files_at + _KEPT_FILE_BYTES, self._read)):
            first = -(-start // mmap.PAGESIZE) * mmap.PAGESIZE
            if end > first:
                self.memory.madvise(mmap.MADV_REMOVE, first, end - first)
        self._written = self._read = 0

    def close(self) -> None:
        """Ends the process. The memory is freed with the last array in it."""
        if self.belongs_here:
            self._process.stop()
            os.close(self._file)

    @property
    def belongs_here(self) -> bool:
        """Whether this process made it: a fork would write to the same pages."""
        return self._process.belongs_here

    def _ask(self, count: int, at: int) -> None:
        self._process.send(BATCH.pack(count, at))
        self._process.receive(len(READY))


_spares: IdleProcesses[_Decoder] = IdleProcesses()


def _idle_process(plan: DecodingPlan) -> _Decoder:
    """An idle decoder whose memory is not referenced."""
    return _spares.take(lambda one: one.plan == plan) or _Decoder(plan)


def _give_back(decoder: _Decoder) -> None:
    if decoder.belongs_here:
        decoder.release()
        _spares.give_back(decoder)
