"""Where the time of one picture goes, step by step: what the ratios of `benchmarks.images` are made of.

    python -m benchmarks.pictures.profile [--quick] [--json]

Photographs of 640 pixels, one thread, CPU time. All steps are measured in turn, in each of some rounds, so that what
else the machine does weighs on them alike; the median of the rounds is given. A kernel is measured right after its
picture was decoded, and again over pictures that have left the processor's cache, as those of a large batch have.
"""

import sys
import time
from collections.abc import Callable, Sequence
from statistics import median
from typing import Final, TypeVar

import numpy as np
import orjson
import psutil
import pyarrow as pa
import simplejpeg  # type: ignore[import-untyped]
from numpy.typing import NDArray

from benchmarks.inputs.photographs import cached_photographs
from benchmarks.measuring.reporting import benchmark_arguments, machine
from winnow.filters.image.decode.batches import batch_of
from winnow.filters.image.decode.shrink import fitted, shrink
from winnow.filters.image.decode.stills import DecodeLimits, Still, decode
from winnow.filters.image.pdq import PdqConfig, hashes
from winnow.filters.image.quality import QualityConfig, quality
from winnow.pipelines.decoding.isolation import PixelBuffer

PICTURES, QUICK_PICTURES = 150, 60
ROUNDS, QUICK_ROUNDS = 11, 5
SIDE = 256
MIME: Final = "image/jpeg"

Some = TypeVar("Some")


def main() -> int:
    """Every step, in every round."""
    arguments = benchmark_arguments(__doc__ or "").parse_args()
    folder = cached_photographs(150)
    count, rounds = (QUICK_PICTURES, QUICK_ROUNDS) if arguments.quick else (PICTURES, ROUNDS)
    files = [path.read_bytes() for path in sorted(folder.glob("*.jpg"))[:count]]
    steps = _steps(files)
    taken: dict[str, list[float]] = {name: [] for name in steps}
    for number in range(rounds + 1):
        for name, step in steps.items():
            seconds = step()
            if number:  # the first compiles, and starts processes
                taken[name].append(1000 * seconds / count)
    found = {name: median(times) for name, times in taken.items()}
    print(f"{'step':<58}{'ms a picture':>14}")
    for name, each in found.items():
        print(f"{name:<58}{each:>14.3f}")
    if arguments.json:
        steps_ms = {name: round(each, 4) for name, each in found.items()}
        print(orjson.dumps({"name": "picture_profile", "ms": steps_ms, "machine": machine()}).decode())
    return 0


def _steps(files: Sequence[bytes]) -> dict[str, Callable[[], float]]:
    """Each returns the CPU seconds of all pictures."""
    limits, buffer = DecodeLimits(), np.empty(3 * 640 * 640, np.uint8)
    half = [Still(still.pixels.copy(), still.height, still.width) for still in _decoded(files, SIDE)]
    full = [still.pixels.copy() for still in _decoded(files, None)]

    def raw(file: bytes, scale: int) -> NDArray[np.uint8]:
        height, width, *_ = simplejpeg.decode_jpeg_header(file)
        sides = {"min_height": -(-height // scale), "min_width": -(-width // scale)} if scale > 1 else {}
        found: NDArray[np.uint8] = simplejpeg.decode_jpeg(file, "RGB", buffer=buffer, **sides)
        return found

    def batched(*pictures: NDArray[np.uint8]) -> pa.RecordBatch:
        count = len(pictures)
        return batch_of([MIME] * count, [1] * count, [1] * count, [Still(one, *one.shape[:2]) for one in pictures])

    large = batched(*full)
    return {
        "decoding at 1/8: entropy decoding, and little else": lambda: _each(files, lambda file: raw(file, 8)),
        "decoding at 1/2": lambda: _each(files, lambda file: raw(file, 2)),
        "decoding in full": lambda: _each(files, lambda file: raw(file, 1)),
        "1/2, with header, claims, orientation and limits checked": lambda: _each(
            files, lambda file: decode(file, MIME, limits, SIDE, buffer)
        ),
        "full, checked": lambda: _each(files, lambda file: decode(file, MIME, limits, None, buffer)),
        "1/2, checked, in a process of its own": lambda: _isolated(files, SIDE),
        "full, checked, in a process of its own": lambda: _isolated(files, None),
        f"shrinking 1/2 to {SIDE}": lambda: _each(
            half, lambda still: shrink(still.pixels, *fitted(still.height, still.width, SIDE))
        ),
        "quality, right after decoding": lambda: _after(
            files, lambda file: batched(raw(file, 1)), lambda batch: quality(batch, QualityConfig())
        ),
        "quality, of a large batch": lambda: _each([large], lambda batch: quality(batch, QualityConfig())),
        "sharpness alone, of a large batch": lambda: _each(
            [large], lambda batch: quality(batch, QualityConfig(only_sharpness=True))
        ),
        "PDQ, right after decoding": lambda: _after(
            files, lambda file: batched(raw(file, 1)), lambda batch: hashes(batch, PdqConfig())
        ),
        "PDQ, of a large batch": lambda: _each([large], lambda batch: hashes(batch, PdqConfig())),
    }


def _decoded(files: Sequence[bytes], side: int | None) -> list[Still]:
    return [decode(file, MIME, DecodeLimits(), side) for file in files]


def _each(some: Sequence[Some], call: Callable[[Some], object]) -> float:
    start = time.process_time()
    for one in some:
        call(one)
    return time.process_time() - start


def _after(files: Sequence[bytes], first: Callable[[bytes], Some], call: Callable[[Some], object]) -> float:
    """What a call takes on what was just made."""
    total = 0.0
    for file in files:
        made = first(file)
        start = time.process_time()
        call(made)
        total += time.process_time() - start
    return total


def _isolated(files: Sequence[bytes], side: int | None) -> float:
    """Of both processes, in batches of 32; the other's clock ticks a hundred times a second, so several times over."""
    start = _spent()
    for _ in range(4):
        for at in range(0, len(files), 32):
            list(PixelBuffer(DecodeLimits()).decode_all([(file, MIME) for file in files[at : at + 32]], side))
    return (_spent() - start) / 4


def _spent() -> float:
    times = [child.cpu_times() for child in psutil.Process().children()]
    return time.process_time() + sum(one.user + one.system for one in times)


if __name__ == "__main__":
    sys.exit(main())
