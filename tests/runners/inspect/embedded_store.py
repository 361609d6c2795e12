"""A store of texts on three subjects, measured, each with an address."""

import json
from pathlib import Path

from winnow.runners.commands.main import main

SUBJECTS = {
    "ships": "The harbour was full of ships and sailors, and every captain waited for the tide and the wind.",
    "bread": "Knead the dough with flour and yeast, let it rise, and bake the bread in a hot oven until brown.",
    "stars": "Through the telescope the astronomer saw distant galaxies, planets and stars in the night sky.",
}
RECIPE = """\
version: 1
store: {path: store, shard_rows: 64}
sources: {pages: {root: pages, files: ["*.jsonl"], class: web, key: id}}
annotate: [text.language, {text.embedding: {languages: [any]}}, {text.pii: {kinds: [email]}}]
edits: [text.pii]
"""


def make_embedded(folder: Path) -> None:
    """The store, of 150 rows."""
    (folder / "pages").mkdir()
    rows = [
        {"id": f"{subject}-{at}", "text": f"{text} Note {at} on {subject}. Write to someone{at}@postamt.se."}
        for at in range(50)
        for subject, text in SUBJECTS.items()
    ]
    (folder / "pages" / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "recipe.yaml").write_text(RECIPE)
    assert main(["run", str(folder / "recipe.yaml"), "--workers", "1", "--quiet"]) == 0
