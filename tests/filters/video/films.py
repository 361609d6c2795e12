"""Short real videos, encoded by PyAV: what they hold is computed, so every test knows what it should find."""

import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from winnow.filters.video.clips.pictures import open_encoder

av = pytest.importorskip("av", reason="needs the extra `video`")

_ENCODED: dict[str, bytes] = {}


@dataclass(frozen=True)
class Film:
    """What to encode.

    Attributes:
        container: FFmpeg's name of the format: mp4, mov, webm, matroska, mpegts, mpeg, avi, flv, ogg, asf.
        codec: FFmpeg's name of the encoder. libx264 gets one quality (`qp`) unless `options` say otherwise: what it
            decides by rates differs between processes.
        frames: How many.
        times: The tick of each frame; None for one after another.
        tick: Seconds a tick.
        side: Pixels of the longer side.
        rotation: Degrees by which the picture is to be turned against the clock.
        start: Seconds at which pictures and sound begin, before zero only where the container can say so.
        sound: Seconds of a stereo tone; 0 for none.
        sound_codec: FFmpeg's name of its encoder.
        seed: What the pictures depend on.
        gop: Frames from keyframe to keyframe.
        reordered: How many B-frames may follow one another.
        options: Further ones of the encoder.
    """

    container: str = "mp4"
    codec: str = "mpeg4"
    frames: int = 12
    times: Sequence[int] | None = None
    tick: Fraction = Fraction(1, 25)
    side: int = 64
    rotation: int = 0
    start: Fraction = Fraction(0)
    sound: float = 0
    sound_codec: str = "libopus"
    seed: int = 7
    gop: int = 12
    reordered: int = 0
    options: Mapping[str, str] = field(default_factory=dict)

    def encoded(self) -> bytes:
        """The file; one that several tests ask for is made once."""
        if (said := repr(self)) not in _ENCODED:
            _ENCODED[said] = self._encoded()
        return _ENCODED[said]

    def _encoded(self) -> bytes:
        out = io.BytesIO()
        muxing = {"fflags": "+bitexact"} | ({"avoid_negative_ts": "disabled"} if self.start < 0 else {})
        with av.open(out, "w", format=self.container, options=muxing) as container:
            options = {"g": str(self.gop), "bf": str(self.reordered), "threads": "1", "flags": "+bitexact"}
            options |= {"qp": "24"} if self.codec == "libx264" else {}
            options |= self.options
            film = container.add_stream(self.codec, rate=1 / self.tick, options=options)
            film.width, film.height, film.pix_fmt = self.side, self.side * 3 // 4, "yuv420p"
            film.codec_context.time_base = self.tick
            if self.rotation:
                film.set_display_rotation(self.rotation)
            open_encoder(film.codec_context)
            sound = container.add_stream(self.sound_codec, rate=48000) if self.sound else None
            for number in range(self.frames):
                frame = av.VideoFrame.from_ndarray(self.picture(number), "yuv420p")
                frame.pts = int(self.start / self.tick) + (number if self.times is None else self.times[number])
                frame.time_base = self.tick
                container.mux(film.encode(frame))
            container.mux(film.encode(None))
            if sound is not None:
                for packet in self._tone(sound):
                    container.mux(packet)
        return out.getvalue()

    def _tone(self, sound: Any) -> Iterator[Any]:
        count = int(self.sound * 48000)
        wave = (8000 * np.sin(np.arange(count) * (2 * np.pi * 440 / 48000))).astype(np.int16)
        frame = av.AudioFrame.from_ndarray(np.repeat(wave, 2)[None], "s16", "stereo")
        frame.sample_rate, frame.pts, frame.time_base = 48000, int(self.start * 48000), Fraction(1, 48000)
        for one in av.AudioResampler(sound.codec_context.format, "stereo", 48000).resample(frame):
            yield from sound.encode(one)
        yield from sound.encode(None)

    def picture(self, number: int) -> NDArray[np.uint8]:
        """The planes of a frame: stripes that move, over a little noise."""
        height, width = self.side * 3 // 4, self.side
        noise = np.random.default_rng([self.seed, number]).integers(0, 24, (height * 3 // 2, width), dtype=np.uint8)
        across = (np.arange(width) * 4 + number * 8 + self.seed) % 200
        noise[:height] += across.astype(np.uint8)
        noise[height:] += 100
        return noise


def with_tracks(content: bytes, more: int) -> bytes:
    """An MP4 file with so many more tracks, all of which share the packets of the first."""
    index = content.rindex(b"moov") - 4
    track = content.index(b"trak", index) - 4
    end = track + int.from_bytes(content[track : track + 4], "big")
    grown = content[index:track] + content[track:end] * more + content[end:]
    return content[:index] + len(grown).to_bytes(4, "big") + grown[4:]
