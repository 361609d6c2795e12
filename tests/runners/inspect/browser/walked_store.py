"""A store for walks through the page: three languages from three sites, of which rules drop many, and clusters."""

import json
import lzma
import random
from pathlib import Path
from typing import Any

from winnow.runners.commands.main import main

RECIPE = """\
version: 1
store: {path: store, shard_rows: 64}
sources:
  crawl: {root: crawl, files: ["*.jsonl"], class: web, key: id}
annotate: [text.language, text.length, text.fineweb, text.fineweb2]
eligible: [{drop: text.length.characters < 30, reason: short, when_null: drop}]
dedupe: {exact: {}, representative: [longest]}
keep: [{preset: multilingual}]
"""

_ROOT = Path(__file__).parents[4]
_LANGUAGES = ("eng", "kor", "arb")
_SITES = ("large.example", "large.example", "middle.example", "small.example")
_TEXTS = 40  # of each language


def make_walked(folder: Path) -> None:
    """The store. Every third text of Korean and Arabic has a number after each word, so that few words have letters."""
    declarations: dict[str, Any] = json.loads(
        lzma.decompress((_ROOT / "runners" / "demo" / "udhr.json.xz").read_bytes())
    )
    chance = random.Random(49)
    rows: list[dict[str, str]] = []
    for language in _LANGUAGES:
        parts = _parts(declarations[language])
        for number in range(_TEXTS):
            text = "\n\n".join(chance.sample(parts, 3))
            if language != "eng" and number % 3 == 0:
                text = _numbered(text, chance)
            rows.append(
                {"id": f"{language}{number}", "text": text, "url": f"http://{_SITES[number % 4]}/{language}/{number}"}
            )
    copies = [
        row | {"id": f"copy{number}", "url": f"http://copies.example/{number}"} for number, row in enumerate(rows[1:9])
    ]
    (folder / "crawl").mkdir()
    (folder / "crawl" / "some.jsonl").write_text("".join(json.dumps(row) + "\n" for row in [*rows, *copies]))
    (folder / "recipe.yaml").write_text(RECIPE)
    assert main(["run", str(folder / "recipe.yaml"), "--workers", "1", "--quiet"]) == 0


def _parts(declaration: dict[str, Any]) -> list[str]:
    """Its paragraphs that are long enough for a language to be told."""
    found = [*declaration["preamble"], *(text for _title, *texts in declaration["articles"] for text in texts)]
    return [text for text in found if len(text) > 60]


def _numbered(text: str, chance: random.Random) -> str:
    return " ".join(f"{word} {chance.randint(1, 10**6)}" for word in text.split(" "))
