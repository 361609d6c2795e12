"""How memory grows with the number of pictures: ingest and three layers of stores of 1 k, 10 k and 100 k of them.

    python -m benchmarks.pictures.memory [--quick] [--json]

Small photographs in tars of a thousand, each with a comment of its own behind its header, so that no two files are
equal. One worker; the peak is that of all processes together. `--quick` leaves out the largest store.
"""

import io
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

import orjson

from benchmarks.inputs.photographs import cached_photographs
from benchmarks.measuring.environments import peer_python
from benchmarks.measuring.reporting import GIB, Limit, Measured, benchmark_arguments, machine, measure

COUNTS = (1_000, 10_000, 100_000)
PER_TAR = 1_000
SOURCES = 40  # photographs, shrunk
SIDE = 96
GROWTH = 1.25  # of the peak, from 10 k pictures on: before, a store has fewer tasks than workers

RECIPE = """
version: 1
store: {path: store, seed: 7}
sources:
  photos: {root: tars, files: ["*.tar"], format: webdataset, class: web}
annotate: [image.geometry, image.quality, image.pdq]
"""
_SHRINK = """
import sys
from pathlib import Path
from PIL import Image
for file in sorted(Path(sys.argv[1]).glob("*.jpg"))[: int(sys.argv[3])]:
    picture = Image.open(file)
    picture.thumbnail((int(sys.argv[4]),) * 2)
    picture.save(Path(sys.argv[2], file.name), quality=85)
"""


def main() -> int:
    """One store of each size."""
    arguments = benchmark_arguments(__doc__ or "").parse_args()
    counts = COUNTS[:-1] if arguments.quick else COUNTS
    found: dict[int, Measured] = {}
    print(f"{'pictures':>10}{'wall s':>10}{'CPU s':>10}{'ms each':>10}{'peak GiB':>10}")
    for count in counts:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            _write(folder, count)
            command = [sys.executable, "-m", "winnow", "run", str(folder / "recipe.yaml"), "--workers", "1"]
            took = found[count] = measure(command)
        print(
            f"{count:>10,}{took.wall_seconds:>10.1f}{took.cpu_seconds:>10.1f}{1000 * took.cpu_seconds / count:>10.2f}"
            f"{took.peak_bytes / GIB:>10.2f}",
            flush=True,
        )
    first = counts[0] if arguments.quick else counts[1]
    growth = found[counts[-1]].peak_bytes / found[first].peak_bytes
    limit = Limit(f"peak at {counts[-1]:,} over that at {first:,}", growth, GROWTH, "times")
    print(f"{limit.what}: {limit.value:.2f} of {limit.allowed:g} {limit.unit}, {'kept' if limit.kept else 'EXCEEDED'}")
    if arguments.json:
        peaks = {str(count): took.peak_bytes for count, took in found.items()}
        print(orjson.dumps({"name": "picture_memory", "peaks": peaks, "limit": limit, "machine": machine()}).decode())
    return 0 if limit.kept else 1


def _write(folder: Path, count: int) -> None:
    (folder / "recipe.yaml").write_text(RECIPE)
    (folder / "tars").mkdir()
    small = [path.read_bytes() for path in sorted(_small_photographs().glob("*.jpg"))]
    for first in range(0, count, PER_TAR):
        with tarfile.open(folder / "tars" / f"{first // PER_TAR:05}.tar", "w") as tar:
            for number in range(first, min(first + PER_TAR, count)):
                content = small[number % len(small)]
                comment = b"\xff\xfe\0\x0c" + f"{number:010}".encode()
                member = tarfile.TarInfo(f"{number:08}.jpg")
                member.size = len(content) + len(comment)
                tar.addfile(member, io.BytesIO(content[:2] + comment + content[2:]))


def _small_photographs() -> Path:
    folder = cached_photographs(150)
    small = folder.parent / f"photographs-small-{SOURCES}-{SIDE}"
    if not small.exists():
        with tempfile.TemporaryDirectory(dir=folder.parent) as name:
            words = [str(peer_python("images")), "-c", _SHRINK, str(folder), name, str(SOURCES), str(SIDE)]
            subprocess.run(words, check=True)
            Path(name).rename(small)
            Path(name).mkdir()
    return small


if __name__ == "__main__":
    sys.exit(main())
