"""The process that decodes pictures, so that a crash or hang of a native library costs one picture, not the worker.

Files, pixels and answers are in memory shared with the asking process (`isolation.py`); the socket only signals. The
kernel limits the address space, and the CPU time of each picture, and kills the process beyond them. It imports neither
Beam nor numba, ends when its socket closes, and writes no files.
"""

import mmap
import os
import resource
import signal
import socket
import struct
import sys
from collections.abc import Callable
from dataclasses import astuple, dataclass
from functools import cached_property
from typing import Final, NamedTuple, NoReturn, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from winnow.filters.image.decode.stills import (
    CheckedFile,
    DecodeLimits,
    UndecodableError,
    checked,
    decode_checked,
    require_decoders,
)
from winnow.pipelines.decoding.child_process import READY

__all__ = ["BATCH", "BATCH_FILES", "Answer", "DecodingPlan", "Request", "main"]

Shared: TypeAlias = NDArray[np.uint8]
Made = TypeVar("Made")

BATCH: Final = struct.Struct("<qq")  # how many files, and where their pixels go
BATCH_FILES: Final = 32
_COUNT: Final = struct.Struct("<q")  # of the files that are done
_SLOT: Final = struct.Struct("<qqqqq208s")
_REFUSED, _FAILED = -1, -2  # instead of rows
_SMALL: Final = 256 << 10  # bytes of a file that is checked ahead

BYTES_PER_PIXEL: Final = 24  # of the address space, for what decoders hold beside the pixels
SPARE_BYTES: Final = 1 << 30  # of the address space, for programs and their heaps
_NO_MEMORY: Final = 3  # exit status


@dataclass(frozen=True)
class DecodingPlan:
    """The limits of a picture, and the layout of the shared memory: reused pixels, other pixels, files, a slot for each
    file."""

    held_bytes: int
    cpu_seconds: int  # for one picture
    limits: DecodeLimits

    @cached_property
    def picture_bytes(self) -> int:
        """The pixels of the largest picture."""
        return 3 * self.limits.max_pixels

    @cached_property
    def files_at(self) -> int:
        """The offset of the files."""
        return self.held_bytes + 2 * self.picture_bytes

    @cached_property
    def slots_at(self) -> int:
        """The offset of the number of answers, which is followed by a slot for each file."""
        return -(-(self.files_at + self.limits.max_bytes) // mmap.PAGESIZE) * mmap.PAGESIZE

    @cached_property
    def size(self) -> int:
        """The total size; pages are allocated when they are first written."""
        return self.slots_at + _COUNT.size + BATCH_FILES * _SLOT.size

    @property
    def address_space(self) -> int:
        """The address space of the process."""
        return self.size + SPARE_BYTES + BYTES_PER_PIXEL * self.limits.max_pixels + 4 * self.limits.max_bytes

    def words(self) -> list[str]:
        """Arguments of the process."""
        return [str(number) for number in (self.held_bytes, self.cpu_seconds, *astuple(self.limits))]

    @classmethod
    def of_words(cls, words: list[str]) -> "DecodingPlan":
        """The plan of these arguments."""
        held, seconds, *limits = (int(word) for word in words)
        return cls(held, seconds, DecodeLimits(*limits))


class Request(NamedTuple):
    """One file of a batch."""

    at: int
    size: int
    side: int | None
    mime: str

    def put(self, memory: mmap.mmap, plan: DecodingPlan, number: int) -> None:
        """Writes the request to a slot."""
        mime = self.mime.encode()[:200]
        _SLOT.pack_into(memory, _slot(plan, number), self.at, self.size, self.side or 0, 0, 0, mime)

    @classmethod
    def of(cls, memory: mmap.mmap, plan: DecodingPlan, number: int) -> "Request":
        """Reads the request in a slot."""
        at, size, side, _, _, mime = _SLOT.unpack_from(memory, _slot(plan, number))
        return cls(at, size, side or None, mime.rstrip(b"\0").decode())


class Answer(NamedTuple):
    """The result for a file: the size of its pixels and of the whole picture, or why there are none."""

    rows: int = 0
    columns: int = 0
    height: int = 0
    width: int = 0
    refused: str = ""  # the reason and the detail, on two lines
    failed: str = ""  # what went wrong here

    def put(self, memory: mmap.mmap, plan: DecodingPlan, number: int) -> None:
        """Writes the answer to a slot, then marks it as present."""
        rows = _FAILED if self.failed else _REFUSED if self.refused else self.rows
        message = (self.failed or self.refused).encode("utf-8", "replace")[:208]
        _SLOT.pack_into(memory, _slot(plan, number), rows, self.columns, self.height, self.width, 0, message)
        _COUNT.pack_into(memory, plan.slots_at, number + 1)

    @classmethod
    def of(cls, memory: mmap.mmap, plan: DecodingPlan, number: int) -> "Answer":
        """Reads the answer in a slot."""
        rows, columns, height, width, _, raw = _SLOT.unpack_from(memory, _slot(plan, number))
        if rows < 0:
            message = raw.rstrip(b"\0").decode("utf-8", "replace")
            return cls(refused=message) if rows == _REFUSED else cls(failed=message)
        return cls(rows, columns, height, width)


def _slot(plan: DecodingPlan, number: int) -> int:
    return plan.slots_at + _COUNT.size + number * _SLOT.size


def main() -> NoReturn:
    """Decodes until the socket closes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal sends it to the whole group; the driver decides
    channel = socket.socket(fileno=int(sys.argv[1]))
    plan = DecodingPlan.of_words(sys.argv[3:])
    memory = mmap.mmap(int(sys.argv[2]), plan.size)
    shared = np.frombuffer(memory, np.uint8)
    require_decoders()
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_AS, (plan.address_space, plan.address_space))
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # no stderr from here on: libraries write warnings to it
    channel.sendall(READY)
    while batch := channel.recv(BATCH.size, socket.MSG_WAITALL):
        count, at = BATCH.unpack(batch)
        signal.setitimer(signal.ITIMER_PROF, plan.cpu_seconds)  # no handler: the signal kills, also inside a library
        requests = [Request.of(memory, plan, number) for number in range(count)]
        files = [_checked(shared, plan, request) if request.size <= _SMALL else None for request in requests]
        for number, (request, file) in enumerate(zip(requests, files, strict=True)):
            signal.setitimer(signal.ITIMER_PROF, plan.cpu_seconds)
            answer = _answer(shared, plan, request, file or _checked(shared, plan, request), at)
            answer.put(memory, plan, number)
            at += answer.rows * answer.columns * 3
            if at > plan.held_bytes:  # it is not kept there, so the rest of the batch is requested again
                break
        channel.sendall(READY)
    os._exit(0)


def _checked(shared: Shared, plan: DecodingPlan, request: Request) -> CheckedFile | Answer:
    content = shared[request.at : request.at + request.size].tobytes()
    return _or_why_not(lambda: checked(content, request.mime, plan.limits))


def _answer(shared: Shared, plan: DecodingPlan, request: Request, file: CheckedFile | Answer, at: int) -> Answer:
    room = shared[at : plan.files_at]
    found = (
        file if isinstance(file, Answer) else _or_why_not(lambda: decode_checked(file, plan.limits, request.side, room))
    )
    if isinstance(found, Answer):
        return found
    pixels = found.pixels
    if not np.may_share_memory(pixels, room):  # the decoder has put it in place, or in separate memory
        room[: pixels.nbytes].reshape(pixels.shape)[:] = pixels
    return Answer(pixels.shape[0], pixels.shape[1], found.height, found.width)


def _or_why_not(call: Callable[[], Made]) -> Made | Answer:
    try:
        return call()
    except UndecodableError as error:
        return Answer(refused=f"{error.reason}\n{error.detail}")
    except MemoryError:
        os._exit(_NO_MEMORY)  # libraries may raise anything
    except Exception as error:  # noqa: BLE001  # a defect of ours, which the asking process raises
        return Answer(failed=f"{type(error).__name__}: {error}")


if __name__ == "__main__":
    main()
