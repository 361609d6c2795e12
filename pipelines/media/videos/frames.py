"""Some frames of a video as squares, for models of pictures: keyframes, or frames at equal distances."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from winnow.filters.image.decode.batches import pixels_of
from winnow.filters.image.models.framing import Framing, framed
from winnow.filters.operators import IMAGES
from winnow.filters.video.decode.opening import UnwatchableError, VideoLimits
from winnow.filters.video.decode.signal_requests import Clip, Signal
from winnow.filters.video.stills.frames_operator import NO_FRAMES, FrameWatcher
from winnow.pipelines.decoding.isolation import CRASHED
from winnow.pipelines.decoding.videos.isolation import See, watch_isolated
from winnow.pipelines.media.references import Unavailable
from winnow.pipelines.media.required_media import RequiredMedia
from winnow.pipelines.running.ledger.crashes import CrashedVideos
from winnow.schemas.recipe.score import VideoFrames

__all__ = ["FrameReader"]

_NO_KEYFRAME_SECONDS: Final = 1.0  # between the frames of a clip that has no keyframe


@dataclass(frozen=True)
class FrameReader:
    """Reads the chosen frames of videos of one source, as squares.

    `limits` apply to a video; `crashed` holds videos not to watch again, and collects new ones.
    """

    finder: RequiredMedia
    limits: VideoLimits
    frames: VideoFrames
    framing: Framing
    crashed: CrashedVideos | None = None

    def squares(self, medium: Mapping[str, Any]) -> list[NDArray[np.uint8]] | str:
        """The frames of a video or clip, the middle one first; a status if there are none. StageError if its file is
        out of reach."""
        part = medium.get("clip")
        clip = None if part is None else Clip(part["start"], part["end"])
        if self.crashed is not None and self.crashed.has(medium["sha256"], clip):
            return CRASHED
        content = self.finder.open(medium)
        if isinstance(content, Unavailable):
            return content.status
        try:
            found: list[NDArray[np.uint8]] = []
            for seconds in dict.fromkeys((self.frames.every_seconds, _NO_KEYFRAME_SECONDS)):
                signal = Signal("stills", self.framing.decoded_side, seconds)
                watchers: list[FrameWatcher] = []

                def begin(watchers: list[FrameWatcher] = watchers) -> See:
                    watchers[:] = [FrameWatcher(self.frames.max_frames, _without_times)]
                    return watchers[0].see

                facts = watch_isolated(content, medium["mime"], (signal,), self.limits, begin, clip)
                found = [framed(pixels, self.framing) for pixels in pixels_of(watchers[0].end(facts))]
                if found or self.frames.every_seconds is not None:
                    break
        except UnwatchableError as error:
            if error.reason == CRASHED and self.crashed is not None and medium["sha256"] is not None:
                self.crashed.add_part(medium["sha256"], clip, error.detail)
            return error.reason
        except OSError as error:
            raise self.finder.out_of_reach(medium["ref"]["path"], error) from error
        middle = len(found) // 2
        return [*found[middle:], *found[:middle]] or NO_FRAMES


def _without_times(frames: pa.RecordBatch, _seconds: pa.Array) -> pa.RecordBatch:
    return frames.select(IMAGES.names)
