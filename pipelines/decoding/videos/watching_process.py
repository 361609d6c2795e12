"""The process that opens and decodes videos, so that a crash or hang of FFmpeg costs one video, not the worker.

It requests the bytes that it reads, and sends signals and facts, or the file of a clip (`messages.py`). The kernel
limits its address space, and its CPU time between two messages, and kills it beyond them. It ends when its socket
closes, opens no file but the given one, and writes only a nameless file, for a clip.
"""

import io
import os
import resource
import signal
import socket
import sys
import tempfile
from importlib.abc import MetaPathFinder
from typing import BinaryIO, Final, NoReturn, cast

from winnow.filters.extras import required_package
from winnow.filters.video.clips.cutting import cut
from winnow.filters.video.clips.options import ClipFile
from winnow.filters.video.decode.opening import UnwatchableError, VideoLimits
from winnow.filters.video.decode.signal_requests import Clip
from winnow.filters.video.decode.watching import VideoPass
from winnow.pipelines.decoding.child_process import READY
from winnow.pipelines.decoding.videos.messages import (
    CLIP,
    FACTS,
    FAILED,
    HEAD,
    LENGTH,
    PIECE,
    READ,
    REFUSED,
    SIGNAL,
    VideoTask,
    read_limits,
    write_clip,
    write_facts,
)

__all__ = ["CPU_SECONDS", "main"]

CPU_SECONDS: Final = 600
"""Between two messages: at the size of the largest pictures, some thousands of frames."""

BYTES_PER_PIXEL: Final = 160  # of the address space: some twenty pictures that wait to be shown, or that others need
SPARE_BYTES: Final = 3 << 30  # of the address space, for programs and their heaps
_PIECE_BYTES: Final = 1 << 20
_NO_MEMORY: Final = 3  # exit status


class _WithoutPandas(MetaPathFinder):
    """Hides pandas from pyarrow, which would import it (30 MB) only to check whether a list is a pandas column."""

    def find_spec(self, fullname: str, _path: object, _target: object = None) -> None:
        if fullname == "pandas":
            raise ModuleNotFoundError(f"No module named {fullname!r}", name=fullname)


class _AskedFile(io.RawIOBase):
    """A file whose bytes another process sends."""

    def __init__(self, channel: socket.socket, size: int) -> None:
        self._channel, self._size, self._at = channel, size, 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        at = offset + {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._size}[whence]
        if at < 0:
            raise OSError("before the beginning")
        self._at = at
        return at

    def tell(self) -> int:
        return self._at

    def read(self, size: int = -1) -> bytes:
        left = max(0, self._size - self._at)
        wanted = left if size < 0 else min(size, left)
        if not wanted:
            return b""
        _send(self._channel, READ, self._at, wanted)
        (length,) = LENGTH.unpack(_received(self._channel, LENGTH.size))
        found = _received(self._channel, length)
        self._at += len(found)
        return found


def main() -> NoReturn:
    """Watches videos until the socket closes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal sends it to the whole group; the driver decides
    sys.meta_path.insert(0, _WithoutPandas())
    channel = socket.socket(fileno=int(sys.argv[1]))
    limits = read_limits(sys.argv[2])
    required_package("watching videos", "av", "video")
    room = SPARE_BYTES + BYTES_PER_PIXEL * limits.max_pixels + limits.max_packet_bytes
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_AS, (room, room))
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # no stderr from here on: libraries write warnings to it
    channel.sendall(READY)
    while length := channel.recv(LENGTH.size, socket.MSG_WAITALL):
        task = VideoTask.from_json(_received(channel, LENGTH.unpack(length)[0]))
        _watch(channel, task, limits)
    os._exit(0)


def _watch(channel: socket.socket, task: VideoTask, limits: VideoLimits) -> None:
    numbers = {one: number for number, one in enumerate(task.signals)}
    try:
        if task.file is not None and task.clip is not None:
            _cut(channel, task, task.clip, task.file, limits)
            return
        pass_over = VideoPass(
            cast(BinaryIO, _AskedFile(channel, task.size)), task.mime, task.signals, limits, task.clip
        )
        for wanted, batch in pass_over.signals():
            _send(channel, SIGNAL, numbers[wanted], content=memoryview(batch.serialize()))
        _send(channel, FACTS, 0, content=write_facts(pass_over.facts))
    except UnwatchableError as error:
        _send(channel, REFUSED, 0, content=f"{error.reason}\n{error.detail}".encode("utf-8", "replace"))
    except MemoryError:
        os._exit(_NO_MEMORY)  # libraries may raise anything
    except (BrokenPipeError, ConnectionError):
        os._exit(0)  # the caller is gone
    except Exception as error:  # noqa: BLE001  # a defect of ours, which the asking process raises
        _send(channel, FAILED, 0, content=f"{type(error).__name__}: {error}".encode("utf-8", "replace")[:2000])


def _cut(channel: socket.socket, task: VideoTask, clip: Clip, options: ClipFile, limits: VideoLimits) -> None:
    with tempfile.TemporaryFile() as out:
        found = cut(cast(BinaryIO, _AskedFile(channel, task.size)), task.mime, clip, options, limits, out)
        out.seek(0)
        while piece := out.read(_PIECE_BYTES):
            _send(channel, PIECE, 0, content=piece)
    _send(channel, CLIP, 0, content=write_clip(found))


def _send(channel: socket.socket, what: bytes, first: int, second: int = 0, content: bytes | memoryview = b"") -> None:
    signal.setitimer(signal.ITIMER_PROF, CPU_SECONDS)  # no handler: the signal kills, also inside a library
    channel.sendall(HEAD.pack(what, first, len(content) or second))
    if content:
        channel.sendall(content)


def _received(channel: socket.socket, count: int) -> bytes:
    found = bytearray()
    while len(found) < count:
        piece = channel.recv(min(count - len(found), 1 << 20))
        if not piece:
            os._exit(0)
        found += piece
    return bytes(found)


if __name__ == "__main__":
    main()
