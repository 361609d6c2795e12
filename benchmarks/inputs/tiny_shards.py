"""Stores of thousands of tiny shards: what a command's bookkeeping is measured on.

winnow itself makes a seed of a few shards, layers, mixture and export included; a store of any size has copies of
them (`benchmarks.inputs.multiplied`). The first `winnow run` publishes and exports it.
"""

import gzip
import os
import shutil
import sys
from pathlib import Path

from benchmarks.inputs.multiplied import multiply, writers_stamp
from benchmarks.inputs.pages import CACHE, warc_record
from benchmarks.measuring.reporting import measure
from winnow.schemas.identity import sample_id

SEEDS = 8
ROWS = 4  # of a shard
RECIPE = """
version: 1
store: {{path: {store}, task_bytes: {task_bytes}}}
sources:
  crawl: {{root: {root}, files: ["*.warc.gz"], class: web}}
extract: {{main: {{}}}}
text: extract.main.text
annotate: [text.language, text.gopher, text.minhash{more}]
keep:
  - {{drop: text.gopher.words < 3, reason: short, when_null: drop}}
{section}
mix: {{unit: tokens, tokenizer: bytes{mixture}}}
export: [{{jsonl: {{path: {out}}}}}]
"""

SENTENCES = (
    "The river rises in the hills to the north and meets the sea below the old harbour.",
    "Nobody had counted the boats before the storm, and nobody could count them after it.",
    "Bread was baked on the square every morning except when the wind came from the east.",
    "A ferry leaves at seven, and the last one returns shortly before the lamps are lit.",
)


def write_recipe(
    folder: Path, store: str, out: Path, crawl: Path, more: str = "", section: str = "", mixture: str = ""
) -> Path:
    """A recipe for a store of tiny shards, with further operators, a further section, and settings of the mixture."""
    recipe = folder / "recipe.yaml"
    recipe.unlink(missing_ok=True)  # in a copied folder it may be a link to that of the original
    task_bytes = max(file.stat().st_size for file in _seed_files())
    named = {"store": store, "root": crawl, "out": out, "task_bytes": task_bytes}
    recipe.write_text(RECIPE.format(**named, more=more, section=section, mixture=mixture))
    return recipe


def cached_tiny_shards(shards: int) -> Path:
    """A folder with a store of so many shards, its `crawl` and its export `out`; made anew if the format changes."""
    seed = _cached_seed()
    folder = (CACHE / f"tiny-shards-{shards}").absolute()
    stamp = folder / "made-for"
    wanted = (seed / "made-for").read_text()
    if not stamp.exists() or stamp.read_text() != wanted:
        shutil.rmtree(folder, ignore_errors=True)
        (folder / "crawl").mkdir(parents=True)
        sources = _seed_files()
        for number in range(shards):
            os.link(sources[number % SEEDS], folder / "crawl" / f"{number:06d}.warc.gz")
        recipe = write_recipe(folder, str(folder / "store"), folder / "out", folder / "crawl")
        multiply(seed / "store", folder / "store", recipe)
        measure([sys.executable, "-m", "winnow", "run", str(recipe)])
        stamp.write_text(wanted)
    return folder


def last_id(shards: int) -> str:
    """The id of the first sample of the last shard."""
    number = shards - 1
    return sample_id("crawl", f"{number:06d}.warc.gz", f"urn:uuid:{number % SEEDS * ROWS:032x}").hex()


def _seed_files() -> list[Path]:
    """The archives of the seed, made once."""
    folder = (CACHE / "tiny-shards-seed" / "crawl").absolute()
    if not folder.exists():
        unfinished = folder.with_suffix(".unfinished")
        unfinished.mkdir(parents=True, exist_ok=True)
        for number in range(SEEDS):
            records = [_page(number, row) for row in range(ROWS)]
            content = b"".join(gzip.compress(record, mtime=0) for record in records)
            (unfinished / f"{number:06d}.warc.gz").write_bytes(content)
        unfinished.rename(folder)
    return sorted(folder.glob("*.warc.gz"))


def _page(number: int, row: int) -> bytes:
    day = number * ROWS + row
    lines = [f"<p>{SENTENCES[(row + line) % len(SENTENCES)]} It was day {day}.</p>" for line in range(6)]
    html = f"<html><head><title>Day {row}</title></head><body>{''.join(lines)}</body></html>".encode()
    body = b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n\r\n" + html
    return warc_record(b"response", day, b"https://day.example/%d" % day, body)


def _cached_seed() -> Path:
    """A store of the seed's shards that winnow made, mixture and export included."""
    files = _seed_files()
    folder = files[0].parent.parent
    stamp = folder / "made-for"
    recipe = write_recipe(folder, str(folder / "store"), folder / "out", folder / "crawl")
    wanted = writers_stamp(Path(__file__))
    if not stamp.exists() or stamp.read_text() != wanted:
        for name in ("store", "out"):
            shutil.rmtree(folder / name, ignore_errors=True)
        measure([sys.executable, "-m", "winnow", "run", str(recipe)])
        stamp.write_text(wanted)
    return folder
