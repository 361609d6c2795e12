"""Videos: every frame, keyframes and vectors beside a bare decode; shots beside PySceneDetect; memory of a long film.

    python -m benchmarks.video [--quick] [--json]

Costs are CPU seconds of one thread over those of PyAV decoding every frame of the same file and nothing else, each in a
process of its own, the median of three. *Every frame* is what `video.shots`, `video.static` and `video.motion` (by
planes) need, with their own work; *keyframes* is `video.clarity`; *vectors* is `video.motion` by vectors. PySceneDetect
reads with PyAV too. F1 is over films with known transitions (`inputs/films.py`) of a seed that no threshold was chosen
by: one is found if a detection lies within 0.12 s of its span. The long film is a real one's packets, looped.
"""

import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, Final

import av
import orjson

from benchmarks.inputs.films import Film, Transition, cached_videos, made_films
from benchmarks.inputs.pages import CACHE
from benchmarks.measuring.environments import peer_python
from benchmarks.measuring.reporting import QUICK_TOLERANCE, Limit, benchmark_arguments, machine

VIDEOS: Final = ("bikes.mp4", "bigbuckbunny.mp4", "trailer_bbb.mp4")
QUICK_VIDEOS: Final = VIDEOS[:2]
FILMS, QUICK_FILMS = 12, 4
SEED: Final = 8
TOLERANCE: Final = 0.12  # seconds
HOURS, QUICK_HOURS = 2.0, 0.1
MEMORY_LIMIT: Final = 400  # MB
ROUNDS: Final = 3

COMMON: Final = """
import resource, sys, time
path = sys.argv[1]
def best(call):
    call()
    taken = []
    for _ in range(int(sys.argv[2])):
        start = time.process_time()
        call()
        taken.append(time.process_time() - start)
    return sorted(taken)[len(taken) // 2]
"""
WATCH: Final = """
from winnow.filters.operators import find_operator
from winnow.filters.video.decode.opening import VideoLimits
from winnow.filters.video.decode.watching import VideoPass
MIMES = {"mp4": "video/mp4", "mkv": "video/matroska", "webm": "video/webm"}
def watch(path, **configs):
    watched, wanted = [], set()
    for name, config in configs.items():
        operator = find_operator(f"video.{name}")
        made = operator.config(**config)
        watched.append((operator.watch.wants(made), operator.watch.load(made, None)()))
        wanted |= operator.watch.wants(made)
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
CODE: Final = {
    "bare": """
import av
def decode():
    with av.open(path) as container:
        stream = container.streams.video[0]
        stream.thread_count = 1
        for packet in container.demux(stream):
            for frame in packet.decode():
                pass
print(best(decode))
""",
    "every frame": WATCH + "print(best(lambda: watch(path, shots={}, static={}, motion={'by': 'planes'})))",
    "shots": WATCH + "print(best(lambda: watch(path, shots={})))",
    "keyframes": WATCH + "print(best(lambda: watch(path, clarity={})))",
    "vectors": WATCH + "print(best(lambda: watch(path, motion={'by': 'vectors'})))",
    "scenedetect adaptive": SCENES + "print(best(lambda: detect(path, AdaptiveDetector())))",
    "scenedetect content": SCENES + "print(best(lambda: detect(path, ContentDetector())))",
    "memory": WATCH
    + """
rows = watch(path, shots={}, static={}, motion={}, audio={}, clarity={})
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000)
""",
    "shots found": WATCH
    + """
import json
for one in sys.argv[3:]:
    (row,) = watch(one, shots={})
    print(json.dumps(list(zip(row["end_seconds"][:-1], row["begin_seconds"][1:]))))
""",
    "scenes found": SCENES
    + """
import json
make = {"adaptive": AdaptiveDetector, "content": ContentDetector,
        "swept": lambda: AdaptiveDetector(adaptive_threshold=3.5, window_width=3)}[sys.argv[2]]
for one in sys.argv[3:]:
    print(json.dumps([(at, at) for at in detect(one, make())]))
""",
}
ALLOWED: Final = {"every frame": 1.2, "keyframes": 0.15, "vectors": 1.35}


@dataclass(frozen=True)
class Score:
    """How well transitions were found."""

    found: int
    missed: int
    wrong: int

    @property
    def f1(self) -> float:
        """The harmonic mean of recall and precision."""
        return 2 * self.found / max(2 * self.found + self.missed + self.wrong, 1)


def score(films: Sequence[Sequence[Transition]], found: Sequence[Sequence[tuple[float, float]]]) -> Score:
    """Each transition takes the first detection within its span; what is left over is wrong."""
    right = missed = wrong = 0
    for truth, spans in zip(films, found, strict=True):
        left = list(spans)
        for one in truth:
            near = [at for at in left if at[0] <= one.end + TOLERANCE and at[1] >= one.start - TOLERANCE]
            if near:
                left.remove(near[0])
                right += 1
            else:
                missed += 1
        wrong += len(left)
    return Score(right, missed, wrong)


def main() -> int:
    """Costs of each video, F1 over the films, then the memory of the long film."""
    arguments = benchmark_arguments(__doc__ or "").parse_args()
    folder = cached_videos()
    ratios = {}
    cases = [one for one in CODE if one not in ("bare", "memory", "shots found", "scenes found")]
    print(f"{'CPU s over a bare decode':<26}" + "".join(f"{case:>22}" for case in cases))
    for name in QUICK_VIDEOS if arguments.quick else VIDEOS:
        bare = float(_run("bare", folder / name)[-1])
        line = f"{name:<26}"
        for case in cases:
            ratios[f"{case}, {name}"] = round(float(_run(case, folder / name)[-1]) / bare, 3)
            line += f"{ratios[f'{case}, {name}']:>22.3f}"
        print(line, flush=True)
    films = made_films(QUICK_FILMS if arguments.quick else FILMS, SEED)
    scores = {"winnow": _score(films, "shots found", "")}
    for detector in ("adaptive", "swept", "content"):
        scores[f"PySceneDetect, {detector}"] = _score(films, "scenes found", detector)
    for who, one in scores.items():
        print(f"{who:<26} F1 {one.f1:.3f}: {one.found} found, {one.missed} missed, {one.wrong} wrong", flush=True)
    hours = QUICK_HOURS if arguments.quick else HOURS
    peak = float(_run("memory", _looped(folder / "bigbuckbunny.mp4", hours))[-1])
    memory = Limit(f"memory of {hours:g} h", peak, MEMORY_LIMIT, "MB")
    print(f"{memory.what}: {memory.value:.0f} of {memory.allowed} {memory.unit}")
    if arguments.json:
        f1 = {who: round(one.f1, 4) for who, one in scores.items()}
        said = {"name": "video", "ratios": ratios, "f1": f1, "limit": memory, "machine": machine()}
        print(orjson.dumps(said).decode())
    slack = 1 + QUICK_TOLERANCE if arguments.quick else 1
    cheap = all(ratio <= slack * ALLOWED.get(case.partition(",")[0], 99) for case, ratio in ratios.items())
    best = all(scores["winnow"].f1 >= one.f1 for one in scores.values())
    return 0 if memory.kept and cheap and best else 1


def _score(films: Sequence[Film], case: str, which: str) -> Score:
    lines = _run(case, *(film.path for film in films), second=which)
    return score([film.transitions for film in films], [orjson.loads(line) for line in lines])


def _run(case: str, *paths: Path, second: str = str(ROUNDS)) -> list[str]:
    python = str(peer_python("scenedetect")) if case.startswith("scene") else sys.executable
    command = [python, "-c", COMMON + CODE[case], str(paths[0]), second, *map(str, paths)]
    alone = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=alone)
    if done.returncode:
        raise SystemExit(f"{done.stderr}benchmarks: {case} failed")
    return done.stdout.splitlines()


def _looped(video: Path, hours: float) -> Path:
    """A film of so many hours: the video's packets again and again."""
    path = CACHE / f"long-{video.stem}-{hours:g}.mkv"
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
