"""Videos: every frame, keyframes and vectors beside a bare decode; shots beside PySceneDetect; memory of a long film.

    python -m benchmarks.video [--quick] [--json]

Costs are CPU seconds of one thread over those of PyAV decoding every frame of the same file and nothing else. Each case
has a process of its own, in which it and the bare decode take turns, as a shared machine changes its pace: a ratio is
the median over the turns. *Every frame* is what `video.shots`, `video.static` and `video.motion` need, with
their own work; *keyframes* is `video.clarity`; *vectors* is `video.motion` by vectors. PySceneDetect reads with PyAV
too. F1 is over films with known transitions (`inputs/films.py`) of a seed that no threshold was chosen by: one is found
if a detection lies within 0.12 s of its span. What each found is told by kind of transition. The network's limit
(`video.shots: {detector: transnet}`) is over all kinds but wipes, which neither it nor a peer finds. The long film is a
real one's packets, looped, and gone over as the stage does: one process decodes, another has all five operators, and
the limit is that of each. The exit status says whether every limit was kept, and no detector was better; a quick run
may exceed limits of cost by a quarter.

The search for copies among 100,000 clips is `benchmarks.dedupe.video_copies`.
"""

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any, Final

import av
import orjson

from benchmarks.inputs.films import Film, Transition, cached_videos, made_films
from benchmarks.inputs.pages import CACHE
from benchmarks.measuring.environments import peer_python
from benchmarks.measuring.reporting import QUICK_TOLERANCE, Limit, benchmark_arguments, machine, measure

VIDEOS: Final = ("bikes.mp4", "bigbuckbunny.mp4", "trailer_bbb.mp4")
QUICK_VIDEOS: Final = VIDEOS[:2]
FILMS, QUICK_FILMS = 12, 4
SEED: Final = 8
NETWORK: Final = "winnow, transnet"
NETWORK_F1: Final = 0.9
TOLERANCE: Final = 0.12  # seconds
HOURS, QUICK_HOURS = 2.0, 0.1
MEMORY_LIMIT: Final = 400  # MB
TURNS, QUICK_TURNS = 9, 7

RATIO: Final = """
import gc, statistics, sys, time
import av
path, turns = sys.argv[1], int(sys.argv[2])
def decode():
    with av.open(path) as container:
        stream = container.streams.video[0]
        stream.thread_count = 1
        for packet in container.demux(stream):
            for frame in packet.decode():
                pass
def seconds(call):
    start = time.process_time()
    call()
    return time.process_time() - start
def ratio(call):
    seconds(call), seconds(decode)  # compiled, and read from the disk
    gc.collect(), gc.freeze()  # or the first turn would pay for what imports left behind
    print(statistics.median(seconds(call) / seconds(decode) for _ in range(turns)))
"""
WATCH: Final = """
from winnow.filters.operators import find_operator
from winnow.filters.video.decode.opening import VideoLimits
from winnow.filters.video.decode.watching import VideoPass
from winnow.pipelines.assets import AssetFiles
MIMES = {"mp4": "video/mp4", "mkv": "video/matroska", "webm": "video/webm"}
def watch(path, **configs):
    watched, wanted = [], set()
    for name, config in configs.items():
        operator = find_operator(f"video.{name}")
        made = operator.config(**config)
        watched.append((operator.wants(made), operator.load(made, AssetFiles())()))
        wanted |= operator.wants(made)
    with open(path, "rb") as file:
        video = VideoPass(file, MIMES[path.rpartition(".")[2]], sorted(wanted, key=repr), VideoLimits())
        for signal, batch in video.signals():
            for wants, watcher in watched:
                if signal in wants:
                    watcher.see(signal, batch)
        return [watcher.end(video.facts).to_pylist()[0] for _, watcher in watched]
"""
SCENES: Final = """
from scenedetect import AdaptiveDetector, ContentDetector, SceneManager, open_video
def detect(path, detector):
    manager = SceneManager()
    manager.add_detector(detector)
    manager.detect_scenes(open_video(path, backend="pyav"))
    return [scene[0].seconds for scene in manager.get_scene_list()[1:]]
"""
COSTS: Final = {
    "every frame": WATCH + "ratio(lambda: watch(path, shots={}, static={}, motion={}))",
    "shots": WATCH + "ratio(lambda: watch(path, shots={}))",
    "keyframes": WATCH + "ratio(lambda: watch(path, clarity={}))",
    "vectors": WATCH + "ratio(lambda: watch(path, motion={'by': 'vectors'}))",
    "PySceneDetect, adaptive": SCENES + "ratio(lambda: detect(path, AdaptiveDetector()))",
    "PySceneDetect, content": SCENES + "ratio(lambda: detect(path, ContentDetector()))",
}
SHOTS: Final = """
import json, sys
for one in sys.argv[2:]:
    (row,) = watch(one, shots={"detector": sys.argv[1]})
    print(json.dumps(list(zip(row["end_seconds"][:-1], row["begin_seconds"][1:]))))
"""
FOUND: Final = """
import json, sys
make = {"adaptive": AdaptiveDetector, "content": ContentDetector,
        "swept": lambda: AdaptiveDetector(adaptive_threshold=3.5, window_width=3)}[sys.argv[1]]
for one in sys.argv[2:]:
    print(json.dumps([(at, at) for at in detect(one, make())]))
"""
LONG: Final = """
import os, sys
import orjson, psutil
from benchmarks.measuring.reporting import peak_resident
from winnow.filters.operators import find_operator
from winnow.filters.video.decode.opening import VideoLimits
from winnow.pipelines.decoding.file_bytes import FileBytes
from winnow.pipelines.decoding.videos.isolation import watch_isolated
operators = [find_operator(f"video.{name}") for name in ("shots", "static", "motion", "audio", "clarity")]
loaded = [(one.wants(one.config()), one.load(one.config(), None)) for one in operators]
def begin():
    watchers[:] = [make() for _, make in loaded]
    return see
def see(signal, batch):
    for (wants, _), watcher in zip(loaded, watchers):
        if signal in wants:
            watcher.see(signal, batch)
watchers = []
with open(sys.argv[1], "rb") as file:
    content = FileBytes(file, os.path.getsize(sys.argv[1]))
    signals = sorted(frozenset().union(*(wants for wants, _ in loaded)), key=repr)
    facts = watch_isolated(content, "video/matroska", signals, VideoLimits(), begin)
for watcher in watchers:
    watcher.end(facts)
(decoding,) = psutil.Process().children()
print(orjson.dumps({"decodes": peak_resident(decoding.pid), "measures": peak_resident(os.getpid())}).decode())
"""
ALONE: Final = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
ALLOWED: Final = {"every frame": 1.4, "keyframes": 0.15, "vectors": 1.35}


@dataclass(frozen=True)
class Score:
    """How well transitions were found."""

    found: int
    missed: int
    wrong: int
    by_kind: Mapping[str, tuple[int, int]] = field(default_factory=dict)  # found, of so many

    @property
    def f1(self) -> float:
        """The harmonic mean of recall and precision."""
        return _f1(self.found, self.missed, self.wrong)

    @property
    def f1_without_wipes(self) -> float:
        """The same, of the other kinds."""
        found, of = self.by_kind.get("wipe", (0, 0))
        return _f1(self.found - found, self.missed - of + found, self.wrong)


def _f1(found: int, missed: int, wrong: int) -> float:
    return 2 * found / max(2 * found + missed + wrong, 1)


def score(films: Sequence[Sequence[Transition]], found: Sequence[Sequence[tuple[float, float]]]) -> Score:
    """Each transition takes the first detection within its span; what is left over is wrong."""
    wrong = 0
    by_kind: dict[str, tuple[int, int]] = {}
    for truth, spans in zip(films, found, strict=True):
        left = list(spans)
        for one in truth:
            near = [at for at in left if at[0] <= one.end + TOLERANCE and at[1] >= one.start - TOLERANCE]
            found_so_far, of = by_kind.get(one.kind, (0, 0))
            by_kind[one.kind] = found_so_far + bool(near), of + 1
            if near:
                left.remove(near[0])
        wrong += len(left)
    right, all_of_them = (sum(numbers) for numbers in zip((0, 0), *by_kind.values(), strict=True))
    return Score(right, all_of_them - right, wrong, by_kind)


def main() -> int:
    """Costs of each video, F1 over the films, then the memory of the long film."""
    arguments = benchmark_arguments(__doc__ or "").parse_args()
    folder = cached_videos()
    ratios = _costs([folder / name for name in (QUICK_VIDEOS if arguments.quick else VIDEOS)], arguments.quick)
    scores = _scores(made_films(QUICK_FILMS if arguments.quick else FILMS, SEED))
    hours = QUICK_HOURS if arguments.quick else HOURS
    peaks = orjson.loads(measure(_command(LONG, looped(folder / "bigbuckbunny.mp4", hours))).last_line)
    peak = max(peaks.values()) / 1e6
    each = ", ".join(f"the process that {does} {held / 1e6:.0f}" for does, held in peaks.items())
    print(f"memory of {hours:g} h: {each} of {MEMORY_LIMIT} MB", flush=True)
    missed = missed_limits(ratios, scores, peak, quick=arguments.quick)
    for one in missed:
        print(f"MISSED: {one}")
    if arguments.json:
        f1 = {who: round(one.f1, 4) for who, one in scores.items()}
        memory = Limit(f"memory of {hours:g} h", peak, MEMORY_LIMIT, "MB")
        said = {"name": "video", "ratios": ratios, "f1": f1, "limit": memory, "missed": missed, "machine": machine()}
        print(orjson.dumps(said).decode())
    return 1 if missed else 0


def missed_limits(ratios: dict[str, float], scores: dict[str, Score], peak: float, *, quick: bool) -> list[str]:
    """What was promised and not kept.

    Args:
        ratios: By `case, video`.
        scores: Ours is the first.
        peak: Memory in MB.
        quick: Whether costs may be a quarter more than promised.
    """
    slack = 1 + QUICK_TOLERANCE if quick else 1
    missed = []
    for what, ratio in ratios.items():
        allowed = ALLOWED.get(what.partition(", ")[0])
        if allowed is not None and ratio > slack * allowed:
            missed.append(f"{what}: {ratio:.3f} of {allowed:g} bare decodes")
    (_, ours), *peers = scores.items()
    network = scores.get(NETWORK)
    if network is not None and network.f1_without_wipes < NETWORK_F1:
        missed.append(f"F1 {network.f1_without_wipes:.3f} of {NETWORK_F1:g}, {NETWORK}, but for wipes")
    peers = [(who, one) for who, one in peers if who != NETWORK]
    missed += [f"F1 {ours.f1:.3f} of {one.f1:.3f}, {who}" for who, one in peers if one.f1 > ours.f1]
    if peak > MEMORY_LIMIT:
        missed.append(f"{peak:.0f} of {MEMORY_LIMIT} MB")
    return missed


def _costs(videos: Sequence[Path], quick: bool) -> dict[str, float]:
    ratios = {}
    print(f"{'CPU s over a bare decode':<26}" + "".join(f"{case:>25}" for case in COSTS))
    for video in videos:
        line = f"{video.name:<26}"
        for case, code in COSTS.items():
            found = measure(_command(RATIO + code, video, QUICK_TURNS if quick else TURNS), ALONE).last_line
            ratios[f"{case}, {video.name}"] = round(float(found), 3)
            line += f"{float(found):>25.3f}"
        print(line, flush=True)
    return ratios


def _scores(films: Sequence[Film]) -> dict[str, Score]:
    paths = [film.path for film in films]
    found = {"winnow": _lines(_command(WATCH + SHOTS, "adaptive", *paths))}
    found[NETWORK] = _lines(_command(WATCH + SHOTS, "transnet", *paths))
    for detector in ("adaptive", "swept", "content"):
        found[f"PySceneDetect, {detector}"] = _lines(_command(SCENES + FOUND, detector, *paths))
    truth = [film.transitions for film in films]
    scores = {who: score(truth, [orjson.loads(line) for line in lines]) for who, lines in found.items()}
    for who, one in scores.items():
        kinds = ", ".join(f"{kind} {right} of {of}" for kind, (right, of) in sorted(one.by_kind.items()))
        print(
            f"{who:<26} F1 {one.f1:.3f}, {one.f1_without_wipes:.3f} but for wipes: {kinds}; {one.wrong} wrong",
            flush=True,
        )
    return scores


def _command(code: str, *arguments: object) -> list[str]:
    python = peer_python("scenedetect") if SCENES in code else sys.executable
    return [str(python), "-c", code, *map(str, arguments)]


def _lines(command: Sequence[str]) -> list[str]:
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=os.environ | ALONE)
    if done.returncode:
        raise SystemExit(f"{done.stderr}benchmarks: {command[0]} ended with status {done.returncode}")
    return done.stdout.splitlines()


def looped(video: Path, hours: float, folder: Path = CACHE) -> Path:
    """A film of so many hours: the video's packets again and again."""
    path = folder / f"long-{video.stem}-{hours:g}.mkv"
    if path.exists():
        return path
    with av.open(str(video)) as source:
        stream = source.streams.video[0]
        packets = [packet for packet in source.demux(stream) if packet.size]
        with av.open(str(path), "w") as target:
            copied: Any = target.add_stream_from_template(stream)
            tick = stream.time_base or Fraction(1)
            lasting = sum(packet.duration or 0 for packet in packets)
            for turn in range(round(hours * 3600 / float(lasting * tick))):
                for packet in packets:
                    again: Any = av.Packet(bytes(packet))
                    again.pts, again.dts = (packet.pts or 0) + turn * lasting, (packet.dts or 0) + turn * lasting
                    again.duration, again.time_base, again.stream = packet.duration, tick, copied
                    again.is_keyframe = packet.is_keyframe
                    target.mux(again)
    return path


if __name__ == "__main__":
    sys.exit(main())
