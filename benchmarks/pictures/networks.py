"""Networks on pictures: winnow's operators against a bare loop of ONNX Runtime.

    python -m benchmarks.pictures.networks [--quick] [--json]

Photographs of 640 pixels, the same files for both; each case in a process of its own, one thread, CPU seconds of work
alone. The bare loop decodes each file with simplejpeg and runs the same network on tensors that were made before: it
neither resizes, nor reads the maps that networks give, nor checks anything. winnow does all of it, into Arrow columns.
"""

import subprocess
import sys

import orjson

from benchmarks.inputs.photographs import cached_photographs
from benchmarks.measuring.environments import peer_node, peer_python, require_assets
from benchmarks.measuring.reporting import QUICK_TOLERANCE, benchmark_arguments, machine
from winnow.filters.operators import find_operator

PICTURES, QUICK_PICTURES = 60, 16
ROUNDS = 3
FLOOR = 0.85
OPERATORS = ("embedding", "faces", "nsfw", "text_area")

COMMON = """
import sys, time
from pathlib import Path
import simplejpeg
from winnow.filters.image.decode.stills import DecodeLimits, decode, sized
from winnow.filters.operators import find_operator
from winnow.pipelines.assets import AssetFiles
from winnow.filters.image.decode.batches import batch_of
operator = find_operator(f"image.{sys.argv[1]}")
config = operator.config()
side = operator.side(config)
files = [path.read_bytes() for path in sorted(Path(sys.argv[2]).glob("*.jpg"))]
limits = DecodeLimits()
def batch(some):
    stills = [sized(decode(file, "image/jpeg", limits, side), side) for file in some]
    return batch_of(["image/jpeg"] * len(some), [len(file) for file in some], [1] * len(some), stills)
def median(call, rounds=int(sys.argv[3])):
    taken = []
    for _ in range(rounds):
        start = time.process_time()
        call()
        taken.append(time.process_time() - start)
    return sorted(taken)[len(taken) // 2]
"""
WINNOW = """
kernel = operator.load(config, AssetFiles())
kernel(batch(files[:2]))
print(median(lambda: [kernel(batch(files[at : at + 16])) for at in range(0, len(files), 16)]))
"""
BARE = """
import onnxruntime
class Kept:
    def __init__(self, session):
        self.session, self.given = session, []
    def __getattr__(self, name):
        return getattr(self.session, name)
    def run(self, names, given):
        self.given.append((names, given))
        return self.session.run(names, given)
kernel = operator.load(config, AssetFiles())
network = kernel.keywords["network"]
network._session = kept = Kept(network._session)
for file in files:
    kernel(batch([file]))
options = onnxruntime.SessionOptions()
options.intra_op_num_threads = options.inter_op_num_threads = 1
bare = onnxruntime.InferenceSession(AssetFiles().path(operator.assets(config)[0]), options)
def loop():
    for file, (names, given) in zip(files, kept.given):
        simplejpeg.decode_jpeg(file, "RGB")
        bare.run(names, given)
bare.run(*kept.given[0])
print(median(loop))
"""


def main() -> int:
    """Every operator."""
    arguments = benchmark_arguments(__doc__ or "").parse_args()
    count = QUICK_PICTURES if arguments.quick else PICTURES
    rounds = 1 if arguments.quick else ROUNDS
    peer_python("picture-networks")  # the tests' oracles, too
    peer_node("nsfwjs")
    folder = cached_photographs(count, "picture-networks")
    ratios = {}
    print(f"{'operator':<18}{'ours, pictures/CPU-s':>22}{'bare':>8}{'ratio':>8}{'promised':>10}")
    for name in OPERATORS:
        require_assets(find_operator(f"image.{name}").declares)
        ours, bare = (_seconds(code, name, str(folder), rounds) for code in (WINNOW, BARE))
        ratios[f"{name}, bare"] = round(bare / ours, 3)
        print(f"image.{name:<12}{count / ours:>22.1f}{count / bare:>8.1f}{bare / ours:>8.2f}{FLOOR:>10g}")
    if arguments.json:
        print(orjson.dumps({"name": "networks", "ratios": ratios, "machine": machine()}).decode())
    least = 1 - QUICK_TOLERANCE if arguments.quick else 1
    return 0 if all(ratio >= least * FLOOR for ratio in ratios.values()) else 1


def _seconds(code: str, name: str, folder: str, rounds: int) -> float:
    command = [sys.executable, "-c", COMMON + code, name, folder, str(rounds)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{done.stderr}benchmarks: image.{name} failed")
    return float(done.stdout.split()[-1])


if __name__ == "__main__":
    sys.exit(main())
