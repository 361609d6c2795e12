"""Stores of a few hundred texts for the inspector's views, made by a run, and what `winnow plan` decides on them."""

import json
import random
from pathlib import Path
from typing import Any

from winnow.pipelines.binding.bound_recipe import bind
from winnow.pipelines.query.generation import require_latest_for
from winnow.pipelines.query.recipe_rules import pinned_rules
from winnow.pipelines.rules.summary import RulesSummary
from winnow.runners.commands.main import main
from winnow.runners.inspect.opened import Opened
from winnow.runners.inspect.view import views
from winnow.runners.stages.opening import open_place
from winnow.runners.stages.rule_decisions import rule_decisions
from winnow.schemas.recipe import load_recipe

RECIPE = """\
# What stays of the lines and pages.
version: 1
store: {path: store, shard_rows: 50, row_group_rows: 16}
sources:
  lines: {root: lines, files: ["*.jsonl"], class: public, key: id}
  pages:
    root: pages
    files: ["*.jsonl"]
    class: web
    key: id
    columns: {fetched_at: day}
annotate:
  - text.length
  - text.gopher
  - {text.pii: {kinds: [email]}}
thresholds:
  limits: {file: limits.csv, key: samples.source.name}
eligible:
  - {drop: text.length.characters < 12, reason: short, when_null: drop}  # a word or two
DEDUPE
keep:
  # Too much of something.
  - {drop: text.length.characters > thresholds.limits.most, reason: long, when_null: keep}
  - drop: text.length.lines > 6 or text.length.bytes * 2 < text.length.characters
    reason: lines
    when_null: keep
  - {drop: "samples.domain = 'site1.example' and text.length.characters < 40", reason: site, when_null: keep}
edits:
  - {text.pii: {replace: placeholder}}
"""
DEDUPE = "dedupe: {exact: {}, representative: [source, longest]}"
WORDS = ["word", "limes", "pears", "über", "😀", "river", "ann@lists.org"]


def write_store(folder: Path, dedupe: str = DEDUPE, rows: int = 240) -> Path:
    """Run a recipe over made-up texts, many of them equal; returns the recipe's file."""
    chance = random.Random(7)
    pool = [_text(chance) for _ in range(rows // 2)]
    folder.mkdir(exist_ok=True)
    for source in ("lines", "pages"):
        (folder / source).mkdir()
        texts = chance.choices(pool, k=rows // 2)
        lines = [json.dumps(_row(source, number, text)) for number, text in enumerate(texts)]
        (folder / source / "a.jsonl").write_text("\n".join(lines) + "\n")
    (folder / "limits.csv").write_text("key,most\nlines,70\npages,85\n")
    recipe = folder / "recipe.yaml"
    recipe.write_text(RECIPE.replace("DEDUPE\n", f"{dedupe}\n" if dedupe else ""))
    assert main(["run", str(recipe), "--workers", "1"]) == 0
    return recipe


def _text(chance: random.Random) -> str:
    return "\n".join(" ".join(chance.choices(WORDS, k=chance.randint(1, 3))) for _ in range(chance.randint(1, 8)))


def _row(source: str, number: int, text: str) -> dict[str, str]:
    url = f"https://site{number % 5}.example/{source}/{number}"
    day = f"2024-0{1 + number % 3}-11T00:00:00Z" if source == "pages" else None
    return {"id": f"{source}{number}", "text": text, "url": url} | ({"day": day} if day else {})


def opened(recipe: Path) -> Opened:
    """A recipe's store as the page opens it."""
    bound, store = open_place(str(recipe))
    return Opened(store, bound)


def ask(of: Opened, view: str, **asked: Any) -> Any:  # Any: JSON
    """A view's answer, which must be JSON that pages can read."""
    answer = views()[view].answer(of, asked)
    return json.loads(json.dumps(answer, allow_nan=False))


def plan(file: Path) -> RulesSummary:
    """What `winnow plan` decides by a recipe."""
    bound, store = open_place(str(file))
    assert bound is not None
    generation = require_latest_for(bound, store)
    pinned = pinned_rules(bind(load_recipe(file)), store, generation)
    assert pinned is not None
    return rule_decisions(bound, generation, pinned).summary
