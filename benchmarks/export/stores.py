"""The store that exports are timed on: real passages of about 2 kB in 39 languages, all that the recipe asks for made.

Four sources of one half, a quarter and two eighths of the texts, with their languages, their personal data, their
lengths, a plan that gives each sample once, and its draw. What already finished is found by `winnow` itself.
"""

import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.dedupe.truth import corpus_files
from benchmarks.inputs.pages import CACHE
from benchmarks.inputs.planted import write_corpus
from benchmarks.measuring.reporting import Measured, measure
from winnow.schemas.records import FORMAT_VERSION

SHARES = {"web": 8, "forums": 4, "books": 2, "code": 2}  # sixteenths of the texts
VOCABULARY = 32_000
END = "<|endoftext|>"
_TRAINED_ON = 10_000  # texts
_ROW_GROUP = 8_192
_FILE_ROWS = 50_000

RECIPE = """
version: 1
store: {{path: {store}}}
sources:
{sources}
text: samples.text
annotate: [text.language, text.pii]
{edits}
mix: {{unit: bytes, max_epochs: 1}}
export:
{exports}
"""
EDITS = "edits: [text.pii]"


@dataclass(frozen=True, slots=True)
class Prepared:
    """A store whose mixture is drawn."""

    folder: Path
    samples: int
    tokenizer: Path

    @property
    def store(self) -> Path:
        """Its folder."""
        return self.folder / "store"

    def recipe(self, path: Path, exports: str, *, edited: bool = False, store: Path | None = None) -> Path:
        """Write a recipe of this store, or of a copy of it, to a path; `exports` are its lines."""
        sources = "\n".join(
            f'  {name}: {{root: {self.folder}/{name}, files: ["*.parquet"], class: {name}, key: id, '
            "columns: {text: text}}"
            for name in SHARES
        )
        edits = EDITS if edited else ""
        path.write_text(RECIPE.format(store=store or self.store, sources=sources, edits=edits, exports=exports))
        return path


def prepared_store(samples: int) -> Prepared:
    """The store of so many samples, with its plan and its draw: made once per store format, and brought up to date."""
    folder = (CACHE / f"export-{samples}").absolute()
    folder.mkdir(parents=True, exist_ok=True)
    prepared = Prepared(folder, samples, tokenizer_file(folder.parent))
    if not (folder / "cut").exists():
        cut_by_source(write_corpus(CACHE, samples), folder, samples)
        (folder / "cut").touch()
    stamp = folder / "format"
    if not stamp.exists() or stamp.read_text() != str(FORMAT_VERSION):
        shutil.rmtree(prepared.store, ignore_errors=True)
        stamp.write_text(str(FORMAT_VERSION))
    for edited, commands in ((False, ("ingest", "annotate", "mix")), (True, ("mix",))):
        recipe = prepared.recipe(folder / "recipe.yaml", "  - {parquet: {path: out}}", edited=edited)
        for command in commands:
            measure([sys.executable, "-m", "winnow", command, str(recipe)])
    return prepared


def winnow(command: str, recipe: Path, *more: str) -> Measured:
    """One command, with one worker."""
    return measure(pinned([sys.executable, "-m", "winnow", command, str(recipe), "--workers", "1", *more]))


def pinned(command: list[str]) -> list[str]:
    """The command on one core."""
    return ["taskset", "-c", "0", *command] if shutil.which("taskset") else command


def tokenizer_file(folder: Path) -> Path:
    """A byte-level BPE of `VOCABULARY` tokens, trained once on texts like those of the store."""
    file = folder / f"export-tokenizer-{VOCABULARY}.json"
    if not file.exists():
        import tokenizers

        trained = tokenizers.Tokenizer(tokenizers.models.BPE())
        trained.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
        trained.decoder = tokenizers.decoders.ByteLevel()
        trainer = tokenizers.trainers.BpeTrainer(
            vocab_size=VOCABULARY,
            special_tokens=[END],
            initial_alphabet=tokenizers.pre_tokenizers.ByteLevel.alphabet(),
            show_progress=False,
        )
        (first, *_) = corpus_files(write_corpus(CACHE, 2 * _TRAINED_ON))
        texts = pq.read_table(first, columns=["text"])["text"][:_TRAINED_ON]
        trained.train_from_iterator((one.as_py() for one in texts), trainer)
        unfinished = file.with_suffix(".unfinished")
        trained.save(str(unfinished))
        unfinished.rename(file)
    return file


def cut_by_source(corpus: Path, folder: Path, samples: int) -> None:
    """The ids and texts of a corpus as files of each source, in proportion to `SHARES`."""
    batches = (
        batch
        for file in corpus_files(corpus)
        for batch in pq.ParquetFile(file).iter_batches(_ROW_GROUP, columns=["id", "text"])
    )
    rest = pa.Table.from_batches([next(batches)])
    total, given = sum(SHARES.values()), 0
    for number, (name, share) in enumerate(SHARES.items()):
        (folder / name).mkdir(parents=True, exist_ok=True)
        left = samples - given if number == len(SHARES) - 1 else samples * share // total
        given += left
        file = 0
        while left:
            size = min(left, _FILE_ROWS)
            while rest.num_rows < size:
                rest = pa.concat_tables([rest, pa.Table.from_batches([next(batches)])])
            part, rest = rest.slice(0, size), rest.slice(size)
            path = folder / name / f"part-{file:05d}.parquet"
            pq.write_table(part, path, compression="zstd", row_group_size=_ROW_GROUP)
            left -= part.num_rows
            file += 1
