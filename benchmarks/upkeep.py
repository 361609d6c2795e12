"""What keeps a store in order, by one worker and by two: `audit`, and `gc --purge` after `forget`.

    python -m benchmarks.upkeep [--quick]

A store of ten copies of 50,000 real documents, each copy a source file with keys of its own, with the layer
`text.length`. One row of a thousand is forgotten, so that every shard has some. Each command works on a copy of the
store. The ratio is the time of two workers by that of one, and means little where the cores do other work, too.
`--quick` has two copies.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import pyarrow.parquet as pq

from benchmarks.inputs.documents import cached_documents
from benchmarks.inputs.pages import CACHE
from benchmarks.measuring.reporting import Measured, measure

DOCUMENTS, COPIES, QUICK_COPIES = 50_000, 10, 2
FORGOTTEN = 1_000  # one row of so many
WORKERS = (1, 2)
MIB = 1 << 20

RECIPE = """
version: 1
store: {{path: {store}}}
sources:
  documents: {{root: {root}, files: ["*.parquet"], class: web, key: id, columns: {{text: text}}}}
annotate: [text.length]
"""


@dataclass(frozen=True, slots=True)
class Run:
    """One command."""

    command: str
    workers: int
    took: Measured


def _made(folder: Path, copies: int) -> Path:
    """A recipe with a store of so many copies, some rows of which are forgotten; its bytes are in `store/samples`."""
    root = folder / "documents"
    root.mkdir(parents=True)
    for number in range(copies):
        os.link(cached_documents(DOCUMENTS), root / f"{number:02d}.parquet")
    recipe = folder / "recipe.yaml"
    recipe.write_text(RECIPE.format(store="store", root="documents"))
    for verb in ("ingest", "annotate"):
        measure([*_winnow(verb), str(recipe), "--quiet"])
    ids = [
        identity
        for shard in sorted((folder / "store" / "samples").glob("*.parquet"))
        for identity in pq.read_table(shard, columns=["id"])["id"].to_pylist()[::FORGOTTEN]
    ]
    selectors = folder / "forgotten.txt"
    selectors.write_text("".join(f"id {identity.hex()}\n" for identity in ids))
    measure([*_winnow("forget"), str(recipe), "--file", str(selectors)])
    return recipe


def _winnow(verb: str) -> list[str]:
    return [sys.executable, "-m", "winnow", verb]


def _run(made: Path, verb: str, options: tuple[str, ...], workers: int) -> Run:
    with tempfile.TemporaryDirectory(dir=made.parent.parent) as scratch:
        folder = Path(scratch) / "copy"
        subprocess.run(["cp", "-al", str(made.parent), str(folder)], check=True)  # objects are replaced, never changed
        command = [*_winnow(verb), str(folder / made.name), *options, "--workers", str(workers)]
        return Run(" ".join([verb, *options]), workers, measure(command))


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a small input")
    copies = QUICK_COPIES if parser.parse_args().quick else COPIES
    CACHE.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=CACHE) as scratch:
        made = _made(Path(scratch).absolute() / "made", copies)
        samples = sum(path.stat().st_size for path in (made.parent / "store" / "samples").iterdir())
        print(f"{copies * DOCUMENTS:,} documents, {samples / MIB:,.0f} MiB of samples")
        print(f"{'command':<16}{'workers':>8}{'wall s':>9}{'CPU s':>9}{'peak GiB':>10}")
        runs = []
        for verb, more in (("audit", ()), ("gc", ("--purge",))):
            for workers in WORKERS:
                run = _run(made, verb, more, workers)
                took = run.took
                print(
                    f"{run.command:<16}{workers:>8}{took.wall_seconds:>9.1f}{took.cpu_seconds:>9.1f}"
                    f"{took.peak_bytes / (1 << 30):>10.2f}",
                    flush=True,
                )
                runs.append(run)
        shutil.rmtree(made.parent)
    for one, two in zip(runs[::2], runs[1::2], strict=True):
        print(f"{one.command}: {two.took.wall_seconds / one.took.wall_seconds:.2f} of the time of one worker by two")
    return 0


if __name__ == "__main__":
    sys.exit(main())
