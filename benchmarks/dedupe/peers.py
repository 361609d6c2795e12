"""Peers that find near duplicates: from Parquet files to the rows that are taken to be one, each in its own Python.

All are given 14 bands of 8 rows and shingles of five words; the rest is as each does it by itself.

- `datatrove`: its four stages of MinHash, hashes of 64 bits, two workers, its tokenizer for English (the default) for
  all languages, clusters' numbers saved, what stays written as Parquet.
- `text_dedup`: its script for MinHash, two processes, hashes by xxh3, what stays saved by `datasets`.
- `datasketch`: the usual loop over MinHash and MinHashLSH, candidates united; `rensa`: the same over RMinHash and
  RMinHashLSH, candidates united where the LSH calls them similar (0.75). Neither cuts texts into words. The loop does:
  compatibility decomposition without case, words by a regular expression, and of scripts without spaces a character is
  a word. They write a number a row and no texts.

Duplodocus has to be compiled with Rust and brings no wheel, so it is not here.
"""

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow.parquet as pq

from benchmarks.dedupe.truth import BANDS, ROWS, THRESHOLD
from benchmarks.measuring.environments import peer_python
from benchmarks.measuring.reporting import Measured

Numbers = npt.NDArray[np.int64]
Run = Callable[[list[str], dict[str, str]], Measured]
"""Measures a command under these variables."""

DATATROVE = """
import sys
from datatrove.executor import LocalPipelineExecutor
from datatrove.pipeline.dedup.minhash import (
    MinhashConfig, MinhashDedupBuckets, MinhashDedupCluster, MinhashDedupFilter, MinhashDedupSignature,
)
from datatrove.pipeline.readers import ParquetReader
from datatrove.pipeline.writers import ParquetWriter
from datatrove.utils.hashing import HashConfig

if __name__ == "__main__":
    files, out, tasks = sys.argv[1], sys.argv[2], int(sys.argv[3])
    config = MinhashConfig(n_grams=5, num_buckets=BANDS, hashes_per_bucket=ROWS, hash_config=HashConfig(precision=64))
    def read():
        return ParquetReader(files, glob_pattern="*.parquet")
    stages = {
        "signatures": ([read(), MinhashDedupSignature(out + "/signatures", config=config)], tasks),
        "buckets": ([MinhashDedupBuckets(out + "/signatures", out + "/buckets", config=config)], BANDS),
        "clusters": ([MinhashDedupCluster(out + "/buckets", out + "/clusters", config, save_cluster_id=True)], 1),
        "filter": ([read(), MinhashDedupFilter(out + "/clusters"), ParquetWriter(out + "/kept")], tasks),
    }
    for name, (pipeline, many) in stages.items():
        logs = out + "/logs-" + name
        LocalPipelineExecutor(pipeline, tasks=many, workers=2, logging_dir=logs, skip_completed=False).run()
"""

LOOP = """
import re, sys, unicodedata
from pathlib import Path
import numpy as np
import pyarrow.parquet as pq
UNSPACED = "\\u0e00-\\u0eff\\u1000-\\u109f\\u1780-\\u17ff\\u2e80-\\u2fdf\\u3005-\\u3007\\u3041-\\u30ff"
UNSPACED += "\\u3400-\\u4dbf\\u4e00-\\ua4cf\\uf900-\\ufaff"
find_words = re.compile(f"[{UNSPACED}]|[^\\\\W{UNSPACED}]+").findall
def batches():
    for file in sorted(Path(sys.argv[1]).glob("*.parquet")):
        with pq.ParquetFile(file) as parquet:
            for batch in parquet.iter_batches(2048, columns=["text"], use_threads=False):
                yield batch["text"].to_pylist()
def shingles(text):
    normalize = unicodedata.normalize
    words = find_words(normalize("NFKD", normalize("NFKD", text).casefold()))
    return [" ".join(words[at : at + 5]) for at in range(max(len(words) - 4, 1))]
parents = []
def find(row):
    while parents[row] != row:
        parents[row] = row = parents[parents[row]]
    return row
def add(row, others):
    parents.append(row)
    for other in others:
        one, two = find(row), find(other)
        parents[max(one, two)] = min(one, two)
row = 0
"""

DATASKETCH = """
from datasketch import MinHash, MinHashLSH
lsh = MinHashLSH(num_perm=BANDS * ROWS, params=(BANDS, ROWS))
first = MinHash(num_perm=BANDS * ROWS, seed=1)
for texts in batches():
    for text in texts:
        made = MinHash(num_perm=BANDS * ROWS, seed=1, permutations=first.permutations, scheme=first.scheme)
        made.update_batch([shingle.encode() for shingle in shingles(text)])
        add(row, lsh.query(made))
        lsh.insert(row, made)
        row += 1
np.save(sys.argv[2], np.array([find(row) for row in range(len(parents))], np.int64))
"""

RENSA = """
from rensa import RMinHash, RMinHashLSH
lsh = RMinHashLSH(threshold=THRESHOLD, num_perm=BANDS * ROWS, num_bands=BANDS)
held = []
for texts in batches():
    for made in RMinHash.from_token_sets([shingles(text) for text in texts], num_perm=BANDS * ROWS, seed=1):
        add(row, [other for other in lsh.query(made) if lsh.is_similar(made, held[other])])
        lsh.insert(row, made)
        held.append(made)
        row += 1
np.save(sys.argv[2], np.array([find(row) for row in range(len(parents))], np.int64))
"""

TEXT_DEDUP_GROUPS = """
import pickle, sys
import numpy as np
with open(sys.argv[1], "rb") as file:
    groups = pickle.load(file)
found = np.arange(int(sys.argv[3]))
for row in list(groups.parent):
    found[row] = groups.find(row)
np.save(sys.argv[2], found)
"""


@dataclass(frozen=True, slots=True)
class Searched:
    """What a search took, and the number it gives to the rows that it takes to be one."""

    measured: Measured
    clusters: Numbers


def datatrove(run: Run, files: Path, folder: Path, rows: int) -> Searched:
    """Its four stages."""
    out, sizes = folder / "datatrove", _sizes(files)
    took = run([*_script("datatrove", folder, DATATROVE), str(files), str(out), str(len(sizes))], {})
    clusters = np.arange(rows)
    begin = 0
    for rank, size in enumerate(sizes):
        saved = out / "clusters" / f"{rank:06d}.clusters"
        if saved.exists():
            pairs = np.fromfile(saved, "<u4").reshape(-1, 2).astype(np.int64)
            clusters[begin + pairs[:, 0]] = rows + pairs[:, 1]
        begin += size
    return Searched(took, clusters)


def text_dedup(run: Run, files: Path, folder: Path, rows: int) -> Searched:
    """Its script, which leaves its union-find when asked to."""
    python, out = str(peer_python("text-dedup")), folder / "text-dedup"
    numbers = folder / "numbers.npy"
    options = {
        "path": "parquet",
        "data_files": f"{files}/*.parquet",
        "split": "train",
        "cache_dir": f"{folder}/cache",
        "output": str(out),
        "column": "text",
        "num_proc": "2",
        "num_perm": str(BANDS * ROWS),
        "b": str(BANDS),
        "r": str(ROWS),
        "ngram": "5",
        "hash_func": "xxh3",
    }
    given = [part for name, value in options.items() for part in (f"--{name}", value)]
    environment = {"HF_HOME": f"{folder}/home", "HF_DATASETS_DISABLE_PROGRESS_BARS": "1"}
    took = run([python, "-m", "text_dedup.minhash", *given, "--debug"], environment)
    run([*_script("text-dedup", folder, TEXT_DEDUP_GROUPS), str(out / "uf.pkl"), str(numbers), str(rows)], environment)
    return Searched(took, np.load(numbers))


def datasketch(run: Run, files: Path, folder: Path, _rows: int) -> Searched:
    """The loop."""
    return _loop(run, DATASKETCH, files, folder)


def rensa(run: Run, files: Path, folder: Path, _rows: int) -> Searched:
    """The loop."""
    return _loop(run, RENSA, files, folder)


PEERS = {"datatrove": datatrove, "text_dedup": text_dedup, "datasketch": datasketch, "rensa": rensa}


def search_by_peer(name: str, run: Run, files: Path, scratch: Path, rows: int) -> Searched:
    """What a peer finds in a folder of Parquet files; what it writes on the way is deleted."""
    folder = scratch / name
    folder.mkdir()
    try:
        return PEERS[name](run, files, folder, rows)
    finally:
        shutil.rmtree(folder)


def _loop(run: Run, code: str, files: Path, folder: Path) -> Searched:
    numbers = folder / "numbers.npy"
    took = run([*_script("minhash", folder, LOOP + code), str(files), str(numbers)], {})
    return Searched(took, np.load(numbers))


def _script(environment: str, folder: Path, code: str) -> list[str]:
    """The command that runs some code in a peer's Python; workers need a file to import."""
    script = folder / "script.py"
    for name, value in (("BANDS", BANDS), ("ROWS", ROWS), ("THRESHOLD", THRESHOLD)):
        code = code.replace(name, str(value))
    script.write_text(code)
    return [str(peer_python(environment)), str(script)]


def _sizes(files: Path) -> list[int]:
    return [pq.read_metadata(path).num_rows for path in sorted(files.glob("*.parquet"))]
