"""`winnow score` says how well each measure finds labels that it exchanged itself."""

import io
import json
import os
import random
import re
from pathlib import Path

from rich.console import Console

from tests.runners.scores.stores import ONE, text_of
from winnow.pipelines.binding.bound_recipe import BoundRecipe, bind
from winnow.runners.stages.scoring import score
from winnow.runners.stages.store_stages import ingest
from winnow.schemas.recipe import load_recipe

RECIPE = """
version: 1
store: {{path: {name}-store, seed: 7, shard_rows: {rows}}}
sources:
  web: {{root: {name}, files: ["web.jsonl"], class: web, key: id}}
  books: {{root: {name}, files: ["books.jsonl"], class: public, key: id}}
score:
  labels:
    task: linear_head
    label: samples.metadata
    label_key: kind
    labels: [river, forest]
    where: samples.source.name = 'web'
    reference: {{train_on: "samples.source.name = 'books'", training: {{epochs: 4, learning_rate: 0.05, batch: 8}}}}
    trajectory: {{checkpoints: 2, training: {{epochs: 1, learning_rate: 0.02, batch: 8}}}}
"""
NUMBER = r"([\d.]+) \(([\d.]+) to ([\d.]+)\)"


def labelled(folder: Path, name: str, rows: int, web: int, *, shuffled: bool) -> BoundRecipe:
    """The recipe of a new store of texts of two kinds; rows are sorted by their kind, or shuffled."""
    (folder / name).mkdir()
    for file, count in (("web", web), ("books", 60)):
        made = []
        for number in range(count):
            kind = "river" if number < count // 2 else "forest"
            words = "water boat fish" if kind == "river" else "tree moss deer"
            made.append({"id": f"{file}-{number}", "text": f"{text_of(number)} {words}", "kind": kind})
        if shuffled:
            random.Random(3).shuffle(made)
        (folder / name / f"{file}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in made))
    (folder / f"{name}.yaml").write_text(RECIPE.format(name=name, rows=rows))
    recipe = bind(load_recipe(folder / f"{name}.yaml"))
    with open(os.devnull, "w") as silent:
        ingest(recipe, ONE, Console(file=silent))
    return recipe


def said_of(folder: Path, name: str, rows: int, web: int, *, shuffled: bool) -> list[str]:
    """What is printed about planted errors."""
    recipe, said = labelled(folder, name, rows, web, shuffled=shuffled), io.StringIO()
    score(recipe, ONE, Console(markup=False, soft_wrap=True, file=said, width=400))
    return [line for line in said.getvalue().splitlines() if "others" in line]


def test_each_measure_has_an_area_that_depends_on_neither_order_nor_shards(tmp_path: Path) -> None:
    found = said_of(tmp_path, "sorted", 64, 600, shuffled=False)
    assert found == said_of(tmp_path, "shuffled", 256, 600, shuffled=True)
    planted = re.match(r"score.labels  (\d+) samples given the label or caption of another, beside (\d+)", found[0])
    assert planted is not None
    assert (10 <= int(planted[1]) <= int(planted[2]), 20 < int(planted[2]) < 40) == (True, True)  # of a tenth
    for measure in ("mimic", "rho", "loss"):
        area = re.search(f"{measure} {NUMBER}", found[0])
        assert area is not None
        value, low, high = map(float, area.groups())
        assert low <= value <= high
        assert value > (0.9 if measure == "loss" else 0.5)
    assert re.search(
        rf"mean loss of the {planted[2]} others: [\d.]+ by the trajectory, [\d.]+ by the reference", found[1]
    )


def test_too_few_rows_are_not_judged(tmp_path: Path) -> None:
    assert said_of(tmp_path, "few", 16, 30, shuffled=False) == []
