"""What is written in a video's own subtitles: streams of text within its file, as a caption.

Of several streams that keep text, the one that is shown by default counts, else the first. Its lines come in the order
in which they are shown; one that is shown again in the next subtitle, as those that roll over the screen are, is kept
once. Subtitles that are pictures, as on discs, are none.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa

from winnow.filters.operators import Assets
from winnow.filters.video.decode.facts import VideoFacts
from winnow.filters.video.decode.operator import VideoOperator, Watcher
from winnow.filters.video.decode.wanted import Signal
from winnow.schemas.rows.samples import CAPTION

WRITES: Final = pa.schema(
    [
        # In the layer, a list like `samples.captions`; null without text, whose parts Parquet writes as null, too.
        pa.field("captions", pa.struct([part.with_nullable(True) for part in CAPTION])),
        pa.field("begin_seconds", pa.list_(pa.float64())),  # of each of its lines
        pa.field("end_seconds", pa.list_(pa.float64())),
    ]
)
ORIGIN: Final = "subtitles"
_SUBTITLES: Final = Signal("subtitles")


@dataclass(frozen=True, slots=True)
class SubtitlesConfig:
    """It has no settings."""


class SubtitlesWatcher:
    """Keeps all subtitles; the pass gives no more than some megabytes of them."""

    def __init__(self) -> None:
        self._cues: list[dict[str, Any]] = []

    def see(self, signal: Signal, batch: pa.RecordBatch) -> None:
        """Takes the next subtitles."""
        assert signal == _SUBTITLES
        self._cues += batch.to_pylist()

    def end(self, _facts: VideoFacts) -> pa.RecordBatch:
        """The lines of the stream that counts."""
        streams = {cue["stream"]: cue for cue in reversed(self._cues)}
        if not streams:
            return pa.RecordBatch.from_pylist([{"captions": None}], schema=WRITES)
        chosen = max(streams.values(), key=lambda cue: (cue["is_default"], -cue["stream"]))
        lines: list[str] = []
        begins: list[float] = []
        ends: list[float] = []
        shown: dict[str, int] = {}  # the lines of the last cue, and which they are of all
        cues = (cue for cue in self._cues if cue["stream"] == chosen["stream"])
        for cue in sorted(cues, key=lambda cue: float(cue["seconds"])):
            now: dict[str, int] = {}
            for line in cue["text"].split("\n"):
                if (known := shown.get(line)) is not None:
                    ends[known] = max(ends[known], cue["end"])
                else:
                    known = len(lines)
                    lines.append(line)
                    begins.append(cue["seconds"])
                    ends.append(cue["end"])
                now[line] = known
            shown = now
        language = None if chosen["language"] in (None, "und") else chosen["language"]
        caption = {"text": "\n".join(lines), "origin": ORIGIN, "language": language}
        row = {"captions": caption, "begin_seconds": begins, "end_seconds": ends}
        return pa.RecordBatch.from_pylist([row], schema=WRITES)


def _load(_config: SubtitlesConfig, _assets: Assets) -> Callable[[], Watcher]:
    return SubtitlesWatcher


OPERATOR = VideoOperator(
    name="video.subtitles",
    version=1,
    summary="the text of a video's own subtitles, as a caption, and when each line is shown",
    config=SubtitlesConfig,
    writes=lambda _: WRITES,
    wants=lambda _: frozenset({_SUBTITLES}),
    load=_load,
)
