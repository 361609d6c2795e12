"""Pictures: decoding, resizing, PDQ hashes, probing, joins of hashes and of vectors, beside what others use.

    python -m benchmarks.images [--quick] [--json]

Photographs of 640 pixels, the same files for all; each case in a process of its own, one thread, CPU seconds of the
work alone, since every case reads or draws its input first. PDQ is timed right after a picture was decoded, on either
side. The bare loop is simplejpeg and winnow's own hash, the fastest that we know, at full size, without sharpness,
limits, statuses, columns or a process of its own; winnow's probe makes three layers, in batches of 32. FAISS compares
every query with all hashes; it is given a tenth of them as queries, and its time is that for all.

Vectors are compared with all later ones by numpy's products, a tenth of their blocks, and the time is that for all. Of
the pairs in these blocks, winnow must find 99 of 100; its time has everything, from floats to pairs.
"""

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import orjson

from benchmarks.inputs.photographs import cached_photographs
from benchmarks.measuring.environments import peer_python
from benchmarks.measuring.reporting import QUICK_TOLERANCE, Limit, benchmark_arguments, machine

PICTURES, QUICK_PICTURES = 500, 150
HASHES, MANY_HASHES = 100_000, 1_000_000
JOIN_LIMIT = 15.0  # CPU seconds for a million hashes
VECTORS, DIMENSIONS, CLOSE = 100_000, 384, 0.95
LEAST_RECALL = 0.99
ROUNDS = 3

COMMON = """
import sys, time
from pathlib import Path
import numpy as np
def contents():
    return [path.read_bytes() for path in sorted(Path(sys.argv[1]).glob("*.jpg"))]
def spent():
    try:
        import psutil
    except ImportError:  # a peer's environment: no peer starts processes
        return time.process_time()
    times = [child.cpu_times() for child in psutil.Process().children()]
    return time.process_time() + sum(one.user + one.system for one in times)
def best(call, rounds=int(sys.argv[2])):
    taken = []
    for _ in range(rounds):
        start = spent()
        call()
        taken.append(spent() - start)
    return sorted(taken)[len(taken) // 2]
def best_after(first, call, files, rounds=int(sys.argv[2])):
    taken = []
    for _ in range(rounds):
        total = 0.0
        for file in files:
            made = first(file)
            start = time.process_time()
            call(made)
            total += time.process_time() - start
        taken.append(total)
    return sorted(taken)[len(taken) // 2]
"""

CODE = {
    "decode, winnow": """
from winnow.filters.image.decode.stills import DecodeLimits, sized
from winnow.pipelines.media.isolation import Room
files, limits = contents(), DecodeLimits()
def small(files):
    for at in range(0, len(files), 32):
        for still in Room(limits).decode_all([(file, "image/jpeg") for file in files[at : at + 32]], 256):
            sized(still, 256)
        del still  # it holds its room, and the next would need another process
small(files)
print(best(lambda: small(files)))
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
print(best(lambda: [small(file) for file in files]))
""",
    "resize, winnow": """
import hashlib
from winnow.filters.image.changes.options import PictureChanges, Resize
from winnow.filters.image.decode.stills import DecodeLimits
from winnow.pipelines.export.media.changing import ToChange, change_pictures
files, limits, changes = contents(), DecodeLimits(), PictureChanges(Resize("keep_ratio", 256))
def resized(files):
    for at in range(0, len(files), 32):
        some = [ToChange(file, hashlib.sha256(file).hexdigest(), "image/jpeg") for file in files[at : at + 32]]
        for made in change_pictures(some, changes, limits):
            yield made.sha256, made.width, made.height
Path(sys.argv[3]).write_text("".join(f"{width} {height}\\n" for _, width, height in resized(files)))
print(best(lambda: list(resized(files))))
""",
    "resize, img2dataset": """
import hashlib, io
from img2dataset.resizer import Resizer
files, resizer = contents(), Resizer(256, "keep_ratio", False)
def resized(file):
    made, width, height, *_ , error = resizer(io.BytesIO(file))
    assert error is None, error
    return hashlib.sha256(made).hexdigest(), width, height
Path(sys.argv[3]).write_text("".join(f"{width} {height}\\n" for _, width, height in map(resized, files)))
print(best(lambda: [resized(file) for file in files]))
""",
    "pdq, winnow": """
import simplejpeg
from winnow.filters.duplicates.perceptual.pdq import pdq
files = contents()
found = [pdq(simplejpeg.decode_jpeg(file)) for file in files]
Path(sys.argv[3]).write_text("".join(f"{one.bits.hex()} {one.quality}\\n" for one in found))
print(best_after(simplejpeg.decode_jpeg, pdq, files))
""",
    "pdq, pdqhash": """
import pdqhash, simplejpeg
files = contents()
found = [pdqhash.compute(simplejpeg.decode_jpeg(file)) for file in files]
lines = [f"{np.packbits(bits).tobytes().hex()} {int(quality)}\\n" for bits, quality in found]
Path(sys.argv[3]).write_text("".join(lines))
print(best_after(simplejpeg.decode_jpeg, pdqhash.compute, files, 1))
""",
    "probe, winnow": """
from winnow.filters.image.geometry import OPERATOR as GEOMETRY
from winnow.filters.image.pdq import OPERATOR as PDQ
from winnow.filters.image.quality import OPERATOR as QUALITY
from winnow.filters.image.decode.stills import DecodeLimits
from winnow.pipelines.binding.operators import BoundAssets
from winnow.filters.image.decode.batches import batch_of
from winnow.pipelines.media.isolation import Room
files, limits = contents(), DecodeLimits()
kernels = [one.load(one.config(), BoundAssets(())) for one in (GEOMETRY, QUALITY, PDQ)]
def probe(files):
    for at in range(0, len(files), 32):
        some = files[at : at + 32]
        room = Room(limits)
        stills = list(room.decode_all([(file, "image/jpeg") for file in some]))
        batch = batch_of(["image/jpeg"] * len(some), [len(file) for file in some], [1] * len(some), stills)
        for kernel in kernels:
            kernel(batch)
probe(files)
print(best(lambda: probe(files)))
""",
    "probe, bare": """
import simplejpeg
from winnow.filters.duplicates.perceptual.pdq import pdq
files = contents()
pdq(simplejpeg.decode_jpeg(files[0]))
print(best(lambda: [pdq(simplejpeg.decode_jpeg(file)) for file in files]))
""",
    "join, winnow": """
from winnow.filters.duplicates.perceptual.hamming import radius_pairs
hashes = np.load(sys.argv[3])
list(radius_pairs(hashes[:100]))
print(best(lambda: print(sum(len(some.first) for some in radius_pairs(hashes)), file=sys.stderr), 1))
""",
    "join, faiss": """
import faiss
faiss.omp_set_num_threads(1)
hashes = np.load(sys.argv[3]).view(np.uint8).reshape(-1, 32)
index = faiss.IndexBinaryFlat(256)
index.add(hashes)
print(best(lambda: index.range_search(hashes[: len(hashes) // 10], 32), 1) * 10)
""",
    "cosines, winnow": """
from winnow.filters.duplicates.vectors.cells import nearest_cells, train_cells
from winnow.filters.duplicates.vectors.cosines import cosine_pairs, rounded
floats = np.load(sys.argv[3])
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
print(best(lambda: np.save(sys.argv[4], join(floats))))
""",
    "cosines, products": """
floats = np.load(sys.argv[3])
block, every = 500, 10
def join():
    found = []
    for begin in range(0, len(floats), block * every):
        products = floats[begin : begin + block] @ floats[begin:].T
        one, other = np.nonzero(products >= 0.95)
        later = other > one
        found.append(np.stack([one[later] + begin, other[later] + begin]))
    np.save(sys.argv[4], np.concatenate(found, axis=1))
print(best(join, 1) * every)
""",
}
FLOORS = {"pillow": 3.0, "img2dataset": 1.5, "pdqhash": 30.0, "bare": 0.8, "faiss": 30.0, "products": 10.0}
CASES = (
    ("decode", "pillow"),
    ("resize", "img2dataset"),
    ("pdq", "pdqhash"),
    ("probe", "bare"),
    ("join", "faiss"),
    ("cosines", "products"),
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
    for case, peer in CASES:
        argument = {who: str(folder.parent / f"images-{case}-{who}") for who in ("winnow", peer)}
        amount = count
        if case == "join":
            amount = HASHES
            argument = dict.fromkeys(argument, _hashes(str(folder.parent / "images-hashes.npy"), HASHES))
        if case == "cosines":
            amount = VECTORS
            argument = dict.fromkeys(argument, _vectors(str(folder.parent / "images-vectors.npy"), VECTORS))
        ours, theirs = (_seconds(f"{case}, {who}", who, str(folder), ROUNDS, argument[who]) for who in ("winnow", peer))
        if case == "resize" and Path(argument["winnow"]).read_text() != Path(argument[peer]).read_text():
            raise SystemExit("benchmarks: resized pictures have other sizes than img2dataset's")
        if case == "pdq":
            _require_equal_hashes(argument["winnow"], argument[peer])
        if case == "cosines":
            recall = _recall(argument["winnow"])
        found.append(Compared(case, peer, amount, ours, theirs))
    many = _hashes(str(folder.parent / "images-many-hashes.npy"), MANY_HASHES)
    join = Limit("join of 1 M hashes", _seconds("join, winnow", "winnow", str(folder), 1, many), JOIN_LIMIT, "CPU s")
    print(f"{'case':<10}{'peer':<10}{'number':>10}{'ours, ms each':>16}{'theirs':>10}{'ratio':>9}{'promised':>10}")
    for one in found:
        each = (f"{1000 * seconds / one.count:.4f}" for seconds in (one.ours, one.theirs))
        print(f"{one.case:<10}{one.peer:<10}{one.count:>10,}{next(each):>16}{next(each):>10}", end="")
        print(f"{one.ratio:>9.2f}{FLOORS[one.peer]:>10g}")
    print(f"{join.what}: {join.value:.2f} of {join.allowed:g} {join.unit}, {'kept' if join.kept else 'EXCEEDED'}")
    print(f"recall of {VECTORS:,} x {DIMENSIONS}, pairs of cosine {CLOSE}: {recall:.4f} of {LEAST_RECALL}")
    if arguments.json:
        ratios = {f"{one.case}, {one.peer}": round(one.ratio, 3) for one in found}
        print(orjson.dumps({"name": "images", "ratios": ratios, "limit": join, "machine": machine()}).decode())
    least = 1 - QUICK_TOLERANCE if arguments.quick else 1
    fast = all(one.ratio >= least * FLOORS[one.peer] for one in found)
    return 0 if join.kept and recall >= LEAST_RECALL and fast else 1


def _seconds(case: str, who: str, folder: str, rounds: int, argument: str) -> float:
    python = sys.executable if who in IN_OUR_PYTHON else str(peer_python(who if who in OF_ITS_OWN else "images"))
    command = [python, "-c", COMMON + CODE[case], folder, str(rounds), argument, f"{argument}.{who}.npy"]
    one_thread = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=one_thread)
    if done.returncode:
        raise SystemExit(f"{done.stderr}benchmarks: {case} failed")
    return float(done.stdout.split()[-1])


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
