"""A video's own subtitles, as a caption: text streams within its file.

Of several text streams, the default one counts, otherwise the first. Lines are in the order of display; a line repeated
in the next subtitle, as in roll-up captions, is kept once. Subtitles stored as pictures, as on discs, are ignored."""

from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa

from winnow.filters.video.decode.facts import VideoFacts
from winnow.filters.video.decode.operator import VideoOperator
from winnow.filters.video.decode.signal_requests import Signal
from winnow.schemas.rows.samples import CAPTION

WRITES: Final = pa.schema(
    [
        # A list like `samples.captions`; null without text, as Parquet writes null for its parts, too.
        pa.field("captions", pa.struct([part.with_nullable(True) for part in CAPTION])),
        pa.field("begin_seconds", pa.list_(pa.float64())),  # of each line
        pa.field("end_seconds", pa.list_(pa.float64())),
    ]
)
ORIGIN: Final = "subtitles"
_SUBTITLES: Final = Signal("subtitles")


@dataclass(frozen=True, slots=True)
class SubtitlesConfig:
    """No options."""


class SubtitlesWatcher:
    """Keeps all subtitles; the pass limits them to a few megabytes."""

    def __init__(self) -> None:
        self._cues: list[dict[str, Any]] = []

    def see(self, signal: Signal, batch: pa.RecordBatch) -> None:
        """Keep the next subtitles."""
        assert signal == _SUBTITLES
        self._cues += batch.to_pylist()

    def end(self, _facts: VideoFacts) -> pa.RecordBatch:
        """The lines of the chosen stream."""
        streams = {cue["stream"]: cue for cue in reversed(self._cues)}
        if not streams:
            return pa.RecordBatch.from_pylist([{"captions": None}], schema=WRITES)
        chosen = max(streams.values(), key=lambda cue: (cue["is_default"], -cue["stream"]))
        lines: list[str] = []
        begins: list[float] = []
        ends: list[float] = []
        shown: dict[str, int] = {}  # the lines of the last subtitle, with their indices
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


OPERATOR = VideoOperator(
    name="video.subtitles",
    version=1,
    summary="the text of a video's own subtitles, as a caption, and when each line is shown",
    config=SubtitlesConfig,
    writes=lambda _: WRITES,
    wants=lambda _: frozenset({_SUBTITLES}),
    load=lambda _config, _assets: SubtitlesWatcher,
)
