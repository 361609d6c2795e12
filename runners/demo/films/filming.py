"""Films drawn scenes: a view that wanders over each, cuts and fades between them, a tone, and an encoder for all that.

Codecs are free to use: VP9 or AV1, and Opus. What is drawn is the same on every machine; the bytes of the file depend
on the installed PyAV.
"""

import io
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from types import MappingProxyType
from typing import Any, Final, Literal

import numpy as np
import numpy.typing as npt

from winnow.filters.extras import required_package
from winnow.filters.video.clips.pictures import open_encoder
from winnow.runners.demo.photos.drawing import HEIGHT as SCENE_HEIGHT
from winnow.runners.demo.photos.drawing import WIDTH as SCENE_WIDTH
from winnow.runners.demo.photos.drawing import Pixels, halved, landscape

WIDTH: Final = 240
HEIGHT: Final = 180
RATE: Final = 12  # frames a second
SOUND_RATE: Final = 48_000
_PURPOSE: Final = "making the demo's videos"
_ENCODERS: Final = MappingProxyType(
    {
        "vp9": ("libvpx-vp9", {"deadline": "good", "cpu-used": "8", "crf": "30", "b": "0", "row-mt": "0"}),
        "av1": ("libsvtav1", {"preset": "12", "crf": "30", "svtav1-params": "lp=1"}),
    }
)


@dataclass(frozen=True, slots=True)
class Shot:
    """A scene that is shown for a while."""

    scenery: str
    name: str  # decides what the scene looks like
    seconds: int = 3
    moves: bool = True  # the view wanders; otherwise all its frames are equal
    faded: bool = False  # it comes out of black, and the shot before goes into it
    sound: bool = True


@dataclass(frozen=True, slots=True)
class Film:
    """What is shown, and how it is written."""

    shots: tuple[Shot, ...]
    codec: Literal["vp9", "av1"]
    container: Literal["webm", "mp4"]
    half_size: bool = False


def encoded(film: Film) -> bytes:
    """The file of a film."""
    av = required_package(_PURPOSE, "av", "video")
    os.environ.setdefault("SVT_LOG", "1")  # or the encoder of AV1 tells its settings; errors only
    encoder, options = _ENCODERS[film.codec]
    out = io.BytesIO()
    with av.open(out, "w", format=film.container, options={"fflags": "+bitexact"}) as container:
        pictures: Any = container.add_stream(
            encoder, rate=RATE, options={**options, "g": str(4 * RATE), "threads": "1", "flags": "+bitexact"}
        )
        pictures.width, pictures.height, pictures.pix_fmt = WIDTH, HEIGHT, "yuv420p"
        if film.half_size:
            pictures.width, pictures.height = WIDTH // 2, HEIGHT // 2
        open_encoder(pictures.codec_context)
        sound: Any = container.add_stream("libopus", rate=SOUND_RATE, options={"flags": "+bitexact"})
        for number, picture in enumerate(frames(film.shots)):
            frame = av.VideoFrame.from_ndarray(halved(picture) if film.half_size else picture, "rgb24")
            frame.pts, frame.time_base = number, Fraction(1, RATE)
            container.mux(pictures.encode(frame))
        container.mux(pictures.encode(None))
        wave = av.AudioFrame.from_ndarray(_tone(film.shots)[None], "s16", "mono")
        wave.sample_rate, wave.pts, wave.time_base = SOUND_RATE, 0, Fraction(1, SOUND_RATE)
        context = sound.codec_context
        for one in av.AudioResampler(context.format, context.layout, SOUND_RATE, context.frame_size).resample(wave):
            container.mux(sound.encode(one))
        container.mux(sound.encode(None))
    return out.getvalue()


def frames(shots: Sequence[Shot]) -> Iterator[Pixels]:
    """Every frame; where the next shot comes out of black, half a second of each gets dark."""
    for at, shot in enumerate(shots):
        scene, count = landscape(shot.scenery, shot.name), shot.seconds * RATE
        fades_out = at + 1 < len(shots) and shots[at + 1].faded
        for number in range(count):
            share = number if shot.moves else 0
            left, top = (SCENE_WIDTH - WIDTH) * share // count, (SCENE_HEIGHT - HEIGHT) * share // count
            picture = scene[top : top + HEIGHT, left : left + WIDTH]
            light = RATE // 2
            if shot.faded:
                light = min(light, number)
            if fades_out:
                light = min(light, count - 1 - number)
            yield (picture.astype(np.int32) * light // (RATE // 2)).astype(np.uint8)


def _tone(shots: Sequence[Shot]) -> npt.NDArray[np.int16]:
    """A square wave, as loud as speech, while shots have sound."""
    parts = []
    for shot in shots:
        high = np.arange(shot.seconds * SOUND_RATE) // (SOUND_RATE // 880) % 2 == 0
        parts.append(np.where(high, 4_000, -4_000) * shot.sound)
    return np.concatenate(parts).astype(np.int16)
