"""Signatures: from raw texts to 112 hashes of shingles of five words each, against rensa and datasketch.

    python -m benchmarks.dedupe.minhash [--quick] [--json]

Both peers are fed by the same Python, which makes the normal form (compatibility decomposition without case, words by
a regular expression) and the shingles as fast as Python does; rensa is given text, datasketch bytes, each hashes them
by its own default. One core each (pinned), start-up included, the same documents of about 2.4 kB in thirty languages,
ours many times over. Rates are per CPU-second, median of three; `--quick` goes over them less often and says those of
the full run (`benchmarks.measuring.reporting`).
"""

import shutil
import sys
from collections.abc import Callable

from benchmarks.inputs.documents import cached_documents
from benchmarks.measuring.environments import peer_python
from benchmarks.measuring.reporting import Amounts, Measured, benchmark_arguments, compared, measure, show, timed

MANY, TIMES, FEW = 50_000, 10, 5_000
QUICK_TIMES = 4
RUNS = 3
SMALL = 200  # documents: hardly more than start-up
FLOORS = {"rensa": 6.0, "datasketch": 20.0}

WINNOW = """
import sys
import pyarrow.parquet as pq
from winnow.filters.duplicates.signatures import Scheme, sign
file, times = sys.argv[1], int(sys.argv[2])
found = 0
for _ in range(times):
    with pq.ParquetFile(file) as parquet:
        for batch in parquet.iter_batches(2048, columns=["text"], use_threads=False):
            found += int(sign(batch.column("text"), Scheme()).shingles.sum())
print(found)
"""

SHINGLES = """
import re, sys, unicodedata
import pyarrow.parquet as pq
find_words = re.compile(r"\\w+").findall
def texts(file):
    with pq.ParquetFile(file) as parquet:
        for batch in parquet.iter_batches(2048, columns=["text"], use_threads=False):
            yield from batch.column("text").to_pylist()
def shingles(text):
    normalize = unicodedata.normalize
    words = find_words(normalize("NFKD", normalize("NFKD", text).casefold()))
    return [" ".join(words[at : at + 5]) for at in range(max(len(words) - 4, 1))]
"""

RENSA = """
from rensa import RMinHash
found = 0
for text in texts(sys.argv[1]):
    made = RMinHash(num_perm=112, seed=1)
    made.update(shingles(text))
    found += len(made.digest())
print(found)
"""

DATASKETCH = """
from datasketch import MinHash
first = MinHash(num_perm=112, seed=1)
found = 0
for text in texts(sys.argv[1]):
    made = MinHash(num_perm=112, seed=1, permutations=first.permutations, scheme=first.scheme)
    made.update_batch([shingle.encode() for shingle in shingles(text)])
    found += len(made.hashvalues)
print(found)
"""


def main() -> int:
    """Ours and both peers."""
    arguments = benchmark_arguments(__doc__ or "").parse_args()
    times = QUICK_TIMES if arguments.quick else TIMES
    many, few = Amounts(times * MANY, TIMES * MANY, SMALL), Amounts(FEW, FEW, SMALL)
    python = str(peer_python("minhash"))
    _run(sys.executable, WINNOW)(SMALL)  # what is compiled, is compiled once a machine
    ours = timed("winnow", "documents", many, _run(sys.executable, WINNOW), RUNS)
    theirs = {
        name: timed(name, "documents", few, _run(python, SHINGLES + code), RUNS)
        for name, code in (("rensa", RENSA), ("datasketch", DATASKETCH))
    }
    rows = [ours, *theirs.values()]
    quick = arguments.quick
    report = compared("minhash", "documents/CPU-s", ours, theirs, floors=FLOORS, rows=rows, quick=quick)
    return show(report, arguments.json)


def _run(python: str, code: str) -> Callable[[int], Measured]:
    pinned = [*(("taskset", "-c", "0") if shutil.which("taskset") else ()), python, "-c", code]

    def run(documents: int) -> Measured:
        """Over a file of at most `MANY`, as often as it takes."""
        held = min(documents, MANY)
        command = [*pinned, str(cached_documents(held)), str(documents // held)]
        return measure(command, {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"})

    return run


if __name__ == "__main__":
    sys.exit(main())
