"""Small stores with a recipe that scores them: clean and broken texts, and texts to trust."""

import json
import os
import random
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from rich.console import Console

from winnow.pipelines.binding.bound_recipe import bind
from winnow.runners.engines.engine import Engine
from winnow.runners.stages import store_stages as stages
from winnow.runners.stages.publishing import Outcome
from winnow.runners.stages.scoring import score
from winnow.schemas.recipe import Recipe, load_recipe

ONE = Engine("local", 1)
CLEAN, BROKEN = 60, 30

RECIPE = """
version: 1
store: {{path: store, seed: 7, shard_rows: 32}}
sources:
  web: {{root: web, files: ["*.jsonl"], class: web, key: id}}
  books: {{root: books, files: ["*.jsonl"], class: public, key: id}}
annotate: [text.length]
score:
  mimic:
    task: next_byte
    buckets: 1024
{score}
{more}
"""
TRAINED = """
    reference: {train_on: "samples.source.name = 'books'", training: {epochs: 3, learning_rate: 0.05, batch: 8}}
    trajectory: {checkpoints: 2, training: {epochs: 1, learning_rate: 0.02, batch: 8}}
"""

WORDS = [
    "the",
    "river",
    "runs",
    "past",
    "old",
    "stone",
    "houses",
    "while",
    "people",
    "walk",
    "slowly",
    "home",
    "and",
    "talk",
    "about",
    "bread",
    "and",
    "rain",
]


def text_of(number: int) -> str:
    chance = random.Random(number)
    return " ".join(chance.choice(WORDS) for _ in range(30)).capitalize() + "."


def broken(text: str, number: int) -> str:
    letters = list(text)
    random.Random(number).shuffle(letters)
    return "".join(letters)


CLEAN_TEXTS = {text_of(number) for number in range(CLEAN)}


def make_store(folder: Path) -> None:
    """Clean and broken texts, and texts to trust; nothing is scored yet."""
    (folder / "web").mkdir()
    (folder / "books").mkdir()
    rows = [{"id": f"clean-{n}", "text": text_of(n)} for n in range(CLEAN)]
    rows += [{"id": f"broken-{n}", "text": broken(text_of(1000 + n), n)} for n in range(BROKEN)]
    (folder / "web" / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    books = [{"id": f"book-{n}", "text": text_of(5000 + n)} for n in range(40)]
    (folder / "books" / "b.jsonl").write_text("".join(json.dumps(row) + "\n" for row in books))
    with open(os.devnull, "w") as silent:
        stages.run_all(bind(write(folder)), ONE, Console(file=silent))


def write(folder: Path, score: str = TRAINED, more: str = "") -> Recipe:
    (folder / "recipe.yaml").write_text(RECIPE.format(score=score, more=more))
    return load_recipe(folder / "recipe.yaml")


def scored(recipe: Recipe, engine: Engine = ONE) -> Outcome:
    with open(os.devnull, "w") as silent:
        return score(bind(recipe), engine, Console(file=silent))


def table(outcome: Outcome, layer: str) -> pa.Table:
    store = outcome.store
    rows = sorted(store.manifest(outcome.generation, layer), key=lambda row: row.shard)
    return pa.concat_tables([pq.read_table(Path(store.root) / row.object) for row in rows])


def objects(outcome: Outcome, layer: str) -> list[str]:
    return sorted(row.object for row in outcome.store.manifest(outcome.generation, layer))
