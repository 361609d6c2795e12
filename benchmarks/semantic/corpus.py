"""Made-up texts on topics, some with a paraphrase: each topic has words of its own, and a paraphrase some other ones.

The words are tokens of WordLlama's, so that vectors are spread as those of English texts are. The texts say nothing:
they are for measuring time and memory, not quality.
"""

import shutil
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from tokenizers import Tokenizer

from benchmarks.inputs.pages import CACHE
from benchmarks.measuring.environments import require_assets
from winnow.filters.text.embedding import TOKENIZER, WORDLLAMA
from winnow.pipelines.assets import lookup

WORDS: Final = 40  # of a text
OF_TOPIC: Final = 80  # words that texts on a topic are made of
ROWS_OF_TOPIC: Final = 50
CHANGED: Final = 3  # words of a paraphrase that are other ones
SHARE: Final = 0.1  # of the texts that are paraphrases
ROWS_OF_FILE: Final = 50_000


def words() -> list[str]:
    """English words that are one token each."""
    require_assets((WORDLLAMA, TOKENIZER))
    vocabulary = Tokenizer.from_file(lookup(TOKENIZER.name)).get_vocab()
    found = sorted(token[1:] for token in vocabulary if token[:1] == "▁" and len(token) > 4)
    return [word for word in found if word.isascii() and word.isalpha() and word.islower()]


def texts_of(rows: int, known: list[str], seed: int) -> list[str]:
    """So many texts, the same for the same seed."""
    drawn = np.random.default_rng(seed)
    topics = drawn.integers(0, len(known), (max(rows // ROWS_OF_TOPIC, 1), OF_TOPIC))
    of_rows = topics[drawn.integers(0, len(topics), rows)]
    chosen = np.take_along_axis(of_rows, drawn.integers(0, OF_TOPIC, (rows, WORDS)), axis=1)
    copies = np.flatnonzero(drawn.random(rows - 1) < SHARE) + 1
    chosen[copies] = chosen[copies - 1]
    for column in range(CHANGED):
        chosen[copies, column] = drawn.integers(0, len(known), len(copies))
    table = np.array(known, object)
    return [" ".join(line) for line in table[chosen]]


def cached_corpus(rows: int) -> Path:
    """A folder of Parquet files with ids and texts, made once."""
    folder = (CACHE / f"meanings-{rows}").absolute()
    if not (folder / "done").exists():
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        known = words()
        for number, begin in enumerate(range(0, rows, ROWS_OF_FILE)):
            size = min(ROWS_OF_FILE, rows - begin)
            ids = [str(row) for row in range(begin, begin + size)]
            table = pa.table({"id": ids, "text": texts_of(size, known, number)})
            pq.write_table(table, folder / f"part-{number:05d}.parquet", compression="zstd")
        (folder / "done").write_text("")
    return folder
