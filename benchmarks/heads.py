"""How much quality heads cost: four of them over a text's vector, beside the encoder that makes the vector.

The bare encoder is the kernel of `text.embedding` with WordLlama, the quickest that winnow knows: beside any other,
heads cost less. Both are kernels in one thread on the same texts; slices of both take turns, so that a busy machine
slows both alike. Needs the extra `embeddings`, and WordLlama's two assets.
"""

import os
import statistics
import sys
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from benchmarks.inputs.documents import cached_documents
from benchmarks.measuring.environments import require_assets
from benchmarks.measuring.reporting import Report, benchmark_arguments, show, thread_seconds
from winnow.filters.models.heads.curves import POOLED, Curve
from winnow.filters.models.heads.head import Head, head_bytes
from winnow.filters.operators import TEXT
from winnow.filters.text import embedding, head
from winnow.pipelines.assets import AssetFiles
from winnow.pipelines.processes.identity import THREAD_LIMITS, limit_threads

BARE = "the bare encoder"
DOCUMENTS = 50_000
WIDTH = 256  # WordLlama's
HIDDEN = (0, 0, 256, 1000)
"""Of each head: two linear ones, one as FineWeb2-HQ's, one as JQL's."""


def main() -> int:
    """Print both rates; the exit status says whether the promise was kept."""
    options = benchmark_arguments(__doc__ or "").parse_args()
    if not any(name in os.environ for name in THREAD_LIMITS):  # numpy has read them by now
        limit_threads()
        os.execv(sys.executable, [sys.executable, "-m", "benchmarks.heads", *sys.argv[1:]])
    require_assets(embedding.OPERATOR.declares)
    rows, turns = (1_000, 5) if options.quick else (5_000, 7)
    status = 0
    with tempfile.TemporaryDirectory() as folder:
        for hidden in ((0,), HIDDEN):
            report = compared(Path(folder), hidden, rows, turns, quick=options.quick)
            print(f"{report.name}: {report.ours:,.0f} {report.unit}, alone {report.peers[BARE]:,.0f}")
            status = max(status, show(report, options.json))
    return status


def compared(folder: Path, hidden: tuple[int, ...], rows: int, turns: int, *, quick: bool) -> Report:
    """Embedding with heads of these hidden layers, beside embedding alone."""
    texts = _texts(rows)
    encode = embedding.OPERATOR.load(embedding.TextEmbeddingConfig(languages=("any",)), AssetFiles())
    files = tuple(head.HeadFile(f"head{at}", _head(folder, at, wide)) for at, wide in enumerate(hidden))
    measure = head.OPERATOR.load(head.HeadConfig(files, language=""), AssetFiles())
    vectors = encode(texts)

    def with_heads() -> None:
        measure(pa.RecordBatch.from_arrays([encode(texts).column("vector")], ["text.embedding.vector"]))

    with_heads()
    seconds = [(thread_seconds(with_heads), thread_seconds(lambda: encode(texts))) for _ in range(turns)]
    ours, theirs = (statistics.median(one) for one in zip(*seconds, strict=True))
    known = vectors.num_rows
    read = pa.RecordBatch.from_arrays([vectors.column("vector")], ["text.embedding.vector"])
    alone = statistics.median(thread_seconds(lambda: measure(read)) for _ in range(turns))
    print(f"{len(hidden)} heads alone: {alone / known * 1e6:.1f} µs a text")
    name = f"{len(hidden)} head{'s' * (len(hidden) > 1)} over {WIDTH} numbers"
    return Report(name, "texts/s", known / ours, peers={BARE: known / theirs}, floors={BARE: 0.9}, quick=quick)


def _texts(rows: int) -> pa.RecordBatch:
    table = pq.read_table(cached_documents(DOCUMENTS), columns=["language", "text"])
    english = table.filter(pc.equal(table["language"], "en"))["text"].combine_chunks()
    return pa.RecordBatch.from_arrays([english.slice(0, rows)], [TEXT])


def _head(folder: Path, number: int, hidden: int) -> str:
    """A head of random weights: what it says takes as long as what a trained one says."""
    noise = np.random.default_rng(number)
    shapes = [(hidden, WIDTH), (1, hidden)] if hidden else [(1, WIDTH)]
    layers = [(noise.normal(size=shape), noise.normal(size=shape[0])) for shape in shapes]
    curve = Curve(np.arange(100.0), np.linspace(0, 5, 100))
    path = folder / f"{number}-{hidden}.safetensors"
    path.write_bytes(head_bytes(Head(layers, {POOLED: curve}, None)))
    return str(path)


if __name__ == "__main__":
    sys.exit(main())
