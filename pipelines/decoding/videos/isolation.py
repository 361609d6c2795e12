"""Watches videos in a separate process (`watching_process.py`), whose death costs one video.

A video that kills three processes is `crashed`. Signals go to their watchers while the process decodes; after a death
the video is restarted with new watchers.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import BinaryIO, Final, TypeAlias, TypeVar

import msgspec
import pyarrow as pa

from winnow.filters.image.decode.containers import Bytes
from winnow.filters.video.clips.cutting import CutClip
from winnow.filters.video.clips.options import ClipFile
from winnow.filters.video.decode.facts import VideoFacts
from winnow.filters.video.decode.opening import UnwatchableError, VideoLimits
from winnow.filters.video.decode.signal_requests import Clip, Signal
from winnow.pipelines.decoding.child_process import STRIKES, ChildProcess, DiedError, IdleProcesses
from winnow.pipelines.decoding.isolation import CRASHED
from winnow.pipelines.decoding.videos import messages, watching_process
from winnow.pipelines.decoding.videos.messages import HEAD, LENGTH, MOST_BYTES, VideoTask
from winnow.schemas.errors import StageError

__all__ = ["See", "cut_isolated", "probe_isolated", "watch_isolated"]

_Found = TypeVar("_Found")

See: TypeAlias = Callable[[Signal, pa.RecordBatch], None]
"""Takes the next batch of a signal."""

_MOST_READ: Final = 16 << 20  # bytes of one range


def watch_isolated(
    content: Bytes,
    mime: str,
    signals: Sequence[Signal],
    limits: VideoLimits,
    begin: Callable[[], See],
    clip: Clip | None = None,
) -> VideoFacts:
    """Decodes a video once, safe from crashes of FFmpeg.

    `signals` are the wanted ones, each once; `begin` is called before the first signal, and again after a restart;
    `clip` is the part to watch (None: all).

    UnwatchableError if it cannot be watched (the reasons of `opening.py`, or `CRASHED`); StageError if the process
    cannot be started, or was stopped; OSError if the file cannot be read.
    """
    task = VideoTask(content.size, mime, tuple(signals), clip)
    return _attempted(limits, lambda process: process.watch(content, task, begin()))


def probe_isolated(content: Bytes, mime: str, limits: VideoLimits) -> VideoFacts:
    """The facts of a video, from its packets and its first frame; raises as `watch_isolated` does."""
    return watch_isolated(content, mime, (), limits, lambda: _ignore)


def cut_isolated(
    content: Bytes, mime: str, clip: Clip, options: ClipFile, limits: VideoLimits, out: BinaryIO
) -> CutClip:
    """Writes a part of a video to `out`, an empty, seekable file; raises as `watch_isolated` does, and then `out` is
    worthless."""
    task = VideoTask(content.size, mime, (), clip, options)

    def attempt(process: "_VideoProcess") -> CutClip:
        out.seek(0)
        out.truncate()
        return process.cut(content, task, out)

    return _attempted(limits, attempt)


def _attempted(limits: VideoLimits, attempt: "Callable[[_VideoProcess], _Found]") -> "_Found":
    """The result of an attempt, repeated if it kills its process."""
    for strike in range(STRIKES):
        process = _idle_process(limits)
        try:
            found = attempt(process)
        except DiedError as error:
            if strike + 1 == STRIKES:
                raise UnwatchableError(CRASHED, f"it killed {STRIKES} processes: {error.how}") from None
        except UnwatchableError:
            _spares.give_back(process)
            raise
        except BaseException:  # half of a message may be on its way
            process.close()
            raise
        else:
            _spares.give_back(process)
            return found
    raise AssertionError("unreachable")


def _ignore(_signal: Signal, _batch: pa.RecordBatch) -> None:
    """No signal was requested."""


class _VideoProcess:
    """The process that watches."""

    def __init__(self, limits: VideoLimits) -> None:
        self.limits = limits
        words = [msgspec.json.encode(limits).decode()]
        self._process = ChildProcess(watching_process.__name__, words, (), "watches videos")

    @property
    def belongs_here(self) -> bool:
        return self._process.belongs_here

    def close(self) -> None:
        self._process.stop()

    def watch(self, video: Bytes, task: VideoTask, see: See) -> VideoFacts:
        for what, number, content in self._answers(video, task):
            if what == messages.SIGNAL:
                signal = task.signals[number]
                see(signal, messages.read_batch(content, signal))
            elif what == messages.FACTS:
                return messages.read_facts(content)
        raise AssertionError("unreachable")

    def cut(self, video: Bytes, task: VideoTask, out: BinaryIO) -> CutClip:
        for what, _, content in self._answers(video, task):
            if what == messages.PIECE:
                out.write(content)
            elif what == messages.CLIP:
                return messages.read_clip(content)
        raise AssertionError("unreachable")

    def _answers(self, video: Bytes, task: VideoTask) -> Iterator[tuple[bytes, int, memoryview]]:
        """What the process sends for a task, while it is given the bytes that it reads."""
        raw = task.to_json()
        self._process.send(LENGTH.pack(len(raw)), raw)
        while True:
            what, first, second = HEAD.unpack(self._process.receive(HEAD.size))
            if what == messages.READ:
                wanted = video.at(first, min(second, _MOST_READ))
                self._process.send(LENGTH.pack(len(wanted)), wanted)
                continue
            if not 0 <= second <= MOST_BYTES:
                raise StageError(f"the process that watches videos sent a message of {second:,} bytes")
            content = self._process.receive(second)
            if what == messages.REFUSED:
                reason, _, detail = bytes(content).decode("utf-8", "replace").partition("\n")
                raise UnwatchableError(reason, detail)
            if what == messages.FAILED:
                raise StageError(f"watching a video failed: {bytes(content).decode('utf-8', 'replace')}")
            yield what, first, content


_spares: IdleProcesses[_VideoProcess] = IdleProcesses()


def _idle_process(limits: VideoLimits) -> _VideoProcess:
    """An idle process."""
    return _spares.take(lambda one: one.limits == limits) or _VideoProcess(limits)
