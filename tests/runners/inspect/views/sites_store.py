"""A small real store with sites: three languages, with equal and similar pages within and across sites."""

import json
from pathlib import Path
from typing import Any

from tests.faults.winnow import ended, run_here
from winnow.runners.demo.texts import declarations
from winnow.runners.inspect.opened import Opened
from winnow.runners.inspect.view import views
from winnow.runners.stages.opening import open_place

RECIPE = """\
version: 1
store: {path: store, seed: 7, shard_rows: 32, row_group_rows: 20}
sources:
  books: {root: books, files: ["*.jsonl"], class: printed, licence: CC0-1.0, key: id, columns: {url: url}}
  web: {root: web, files: ["*.jsonl"], class: crawled, key: id, columns: {url: url}}
annotate: [text.language, text.length]
eligible:
  - {drop: text.length.characters < 120, reason: short, when_null: drop}
dedupe:
  exact: {}
  near: {preset: fineweb, min_similarity: 0.75}
  representative: [source, longest]
keep:
  - {drop: text.length.characters > LONG, reason: long, when_null: keep}
"""
LONG = 500


def recipe(long: int = LONG, more: str = "") -> str:
    """The recipe, with another threshold or further sections."""
    return RECIPE.replace("LONG", str(long)) + more


def write_sources(folder: Path) -> None:
    """Pages of six sites, and books without addresses."""
    pages = {code: _paragraphs(code) for code in ("deu", "swe", "rus")}
    rows: dict[str, list[dict[str, Any]]] = {"web": [], "books": []}
    for place, (code, paragraphs) in enumerate(pages.items()):
        for number in range(40):
            text = " ".join(paragraphs[(number + at * 3) % len(paragraphs)] for at in range(1 + number % 3))
            site = f"site{(number * (place + 1)) % 6}.example"
            if number % 8 == 1:  # equal on another site
                text = str(rows["web"][-1]["text"])
            elif number % 8 == 2:  # similar on the same site
                text, site = f"{rows['web'][-1]['text']} {number}", str(rows["web"][-1]["url"]).split("/")[2]
            elif number % 8 == 3:
                text = text[:60]
            rows["web"].append({"id": f"{code}-{number}", "url": f"https://{site}/{code}/{number}", "text": text})
        for number in range(6):
            text = str(rows["web"][40 * place + 5 * number]["text"])
            rows["books"].append({"id": f"{code}-{number}", "url": None, "text": text + (" x" if number % 2 else "")})
    for source, found in rows.items():
        (folder / source).mkdir(parents=True)
        (folder / source / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in found))


def _paragraphs(code: str) -> list[str]:
    return [paragraph for text in declarations()[code].pages for paragraph in text.paragraphs]


def make(folder: Path) -> None:
    """Write the sources and run the recipe."""
    write_sources(folder)
    (folder / "recipe.yaml").write_text(recipe())
    ended(run_here(folder, "run", "recipe.yaml", "--workers", "1"))


def opened(place: Path) -> Opened:
    """A recipe with its store, or a store, as a page shows it."""
    found, store = open_place(str(place))
    return Opened(store, found)


def ask(shown: Opened, view: str, **asked: Any) -> dict[str, Any]:
    """What a view answers, as a page reads it."""
    answer: dict[str, Any] = json.loads(json.dumps(views()[view].answer(shown, asked), allow_nan=False))
    return answer


def rows_of(shown: Opened) -> list[dict[str, Any]]:
    """Every row that is not forgotten, with what is decided of it, as plain Python."""
    names = ["id", "source.name", "domain", "url", "text", "text.language.code", "text.length.bytes"]
    wanted = [*names, *(f"dedupe.{kind}.{leaf}" for kind in ("exact", "near") for leaf in ("cluster", "size"))]
    rows = [row for batch in shown.tables.read_columns(wanted) for row in batch.to_pylist()]
    if shown.recipe is None:
        return rows
    decided = [row for batch in shown.tables.read("decisions", ["id", "kept", "reason"]) for row in batch.to_pylist()]
    for row, of in zip(rows, decided, strict=True):
        assert row["id"] == of["id"]
        row |= of
    return rows
