"""A store whose every text comes from somebody who wants to run code in the page that shows it."""

import json
from pathlib import Path

from tests.runners.inspect.payloads import payloads
from winnow.runners.commands.main import main

RECIPE = """\
version: 1
store: {path: store, shard_rows: 64}
sources:
  crawl: {root: crawl, files: ["*.jsonl"], class: web, key: id}
  other: {root: other, files: ["*"], class: web, key: id}
annotate: [text.length]
dedupe: {exact: {}}
keep: [{drop: text.length.characters < 60, reason: short, when_null: drop}]
mix: {unit: samples}
"""

FILE = '"><img src=x onerror=pwned()>.jsonl'


def make_hostile(folder: Path) -> None:
    """The store, its recipe and what was ingested; the second half of the texts are copies of the first."""
    (folder / "crawl").mkdir()
    (folder / "other").mkdir()
    found = payloads()
    rows = [
        json.dumps({"id": payload, "text": payload, "url": payload, "caption": payload, "title": payload})
        for payload in found
    ]
    (folder / "crawl" / "rows.jsonl").write_text("\n".join(rows) + "\n<script>pwned()</script>\n")
    (folder / "other" / FILE).write_text("\n".join(rows[:20]) + '\n"<img src=x onerror=pwned()>\n')
    (folder / "recipe.yaml").write_text(RECIPE)
    assert main(["run", str(folder / "recipe.yaml"), "--workers", "1", "--quiet"]) == 0
