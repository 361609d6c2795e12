"""Texts to token ids on disk: winnow's Megatron-LM shards, and datatrove's tokeniser with its merger, one process each.

Both read the same Parquet file, take the same `tokenizer.json` (a byte-level BPE that is trained on a part of the
texts) and end each text with the same token. datatrove shuffles documents twice, once in each stage, which is how its
user comes to an order; winnow's rows come in theirs. The package tokenizers is told to use one thread.
"""

import sys
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from benchmarks.measuring.environments import peer_python
from benchmarks.measuring.reporting import Measured
from winnow.filters.extras import required_package

END = "<|endoftext|>"
ONE_THREAD = {"TOKENIZERS_PARALLELISM": "false", "RAYON_NUM_THREADS": "1"}
Run = Callable[[list[str], dict[str, str]], Measured]
"""Measures a command under these variables."""

DATATROVE = """
import sys
from datatrove.executor import LocalPipelineExecutor
from datatrove.pipeline.readers import ParquetReader
from datatrove.pipeline.tokens import DocumentTokenizer, DocumentTokenizerMerger

if __name__ == "__main__":
    texts, tokenizer, end, out = sys.argv[1:]
    folder, _, file = texts.rpartition("/")
    read = ParquetReader(folder, glob_pattern=file)
    write = DocumentTokenizer(out + "/parts", tokenizer, eos_token=end, seed=1)
    LocalPipelineExecutor([read, write], tasks=1, logging_dir=out + "/logs").run()
    merge = DocumentTokenizerMerger(out + "/parts", out + "/merged", "train", seed=1)
    LocalPipelineExecutor([merge], tasks=1, logging_dir=out + "/logs-merge").run()
"""

WINNOW = """
import sys
from pathlib import Path
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from winnow.pipelines.export.formats.megatron import FORMAT, MegatronConfig
from winnow.pipelines.export.formats.protocol import ShardName

def rows(texts):
    with pq.ParquetFile(texts) as parquet:
        first = 0
        for batch in parquet.iter_batches(4096, columns=["text"], use_threads=False):
            ids = np.arange(first, first + len(batch), dtype=">u8").tobytes()
            ids = pa.Array.from_buffers(pa.binary(8), len(batch), [None, pa.py_buffer(ids)])
            yield pa.RecordBatch.from_arrays([ids, batch["text"].cast(pa.large_string())], ["id", "text"])
            first += len(batch)

if __name__ == "__main__":
    texts, tokenizer, out = sys.argv[1:]
    made = FORMAT.write(MegatronConfig(tokenizer=tokenizer), Path(out), ShardName("train", 0, 1), rows(texts))
    print(made.facts["tokens"])
"""


def train_tokenizer(texts: Path, file: Path, vocabulary: int = 32_000, every: int = 8) -> None:
    """Train a byte-level BPE on every eighth text of a Parquet file."""
    package = required_package("the benchmark", "tokenizers", "tokens")
    pre, table = package.pre_tokenizers, pq.read_table(texts, columns=["text"])
    tokenizer = package.Tokenizer(package.models.BPE())
    tokenizer.pre_tokenizer = pre.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = package.decoders.ByteLevel()
    trainer = package.trainers.BpeTrainer(
        vocab_size=vocabulary,
        special_tokens=[END],
        initial_alphabet=pre.ByteLevel.alphabet(),
        show_progress=False,
    )
    rows = pa.array(range(0, len(table), every))
    tokenizer.train_from_iterator(pc.take(table["text"], rows).to_pylist(), trainer)
    tokenizer.save(str(file))


def by_winnow(run: Run, texts: Path, tokenizer: Path, out: Path) -> Measured:
    """The Megatron-LM format alone, without plan and exchange; the last line is the number of tokens."""
    out.mkdir()
    return run([sys.executable, "-c", WINNOW, str(texts), str(tokenizer), str(out)], ONE_THREAD)


def by_datatrove(run: Run, texts: Path, tokenizer: Path, out: Path) -> Measured:
    """Its tokeniser and its merger, one task."""
    python = str(peer_python("datatrove"))
    return run([python, "-c", DATATROVE, str(texts.absolute()), str(tokenizer), END, str(out)], ONE_THREAD)
