"""A forgotten sample is nowhere on the page: in no view, no query and no file that can be downloaded."""

import json
from pathlib import Path
from urllib.parse import quote

from tests.runners.inspect.asking import Asker, opened, served
from winnow.runners.commands.main import main
from winnow.runners.inspect.view import views

SECRET = "unforgettable-words"
RECIPE = """\
version: 1
store: {path: store, shard_rows: 4}
sources:
  crawl: {root: crawl, files: ["*.jsonl"], class: web, key: id}
annotate: [text.length]
dedupe: {exact: {}}
keep: [{drop: text.length.characters < 20, reason: short, when_null: drop}]
mix: {unit: samples}
"""


def everything(page: Asker, ids: list[str]) -> str:
    """All that the page could be shown of the store."""
    said = [page.view(name) for name in views()]
    said += [
        page.view(name, filter={"text": SECRET[:8]}, find=SECRET[:8]) for name in ("samples", "domains", "clusters")
    ]
    said += [page.view("sample", id=one) for one in ids]
    said += [page.view("cluster", kind="exact", id=one) for one in ids]
    tables = page.view("words")["answer"]["tables"]
    queries = [f'SELECT * FROM "{table}"' for table in tables]
    said += [page.view("sql", query=query) for query in queries]
    files = [page.ask("GET", f"/table.csv?query={quote(query)}").body.decode() for query in queries]
    return json.dumps(said) + "".join(files)


def require_nowhere(shown: str) -> None:
    """Check that neither the words nor their bytes are shown."""
    for secret in (SECRET, SECRET.encode().hex()):
        at = shown.find(secret)
        assert at < 0, shown[max(0, at - 200) : at + 200]


def test_a_forgotten_sample_is_nowhere(tmp_path: Path) -> None:
    (tmp_path / "crawl").mkdir()
    rows = [
        {
            "id": f"k{at}",
            "text": f"A text with {SECRET if at == 3 else 'some words'}, the {at}th of ten.",
            "url": f"https://{SECRET if at == 3 else 'a'}.example/{at}",
        }
        for at in range(10)
    ]
    again = {"id": "k3", "text": f"{SECRET} once more"}  # of the same id: quarantined
    (tmp_path / "crawl" / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in [*rows, again]))
    recipe = tmp_path / "recipe.yaml"
    recipe.write_text(RECIPE)
    assert main(["run", str(recipe), "--workers", "1", "--quiet"]) == 0
    with served(opened(recipe)) as page:
        found = page.view("sql", query=f"SELECT id FROM samples WHERE contains(text, '{SECRET}')")["answer"]["rows"]
        ids = [row[0] for row in found]
        assert len(ids) == 1
        page.view("labels", set={"id": ids[0], "label": "good"})
        shown = everything(page, ids)
        assert SECRET in shown
        assert SECRET.encode().hex() in shown  # as the first bytes of the record that was quarantined
        assert main(["forget", str(recipe), "--url", f"https://{SECRET}.example/3", "--quiet"]) == 0
        require_nowhere(everything(page, ids))  # of a page that is open meanwhile
    with served(opened(recipe)) as page:
        shown = everything(page, ids)
        assert page.view("store")["answer"]["rows"] == 9
        assert page.view("labels", export="good.jsonl", **{"as": "reference"})["ok"] is False
    require_nowhere(shown)
