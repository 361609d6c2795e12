"""What cannot be seen or heard is measured by time, and speeds in widths of the picture a second."""

import io
from dataclasses import replace
from fractions import Fraction
from typing import Any

import av
import numpy as np
import pytest

from tests.filters.video.drawn import HEIGHT, WIDTH, encoded, measured, scene
from tests.filters.video.films import Film

BLACK = np.zeros((HEIGHT, WIDTH, 3), np.uint8)
WIDE = scene(5, 4 * WIDTH)
PIXELS = {"mjpeg": "yuvj420p"}


def panned(count: int, step: float) -> list[np.ndarray]:
    """A camera that moves to the right by so many pixels a frame."""
    return [WIDE[:, round(step * number) : round(step * number) + WIDTH] for number in range(count)]


def test_black_and_frozen_are_shares_of_the_time() -> None:
    frames = [*panned(25, 2), *[BLACK] * 5, *[WIDE[:, :WIDTH]] * 2]
    times = [4 * number for number in range(25)] + [100 + 20 * number for number in range(5)] + [200, 250]
    row = measured("static", encoded(frames, times))
    lasting = 2.54  # the last frame has the duration that the file gives it
    assert row["frames"] == 32
    assert row["black"] == pytest.approx(1 / lasting, abs=0.01)
    assert row["longest_black"] == pytest.approx(1)
    assert row["frozen"] == pytest.approx(1.54 / lasting, abs=0.01)
    assert row["longest_frozen"] == pytest.approx(1, abs=0.01)  # black, then another picture


def test_a_still_is_frozen_and_a_moving_picture_is_not() -> None:
    assert measured("static", encoded([WIDE[:, :WIDTH]] * 20))["frozen"] == pytest.approx(1)
    assert measured("static", encoded(panned(20, 1)))["frozen"] == 0


@pytest.mark.parametrize("level", [0.0, 0.06])
def test_a_dark_sky_is_no_bar(level: float) -> None:
    skyline = (HEIGHT * (0.35 + 0.12 * np.sin(np.arange(WIDTH) / 20))).astype(int)
    sky = np.arange(HEIGHT)[:, None] < skyline
    night = [np.where(sky[..., None], one * level, one).astype(np.uint8) for one in panned(12, 2)]

    assert measured("static", encoded(night))["letterbox"] == 0


def test_a_bar_above_alone_counts_if_it_is_black() -> None:
    below = [np.where(np.arange(HEIGHT)[:, None, None] < 20, 0, one).astype(np.uint8) for one in panned(6, 2)]

    assert measured("static", encoded(below))["letterbox"] == pytest.approx(20 / HEIGHT, abs=1 / 36)


@pytest.mark.parametrize("lines", [2, 3, 4, 5, 9])
def test_thin_bars_have_their_own_size(lines: int) -> None:
    barred = [np.pad(one[lines:-lines], ((lines, lines), (0, 0), (0, 0))) for one in panned(6, 2)]

    assert measured("static", encoded(barred))["letterbox"] == pytest.approx(2 * lines / HEIGHT, abs=0.015)


def test_a_picture_that_is_darker_towards_its_borders_has_no_bars() -> None:
    fading = np.minimum(np.arange(HEIGHT), np.arange(HEIGHT)[::-1])[:, None, None] / 12 + 0.3
    vignette = [(one * np.minimum(fading, 1)).astype(np.uint8) for one in panned(6, 2)]

    assert measured("static", encoded(vignette))["letterbox"] == 0


@pytest.mark.parametrize("pixels", ["yuv420p", "yuv444p", "yuv420p10le", "gray", "yuvj420p", "bgr0"])
def test_bars_are_measured_in_every_format(pixels: str) -> None:
    barred = []
    for one in panned(6, 3):
        picture = one.copy()
        picture[:10] = picture[-10:] = 0
        picture[:, :20] = 0
        barred.append(picture)
    row = measured("static", encoded(barred, None, "ffv1" if pixels != "yuvj420p" else "mjpeg", pixels))
    assert row["letterbox"] == pytest.approx(20 / HEIGHT, abs=0.01)
    assert row["pillarbox"] == pytest.approx(20 / WIDTH, abs=0.01)
    assert row["brightness"] == pytest.approx(np.mean(barred), rel=0.12)


@pytest.mark.parametrize("step", [0.2, 0.5, 2.0, 4.0])
def test_a_pan_has_its_speed_in_every_codec(step: float) -> None:
    frames, speed = panned(50, step), step * 25 / WIDTH
    even = {"qmin": "3", "qmax": "3"}
    lossy = {"libx264": {"crf": "26"}, "libvpx-vp9": {"crf": "34", "b": "0", "cpu-used": "8"}, "mpeg4": even}
    for codec, options in {"ffv1": {}, "mjpeg": even, **lossy}.items():
        row = measured("motion", encoded(frames, None, codec, PIXELS.get(codec, "yuv420p"), options))
        assert row["source"] == "planes"
        assert row["speed"] == pytest.approx(speed, rel=0.1), codec
        assert row["pan"] == pytest.approx(speed, rel=0.1), codec
        assert row["least_patch"] == pytest.approx(speed, rel=0.35), codec


@pytest.mark.parametrize("codec", ["libx264", "mpeg4"])
@pytest.mark.parametrize("step", [0.5, 2.0])
def test_vectors_are_measured_where_they_are_asked_for(codec: str, step: float) -> None:
    row = measured("motion", encoded(panned(50, step), None, codec, options={"bf": "0", "g": "100"}), by="vectors")
    assert row["source"] == "vectors"
    assert row["speed"] == pytest.approx(step * 25 / WIDTH, rel=0.35)
    assert row["pan"] == pytest.approx(step * 25 / WIDTH, rel=0.35)


def test_a_codec_without_vectors_has_no_motion_by_them() -> None:
    assert measured("motion", encoded(panned(12, 2), None, "ffv1"), by="vectors")["source"] is None


def test_frames_that_are_shown_again_make_nothing_faster() -> None:
    again = [frame for frame in panned(40, 2) for _ in range(3)]
    assert measured("motion", encoded(again))["speed"] == pytest.approx(2 * 25 / 3 / WIDTH, rel=0.1)


def test_noise_before_a_camera_that_stands_still_has_no_speed() -> None:
    draw = np.random.default_rng(4)
    still = WIDE[:, :WIDTH].astype(np.float64)
    noisy = [np.clip(still + draw.normal(0, 6, still.shape[:2])[..., None], 0, 255).astype(np.uint8) for _ in range(40)]
    for codec, options in {"ffv1": {}, "libx264": {"crf": "24"}, "mpeg4": {"qmin": "3", "qmax": "3"}}.items():
        row = measured("motion", encoded(noisy, None, codec, options=options))
        assert row["speed"] < 0.001, codec
        assert row["still"] == 1.0, codec


def test_speeds_of_a_turned_picture_are_in_widths_as_it_is_shown() -> None:
    film = Film("mp4", side=128, frames=40)
    upright, turned = (measured("motion", one.encoded(), "video/mp4") for one in (film, replace(film, rotation=90)))
    assert turned["speed"] == pytest.approx(upright["speed"] * 4 / 3)


def test_b_frames_do_not_make_a_pan_faster() -> None:
    content = encoded(panned(60, 2), None, "libx264", options={"bf": "2", "b-pyramid": "none", "refs": "1"})
    assert measured("motion", content, by="vectors")["speed"] == pytest.approx(2 * 25 / WIDTH, rel=0.35)


def test_what_stands_still_has_no_speed() -> None:
    row = measured("motion", encoded([WIDE[:, :WIDTH]] * 40))
    assert (row["source"], row["speed"], row["still"]) == ("planes", 0.0, 1.0)


def test_a_picture_without_structure_has_no_motion_to_measure() -> None:
    assert measured("motion", encoded([BLACK] * 10))["source"] is None


def test_keyframes_are_measured_as_pictures() -> None:
    blurred = [np.repeat(np.repeat(scene(9)[::10, ::10], 10, 0), 10, 1)] * 3
    content = encoded([*[scene(9)] * 3, *blurred], None, "mjpeg", "yuvj420p")
    row = measured("clarity", content)
    assert row["keyframes"] == 6
    assert row["seconds"] == [pytest.approx(0.04 * number) for number in range(6)]
    assert row["worst_sharpness"] == min(row["sharpness_by_keyframe"])


def sounding(wave: np.ndarray, rate: int, codec: str, layout: str) -> bytes:
    """A short black film with sound."""
    out = io.BytesIO()
    with av.open(out, "w", format="matroska", options={"fflags": "+bitexact"}) as container:
        film: Any = container.add_stream("ffv1", rate=5)
        film.width, film.height, film.pix_fmt = 16, 16, "yuv420p"
        sound: Any = container.add_stream(codec, rate=rate, layout=layout)
        for number in range(int(wave.shape[1] / rate * 5)):
            frame = av.VideoFrame.from_ndarray(np.zeros((24, 16), np.uint8), "yuv420p")
            frame.pts, frame.time_base = number, Fraction(1, 5)
            container.mux(film.encode(frame))
        container.mux(film.encode(None))
        samples = np.ascontiguousarray((wave * 32767).astype(np.int16).T.reshape(1, -1))
        heard = av.AudioFrame.from_ndarray(samples, "s16", layout)
        heard.sample_rate, heard.pts, heard.time_base = rate, 0, Fraction(1, rate)
        for one in av.AudioResampler(sound.codec_context.format, layout, rate).resample(heard):
            container.mux(sound.encode(one))
        container.mux(sound.encode(None))
    return out.getvalue()


def integrated_by_ffmpeg(content: bytes) -> float:
    """The loudness that FFmpeg's own filter `ebur128` finds."""
    with av.open(io.BytesIO(content), "r") as container:
        stream = container.streams.audio[0]
        graph = av.filter.Graph()
        source = graph.add_abuffer(template=stream)
        filtered = graph.add("ebur128", "metadata=1")
        sink = graph.add("abuffersink")
        source.link_to(filtered)
        filtered.link_to(sink)
        graph.configure()
        found = -70.0

        def drain() -> None:
            nonlocal found
            while True:
                try:
                    heard: Any = graph.pull()
                except (av.error.BlockingIOError, av.error.EOFError):
                    return
                if "lavfi.r128.I" in heard.metadata:
                    found = float(heard.metadata["lavfi.r128.I"])

        for frame in container.decode(stream):
            graph.push(frame)
            drain()
        graph.push(None)
        drain()
    return found


@pytest.mark.parametrize(("rate", "layout"), [(48000, "stereo"), (44100, "mono"), (48000, "5.1"), (22050, "stereo")])
def test_loudness_is_that_of_ffmpegs_ebur128(rate: int, layout: str) -> None:
    draw = np.random.default_rng(3)
    channels = {"mono": 1, "stereo": 2, "5.1": 6}[layout]
    time = np.arange(4 * rate) / rate
    swell = np.where(time < 2.5, 0.4, 0.01)  # the gate leaves the end out
    wave = swell * (np.sin(2 * np.pi * 300 * time) * 0.5 + draw.normal(0, 0.2, (channels, len(time))))
    content = sounding(np.clip(wave, -1, 1), rate, "pcm_s16le", layout)
    row = measured("audio", content)
    assert row["loudness"] == pytest.approx(integrated_by_ffmpeg(content), abs=0.06)  # it writes three decimals


def test_silence_is_a_share_of_the_time() -> None:
    time = np.arange(4 * 48000) / 48000
    wave = np.where(time < 1, 0.5 * np.sin(2 * np.pi * 1000 * time), 0.0)[None]
    row = measured("audio", sounding(wave, 48000, "pcm_s16le", "mono"))
    assert row["present"]
    assert row["silent"] == pytest.approx(0.75)
    assert row["longest_silence"] == pytest.approx(3)
    assert row["peak"] == pytest.approx(20 * np.log10(0.5), abs=0.01)


@pytest.mark.parametrize("rate", [48000, 44100])
def test_silence_begins_and_ends_at_its_samples(rate: int) -> None:
    """Two stretches, one within two blocks; 40 ms are none."""
    time = np.arange(4 * rate) / rate
    quiet = ((time >= 1.237) & (time < 2.718)) | ((time >= 3.26) & (time < 3.37)) | ((time >= 0.5) & (time < 0.54))
    wave = np.where(quiet, 0.0, np.where(np.arange(len(time)) % 2, 0.5, -0.5))[None]
    row = measured("audio", sounding(wave, rate, "pcm_s16le", "mono"))
    assert row["silent"] == pytest.approx((2.718 - 1.237 + 0.11) / 4, abs=2e-5)
    assert row["longest_silence"] == pytest.approx(2.718 - 1.237, abs=5e-5)


def test_a_channel_that_sounds_is_no_silence() -> None:
    time = np.arange(2 * 48000) / 48000
    left = np.where(np.arange(len(time)) % 2, 0.5, -0.5)
    wave = np.stack([np.where(time < 0.61, left, 0), np.where(time < 1.03, left, 0)])
    assert measured("audio", sounding(wave, 48000, "pcm_s16le", "stereo"))["silent"] == pytest.approx(0.97 / 2)


def test_a_video_without_sound_is_silent() -> None:
    row = measured("audio", encoded([BLACK] * 3))
    assert (row["present"], row["loudness"], row["silent"], row["peak"]) == (False, None, 1.0, None)
