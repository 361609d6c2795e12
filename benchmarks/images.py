"""Pictures: decoding, resizing, PDQ hashes, probing, joins of hashes and of vectors, beside what others use.

    python -m benchmarks.images [--quick] [--json]

Photographs of 640 pixels, the same files for all; either side in a process of its own, one thread, CPU seconds of the
work alone, since both read or draw their input first. They take turns, so that what else the machine does weighs on
both alike; the median of their rounds is given. PDQ is timed right after a picture was decoded, on either
side. The bare loop is simplejpeg and winnow's own hash, the fastest that we know, at full size, without sharpness,
limits, statuses, columns or a process of its own; winnow's probe makes three layers, in batches of 32: geometry,
sharpness and PDQ, and, under "all measures", also the brightness, contrast, entropy and exposure that `image.quality`
gives beside sharpness unless told otherwise. FAISS compares
every query with all hashes; it is given a tenth of them as queries, and its time is that for all.

Vectors are compared with all later ones by numpy's products, a tenth of their blocks, and the time is that for all. Of
the pairs in these blocks, winnow must find 99 of 100; its time has everything, from floats to pairs.
"""

import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import orjson

from benchmarks.inputs.photographs import cached_photographs
from benchmarks.measuring.environments import peer_python
from benchmarks.measuring.reporting import QUICK_TOLERANCE, Limit, benchmark_arguments, machine

PICTURES, QUICK_PICTURES = 500, 150
HASHES, MANY_HASHES = 100_000, 1_000_000
JOIN_LIMIT = 15.0  # CPU seconds for a million hashes
VECTORS, DIMENSIONS, CLOSE = 100_000, 384, 0.95
LEAST_RECALL = 0.99
ROUNDS = 7
FEW_ROUNDS = {"join": 3, "cosines": 1}  # of some seconds each
TENTHS = {"faiss", "products"}  # peers that do a tenth of the work

COMMON = """
import contextlib, gc, sys, time
from pathlib import Path
import numpy as np
with contextlib.suppress(ImportError):
    import psutil
def contents():
    return [path.read_bytes() for path in sorted(Path(sys.argv[1]).glob("*.jpg"))]
def spent():
    return time.process_time() + sum(map(of_child, children))
def of_child(pid):  # in nanoseconds, where the clocks that psutil reads tick a hundred times a second
    return sum(int(one.read_text().split()[0]) for one in Path(f"/proc/{pid}/task").glob("*/schedstat")) / 1e9
def rounds(call):
    if "psutil" in sys.modules:  # a peer's environment lacks it: no peer starts processes
        children[:] = [child.pid for child in psutil.Process().children()]
    gc.collect()
    gc.freeze()  # as winnow's workers do
    print("ready", flush=True)
    for _ in sys.stdin:  # a line begins a round
        start = spent()
        call()
        print(spent() - start, flush=True)
def rounds_after(first, call, files):
    print("ready", flush=True)
    for _ in sys.stdin:
        total = 0.0
        for file in files:
            made = first(file)
            start = time.process_time()
            call(made)
            total += time.process_time() - start
        print(total, flush=True)
children = []
"""

PROBE = """
from winnow.filters.image.geometry import OPERATOR as GEOMETRY
from winnow.filters.image.pdq import OPERATOR as PDQ
from winnow.filters.image.quality import OPERATOR as QUALITY
from winnow.filters.image.decode.stills import DecodeLimits
from winnow.pipelines.binding.operators import BoundAssets
from winnow.filters.image.decode.batches import batch_of
from winnow.pipelines.decoding.isolation import PixelBuffer
files, limits = contents(), DecodeLimits()
configs = (GEOMETRY, GEOMETRY.config()), (QUALITY, QUALITY.config({})), (PDQ, PDQ.config())
kernels = [one.load(config, BoundAssets(())) for one, config in configs]
def probe(files):
    for at in range(0, len(files), 32):
        some = files[at : at + 32]
        room = PixelBuffer(limits)
        stills = list(room.decode_all([(file, "image/jpeg") for file in some]))
        batch = batch_of(["image/jpeg"] * len(some), [len(file) for file in some], [1] * len(some), stills)
        for kernel in kernels:
            kernel(batch)
        del room, stills, batch  # as above
probe(files)
rounds(lambda: probe(files))
"""

BARE = """
import simplejpeg
from winnow.filters.duplicates.perceptual.pdq import pdq
files = contents()
pdq(simplejpeg.decode_jpeg(files[0]))
rounds(lambda: [pdq(simplejpeg.decode_jpeg(file)) for file in files])
"""

CODE = {
    "decode, winnow": """
from winnow.filters.image.decode.stills import DecodeLimits, sized
from winnow.pipelines.decoding.isolation import PixelBuffer
files, limits = contents(), DecodeLimits()
def small(files):
    for at in range(0, len(files), 32):
        for still in PixelBuffer(limits).decode_all([(file, "image/jpeg") for file in files[at : at + 32]], 256):
            sized(still, 256)
        del still  # it holds its room, and the next would need another process
small(files)
rounds(lambda: small(files))
""",
    "decode, pillow": """
import io
from PIL import Image
files = contents()
def small(file):
    with Image.open(io.BytesIO(file)) as picture:
        scale = 256 / max(picture.size)
        picture.draft("RGB", (256, 256))
        size = tuple(max(1, round(side * 256 / max(picture.size))) for side in picture.size)
        return np.asarray(picture.convert("RGB").resize(size, Image.Resampling.BICUBIC))
rounds(lambda: [small(file) for file in files])
""",
    "resize, winnow": """
import hashlib
from winnow.filters.image.changes.options import PictureChanges, Resize
from winnow.filters.image.decode.stills import DecodeLimits
from winnow.pipelines.export.media.fetching import ToChange, change_pictures
files, limits, changes = contents(), DecodeLimits(), PictureChanges(Resize("keep_ratio", 256))
def resized(files):
    for at in range(0, len(files), 32):
        some = [ToChange(file, hashlib.sha256(file).hexdigest(), "image/jpeg") for file in files[at : at + 32]]
        for made in change_pictures(some, changes, limits):
            yield made.sha256, made.width, made.height
Path(sys.argv[2]).write_text("".join(f"{width} {height}\\n" for _, width, height in resized(files)))
rounds(lambda: list(resized(files)))
""",
    "resize, img2dataset": """
import hashlib, io
from img2dataset.resizer import Resizer
files, resizer = contents(), Resizer(256, "keep_ratio", False)
def resized(file):
    made, width, height, *_ , error = resizer(io.BytesIO(file))
    assert error is None, error
    return hashlib.sha256(made).hexdigest(), width, height
Path(sys.argv[2]).write_text("".join(f"{width} {height}\\n" for _, width, height in map(resized, files)))
rounds(lambda: [resized(file) for file in files])
""",
    "pdq, winnow": """
import simplejpeg
from winnow.filters.duplicates.perceptual.pdq import pdq
files = contents()
found = [pdq(simplejpeg.decode_jpeg(file)) for file in files]
Path(sys.argv[2]).write_text("".join(f"{one.bits.hex()} {one.quality}\\n" for one in found))
rounds_after(simplejpeg.decode_jpeg, pdq, files)
""",
    "pdq, pdqhash": """
import pdqhash, simplejpeg
files = contents()
found = [pdqhash.compute(simplejpeg.decode_jpeg(file)) for file in files]
lines = [f"{np.packbits(bits).tobytes().hex()} {int(quality)}\\n" for bits, quality in found]
Path(sys.argv[2]).write_text("".join(lines))
rounds_after(simplejpeg.decode_jpeg, pdqhash.compute, files)
""",
    "probe, winnow": PROBE.format("only_sharpness=True"),
    "all measures, winnow": PROBE.format(""),
    "probe, bare": BARE,
    "all measures, bare": BARE,
    "join, winnow": """
from winnow.filters.duplicates.perceptual.hamming import radius_pairs
hashes = np.load(sys.argv[2])
list(radius_pairs(hashes[:100]))
rounds(lambda: sum(len(some.first) for some in radius_pairs(hashes)))
""",
    "join, faiss": """
import faiss
faiss.omp_set_num_threads(1)
hashes = np.load(sys.argv[2]).view(np.uint8).reshape(-1, 32)
index = faiss.IndexBinaryFlat(256)
index.add(hashes)
rounds(lambda: index.range_search(hashes[: len(hashes) // 10], 32))
""",
    "cosines, winnow": """
from winnow.filters.duplicates.vectors.cells import nearest_cells, train_cells
from winnow.filters.duplicates.vectors.cosines import cosine_pairs, rounded
floats = np.load(sys.argv[2])
def join(floats):
    vectors, _ = rounded(floats)
    sample = vectors[np.random.default_rng(1).permutation(len(vectors))]
    cells = nearest_cells(vectors, train_cells(sample, len(vectors)))
    order = np.argsort(cells.ravel(), kind="stable")
    bounds = np.flatnonzero(np.diff(cells.ravel()[order], prepend=-1, append=-1))
    found = []
    for begin, end in zip(bounds[:-1], bounds[1:]):
        members = order[begin:end] // cells.shape[1]
        found += [(members[some.first], members[some.second]) for some in cosine_pairs(vectors[members], 0.95)]
    ends = np.stack([np.concatenate(part) for part in zip(*found)]) if found else np.zeros((2, 0), np.int64)
    return np.unique(ends, axis=1)
join(floats[:5000])
rounds(lambda: np.save(sys.argv[3], join(floats)))
""",
    "cosines, products": """
floats = np.load(sys.argv[2])
block, every = 500, 10
def join():
    found = []
    for begin in range(0, len(floats), block * every):
        products = floats[begin : begin + block] @ floats[begin:].T
        one, other = np.nonzero(products >= 0.95)
        later = other > one
        found.append(np.stack([one[later] + begin, other[later] + begin]))
    np.save(sys.argv[3], np.concatenate(found, axis=1))
rounds(join)
""",
}
CASES = (
    ("decode", "pillow", 3.0),
    ("resize", "img2dataset", 1.5),
    ("pdq", "pdqhash", 30.0),
    ("probe", "bare", 0.8),
    ("all measures", "bare", None),
    ("join", "faiss", 30.0),
    ("cosines", "products", 10.0),
)
IN_OUR_PYTHON = {"winnow", "bare", "products"}
OF_ITS_OWN = {"img2dataset"}  # peers with another environment than the others


@dataclass(frozen=True, slots=True)
class Compared:
    """A case and its peer, in CPU seconds."""

    case: str
    peer: str
    count: int
    ours: float
    theirs: float
    floor: float | None

    @property
    def ratio(self) -> float:
        """How many times as fast as the peer."""
        return self.theirs / self.ours


def main() -> int:
    """Every case, then the join of a million hashes."""
    arguments = benchmark_arguments(__doc__ or "").parse_args()
    count = QUICK_PICTURES if arguments.quick else PICTURES
    folder = cached_photographs(count)
    found = []
    for case, peer, floor in CASES:
        argument = {who: str(folder.parent / f"images-{case}-{who}") for who in ("winnow", peer)}
        amount = count
        if case == "join":
            amount = HASHES
            argument = dict.fromkeys(argument, _hashes(str(folder.parent / "images-hashes.npy"), HASHES))
        if case == "cosines":
            amount = VECTORS
            argument = dict.fromkeys(argument, _vectors(str(folder.parent / "images-vectors.npy"), VECTORS))
        sides = [_Side(case, who, str(folder), argument[who]) for who in ("winnow", peer)]
        ours, theirs = _in_turn(sides, FEW_ROUNDS.get(case, ROUNDS))
        if case == "resize" and Path(argument["winnow"]).read_text() != Path(argument[peer]).read_text():
            raise SystemExit("benchmarks: resized pictures have other sizes than img2dataset's")
        if case == "pdq":
            _require_equal_hashes(argument["winnow"], argument[peer])
        if case == "cosines":
            recall = _recall(argument["winnow"])
        found.append(Compared(case, peer, amount, ours, theirs, floor))
    many = _hashes(str(folder.parent / "images-many-hashes.npy"), MANY_HASHES)
    (million,) = _in_turn([_Side("join", "winnow", str(folder), many)], 1)
    join = Limit("join of 1 M hashes", million, JOIN_LIMIT, "CPU s")
    print(f"{'case':<14}{'peer':<12}{'number':>10}{'ours, ms each':>16}{'theirs':>10}{'ratio':>9}{'promised':>10}")
    for one in found:
        each = (f"{1000 * seconds / one.count:.4f}" for seconds in (one.ours, one.theirs))
        print(f"{one.case:<14}{one.peer:<12}{one.count:>10,}{next(each):>16}{next(each):>10}", end="")
        print(f"{one.ratio:>9.2f}{one.floor or '':>10}")
    print(f"{join.what}: {join.value:.2f} of {join.allowed:g} {join.unit}, {'kept' if join.kept else 'EXCEEDED'}")
    print(f"recall of {VECTORS:,} x {DIMENSIONS}, pairs of cosine {CLOSE}: {recall:.4f} of {LEAST_RECALL}")
    if arguments.json:
        ratios = {f"{one.case}, {one.peer}": round(one.ratio, 3) for one in found}
        print(orjson.dumps({"name": "images", "ratios": ratios, "limit": join, "machine": machine()}).decode())
    least = 1 - QUICK_TOLERANCE if arguments.quick else 1
    fast = all(one.ratio >= least * one.floor for one in found if one.floor)
    return 0 if join.kept and recall >= LEAST_RECALL and fast else 1


class _Side:
    """The process of a case on one side, which has its input when it is made."""

    def __init__(self, case: str, who: str, folder: str, argument: str) -> None:
        python = sys.executable if who in IN_OUR_PYTHON else str(peer_python(who if who in OF_ITS_OWN else "images"))
        self._name = f"{case}, {who}"
        self._share = 10 if who in TENTHS else 1
        self._errors = tempfile.TemporaryFile("w+")  # noqa: SIM115  # for as long as the process
        self._process = subprocess.Popen(
            [python, "-c", COMMON + CODE[self._name], folder, argument, f"{argument}.{who}.npy"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
            env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
        )
        self._line()

    def seconds(self) -> float:
        """Of one round."""
        assert self._process.stdin is not None
        print(file=self._process.stdin, flush=True)
        return float(self._line()) * self._share

    def close(self) -> None:
        """Ends it."""
        self._process.communicate()
        self._errors.close()

    def _line(self) -> str:
        assert self._process.stdout is not None
        if not (line := self._process.stdout.readline()):
            self._errors.seek(0)
            raise SystemExit(f"{self._errors.read()}benchmarks: {self._name} failed")
        return line


def _in_turn(sides: Sequence[_Side], rounds: int) -> list[float]:
    """The median of the rounds of each side."""
    taken = [[side.seconds() for side in sides] for _ in range(rounds)]
    for side in sides:
        side.close()
    return [median(one) for one in zip(*taken, strict=True)]


def _hashes(path: str, count: int) -> str:
    """Random hashes, and changed copies of a hundredth of them."""
    import numpy as np

    random = np.random.default_rng(7)
    hashes = random.integers(0, 2**64, (count, 4), dtype=np.uint64)
    for copy in hashes[-(count // 100) :]:
        copy[:] = hashes[int(random.integers(count // 2))]
        for bit in random.permutation(256)[: random.integers(0, 40)].tolist():
            copy[bit >> 6] ^= np.uint64(1) << np.uint64(bit & 63)
    np.save(path, hashes)
    return path


def _vectors(path: str, count: int) -> str:
    """Unit vectors around two hundred directions, large and small, and noisy copies of a twentieth of them."""
    import numpy as np

    random = np.random.default_rng(7)
    directions = random.standard_normal((200, DIMENSIONS), np.float32)
    of = (random.pareto(1.0, count) * 10).astype(np.int64) % len(directions)
    vectors = random.standard_normal((count, DIMENSIONS), np.float32) + directions[of]
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    copies = count // 20
    noise = random.standard_normal((copies, DIMENSIONS), np.float32)
    noise *= random.uniform(0, 0.32, (copies, 1)).astype(np.float32) / np.linalg.norm(noise, axis=1, keepdims=True)
    chosen = random.permutation(count)
    vectors[chosen[:copies]] = vectors[chosen[copies : 2 * copies]] + noise
    np.save(path, vectors / np.linalg.norm(vectors, axis=1, keepdims=True))
    return path


def _recall(path: str) -> float:
    """Which share of the pairs of exact products winnow found."""
    import numpy as np

    ours, exact = ({tuple(pair) for pair in np.load(f"{path}.{who}.npy").T.tolist()} for who in ("winnow", "products"))
    print(f"cosines: {len(exact):,} pairs by exact products")
    return len(ours & exact) / len(exact)


def _require_equal_hashes(ours: str, theirs: str) -> None:
    """The hashes of every picture of quality 50 or more, and the quality of all, must be those of the reference."""
    with open(ours) as one, open(theirs) as other:
        for mine, reference in zip(one, other, strict=True):
            bits, quality = reference.split()
            if mine.split()[1] != quality or (int(quality) >= 50 and mine.split()[0] != bits):
                raise SystemExit(f"benchmarks: a hash differs from the reference: {mine.strip()} {reference.strip()}")


if __name__ == "__main__":
    sys.exit(main())
