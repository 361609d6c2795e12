"""Vectors of texts by a static model: `text.embedding` against a bare loop, against WordLlama and against model2vec.

    python -m benchmarks.semantic.vectors [--quick] [--json]

The bare loop is what a static model is: the package tokenizers, the mean of the tokens' vectors in NumPy, divided by
its length, without cutting texts, statuses, rounding or Arrow columns. `wordllama` and `model2vec` are these packages'
own `embed` and `encode` over the same weights. Texts are passages of four verses in English (`quality`), over and over;
one core each (pinned), per CPU-second, start-up included.
"""

import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.inputs.pages import CACHE
from benchmarks.measuring.environments import peer_python, require_assets
from benchmarks.measuring.reporting import Amounts, Measured, benchmark_arguments, compared, measure, show, timed
from benchmarks.semantic.quality import BIBLES, bible, pairs_of
from winnow.filters.text.embedding import TOKENIZER, WORDLLAMA
from winnow.pipelines.assets import lookup

HELD = 14_000  # texts of the file
MANY, QUICK, SMALL = 140_000, 28_000, 1_000
RUNS = 3
FLOORS = {"bare loop": 0.9}

TEXTS = """
import os, sys
os.environ["TOKENIZERS_PARALLELISM"] = "false"
import pyarrow.parquet as pq
file, many, weights, tokenizer = sys.argv[1], int(sys.argv[2]), sys.argv[3], sys.argv[4]
def batches():
    left = many
    while left > 0:
        for batch in pq.ParquetFile(file).iter_batches(1024, use_threads=False):
            yield batch.slice(0, min(left, len(batch)))
            left -= len(batch)
            if left <= 0:
                return
"""
WINNOW = """
import pyarrow as pa
from winnow.filters.text.embedding import OPERATOR, TextEmbeddingConfig
class Files:
    def path(self, name):
        return {"wordllama": weights, "wordllama.tokenizer": tokenizer}[name]
kernel = OPERATOR.load(TextEmbeddingConfig(languages=("any",)), Files())
print(sum(len(kernel(batch)["vector"].flatten()) for batch in batches()))
"""
BARE = """
import numpy as np
from safetensors.numpy import load_file
from tokenizers import Tokenizer
table = load_file(weights)["embedding.weight"].astype(np.float32)
made = Tokenizer.from_file(tokenizer)
numbers = 0
for batch in batches():
    for encoding in made.encode_batch_fast(batch["text"].to_pylist(), add_special_tokens=False):
        mean = table[np.array(encoding.ids)].mean(axis=0)
        numbers += len(mean / np.linalg.norm(mean))
print(numbers)
"""
WORDLLAMA_ITSELF = """
from safetensors.numpy import load_file
from tokenizers import Tokenizer
from wordllama.inference import WordLlamaInference
made = WordLlamaInference(load_file(weights)["embedding.weight"], Tokenizer.from_file(tokenizer))
print(sum(made.embed(batch["text"].to_pylist(), norm=True).size for batch in batches()))
"""
MODEL2VEC = """
import numpy as np
from model2vec import StaticModel
from safetensors.numpy import load_file
from tokenizers import Tokenizer
table = load_file(weights)["embedding.weight"].astype(np.float32)
made = StaticModel(table, Tokenizer.from_file(tokenizer), normalize=True, max_length=2048)
print(sum(made.encode(batch["text"].to_pylist()).size for batch in batches()))
"""


def main() -> int:
    """Ours and the three others."""
    arguments = benchmark_arguments(__doc__ or "").parse_args()
    require_assets((WORDLLAMA, TOKENIZER, BIBLES))
    amounts = Amounts(QUICK if arguments.quick else MANY, MANY, SMALL)
    rounds = 1 if arguments.quick else RUNS
    file, python = _texts(), str(peer_python("text-vectors"))
    _run(file, sys.executable, WINNOW)(SMALL)
    ours = timed("winnow", "texts", amounts, _run(file, sys.executable, WINNOW), rounds)
    theirs = {
        name: timed(name, "texts", amounts, _run(file, python, code), rounds)
        for name, code in (("bare loop", BARE), ("wordllama", WORDLLAMA_ITSELF), ("model2vec", MODEL2VEC))
    }
    rows = [ours, *theirs.values()]
    report = compared("vectors", "texts/CPU-s", ours, theirs, floors=FLOORS, rows=rows, quick=arguments.quick)
    return show(report, arguments.json)


def _texts() -> Path:
    file = (CACHE / "verses.parquet").absolute()
    if not file.exists():
        with tempfile.TemporaryDirectory() as name:
            found = pairs_of(bible("kjv", Path(name)), bible("asv", Path(name)), 4, HELD // 2)
        file.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.table({"text": [text for pair in found for text in pair]}), file)
    return file


def _run(file: Path, python: str, code: str) -> Callable[[int], Measured]:
    pinned = [*(("taskset", "-c", "0") if shutil.which("taskset") else ()), python, "-c", TEXTS + code, str(file)]

    def run(texts: int) -> Measured:
        command = [*pinned, str(texts), lookup(WORDLLAMA.name), lookup(TOKENIZER.name)]
        return measure(command, {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"})

    return run


if __name__ == "__main__":
    sys.exit(main())
